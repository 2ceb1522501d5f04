// Drive the OpenFeature SDK for browsers with its OFREP provider, in Node.js (tests/support/sdk.py). streams: give it
// the EventSource of browsers, which Node.js does not have.
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
import { OpenFeature } from '@openfeature/web-sdk';
import { EventSource } from 'eventsource';
import { run } from './commands.mjs';
import { details } from './openfeature.mjs';

const given = JSON.parse(process.argv[2]);
if (given.streams) globalThis.EventSource = EventSource;
const provider = new OFREPWebProvider({
  baseUrl: given.url,
  headers: [['Authorization', `Bearer ${given.token}`]],
  pollInterval: 1000,
  cacheMode: 'disabled',
  ...given.options,
});
let isReady = true;
let current = '{}';
await OpenFeature.setProviderAndWait(provider).catch((problem) => {
  isReady = false;
  console.error(problem);
});
const client = OpenFeature.getClient();

async function evaluate(flag, fallback, context) {
  // A browser has one context at a time.
  if (JSON.stringify(context) !== current) await OpenFeature.setContext(context);
  current = JSON.stringify(context);
  return details(client, flag, fallback);
}

await run({
  evaluate,
  isReady: () => isReady,
  isEnabled: async (flag, context) => (await evaluate(flag, false, context)).value,
  getVariant: async (flag, context) => {
    const found = await evaluate(flag, '', context);
    return [found.variant ?? null, found.value];
  },
});
