// `npm run docs`: writes the generated pages. A unit test fails if they are out of date.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeBenchmarksPage } from './benchmarks.mjs';
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
writeBenchmarksPage();

async function load(source, name) {
  const file = join(folder, name);
  await bundleScript(source, file);
  return import(pathToFileURL(file).href);
}
