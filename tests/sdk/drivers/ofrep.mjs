// Drive the OpenFeature SDK for Node.js with its OFREP provider (tests/support/sdk.py).
import { OFREPProvider } from '@openfeature/ofrep-provider';
import { OpenFeature } from '@openfeature/server-sdk';
import { run } from './commands.mjs';

const given = JSON.parse(process.argv[2]);
const provider = new OFREPProvider({ baseUrl: given.url, headers: [['Authorization', `Bearer ${given.token}`]] });
await OpenFeature.setProviderAndWait(provider);
const client = OpenFeature.getClient();
const methods = {
  boolean: 'getBooleanDetails',
  string: 'getStringDetails',
  number: 'getNumberDetails',
  object: 'getObjectDetails',
};

await run({
  evaluate: async (flag, fallback, context) => {
    const found = await client[methods[typeof fallback]](flag, fallback, context);
    return { value: found.value, variant: found.variant, reason: found.reason, error: found.errorCode ?? null };
  },
});
