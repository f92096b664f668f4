import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const builder = fileURLToPath(new URL('../../../scripts/page.mjs', import.meta.url));

/** The dashboard's files, built from the current sources, with a function that removes them. */
export function buildPage(): { readonly folder: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-page-'));
  execFileSync(process.execPath, [builder, folder]);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
