// Evaluate the flags of a document with unleash-client, the Unleash SDK for Node.js, without a service.
// The folder has given.json: {document, contexts}. found.json gets the variants of the flags that are on, by context.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { once } from 'node:events';

const { Unleash } = createRequire(`${process.env.NODE_MODULES}/`)('unleash-client');
const folder = process.argv[2];
const { document, contexts } = JSON.parse(readFileSync(`${folder}/given.json`, 'utf8'));
const client = new Unleash({
  url: 'http://127.0.0.1:9/api/',
  appName: 'none',
  refreshInterval: 0,
  disableMetrics: true,
  backupPath: folder,
  bootstrap: { data: document.features, segments: document.segments },
});
client.on('error', () => {});
client.on('warn', () => {});
await once(client, 'ready');
// Otherwise, a context without appName has the one above.
client.staticContext = {};
const found = contexts.map((context) =>
  Object.fromEntries(
    document.features
      .map(({ name }) => [name, client.getVariant(name, context)])
      .filter(([, variant]) => variant.feature_enabled)
      .map(([name, variant]) => [name, variant.name]),
  ),
);
writeFileSync(`${folder}/found.json`, JSON.stringify(found));
process.exit(0);
