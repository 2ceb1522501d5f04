// Drive unleash-client, the Unleash SDK for Node.js (tests/support/sdk.py). package: another version of it.
import { run } from './commands.mjs';

const given = JSON.parse(process.argv[2]);
const { Unleash } = await import(given.package ?? 'unleash-client');
const client = new Unleash({
  url: `${given.url}/api/`,
  appName: given.appName,
  customHeaders: { Authorization: given.token },
  refreshInterval: 1000,
  metricsInterval: 3600000,
  backupPath: process.cwd(),
  ...given.options,
});
for (const name of ['error', 'warn']) client.on(name, (problem) => console.error(name, problem));

await run({
  isReady: () => client.isSynchronized(),
  isEnabled: (flag, context) => client.isEnabled(flag, context),
  getVariant: (flag, context) => {
    const variant = client.getVariant(flag, context);
    return [variant.name, variant.payload?.value ?? null];
  },
  sendReport: () => client.flushMetrics(),
});
