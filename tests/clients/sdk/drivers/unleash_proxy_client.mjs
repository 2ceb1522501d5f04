// Drive unleash-proxy-client, the Unleash SDK for browsers, in Node.js (tests/support/sdk.py).
import { InMemoryStorageProvider, UnleashClient } from 'unleash-proxy-client';
import { run } from './commands.mjs';

const given = JSON.parse(process.argv[2]);
const client = new UnleashClient({
  url: `${given.url}/api/frontend`,
  clientKey: given.token,
  appName: given.appName,
  refreshInterval: 1,
  metricsInterval: 3600,
  metricsIntervalInitial: 3600,
  usePOSTrequests: given.usePOSTrequests,
  storageProvider: new InMemoryStorageProvider(),
});
client.on('error', (problem) => console.error(problem));
client.start();

// A browser has one context at a time.
let current = '{}';
const become = async (context) => {
  if (JSON.stringify(context) !== current) await client.updateContext(context);
  current = JSON.stringify(context);
};
await run({
  isReady: () => client.isReady(),
  isEnabled: async (flag, context) => {
    await become(context);
    return client.isEnabled(flag);
  },
  getVariant: async (flag, context) => {
    await become(context);
    const variant = client.getVariant(flag);
    return [variant.name, variant.payload?.value ?? null];
  },
  sendReport: () => client.sendMetrics(),
});
