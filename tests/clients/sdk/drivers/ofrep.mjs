// Drive the OpenFeature SDK for Node.js with its OFREP provider (tests/support/sdk.py).
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { OpenFeature } from '@openfeature/server-sdk';
import { run } from './commands.mjs';
import { details } from './openfeature.mjs';

const given = JSON.parse(process.argv[2]);
const provider = new OFREPProvider({ baseUrl: given.url, headers: [['Authorization', `Bearer ${given.token}`]] });
await OpenFeature.setProviderAndWait(provider);
const client = OpenFeature.getClient();

await run({
  evaluate: (flag, fallback, context) => details(client, flag, fallback, context),
});
