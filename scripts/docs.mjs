// `npm run docs`: writes the pages that are made from the code. A unit test notices when they are out of date.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleScript } from './bundle.mjs';
import { writeReliabilityPage } from './reliability.mjs';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-docs-'));
try {
  const { configurationPage } = await load('src/config/show/reference.ts', 'configuration.mjs');
  writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationPage());
  const { notificationsPage } = await load('src/adapters/notify/reference.ts', 'notifications.mjs');
  writeFileSync(new URL('../docs/notifications.md', import.meta.url), notificationsPage());
} finally {
  rmSync(folder, { recursive: true });
}
writeReliabilityPage();

async function load(source, name) {
  const file = join(folder, name);
  await bundleScript(source, file);
  return import(pathToFileURL(file).href);
}
