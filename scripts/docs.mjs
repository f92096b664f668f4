// `npm run docs`: writes the pages that are made from the code. A unit test notices when they are out of date.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleScript } from './bundle.mjs';
import { writeReliabilityPage } from './reliability.mjs';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-docs-'));
try {
  const file = join(folder, 'reference.mjs');
  await bundleScript('src/config/show/reference.ts', file);
  const { configurationPage } = await import(pathToFileURL(file).href);
  writeFileSync(new URL('../docs/configuration.md', import.meta.url), configurationPage());
} finally {
  rmSync(folder, { recursive: true });
}
writeReliabilityPage();
