// Drive the OpenFeature SDK for browsers with its OFREP provider, in Node.js (tests/support/sdk.py).
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
import { OpenFeature } from '@openfeature/web-sdk';
import { run } from './commands.mjs';
import { details } from './openfeature.mjs';

const given = JSON.parse(process.argv[2]);
const provider = new OFREPWebProvider({
  baseUrl: given.url,
  headers: [['Authorization', `Bearer ${given.token}`]],
  pollInterval: 1000,
  cacheMode: 'disabled',
});
let current = '{}';
await OpenFeature.setProviderAndWait(provider).catch((problem) => console.error(problem));
const client = OpenFeature.getClient();

await run({
  evaluate: async (flag, fallback, context) => {
    // A browser has one context at a time.
    if (JSON.stringify(context) !== current) await OpenFeature.setContext(context);
    current = JSON.stringify(context);
    return details(client, flag, fallback);
  },
});
