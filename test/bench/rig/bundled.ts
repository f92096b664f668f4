import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

/**
 * Bundles a script that imports from src/ into one file for Node; returns its path. The file is removed after the
 * tests.
 */
export function bundled(script: URL): string {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-bench-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'script.mjs');
  const bundler = fileURLToPath(new URL('../../../scripts/bundle.mjs', import.meta.url));
  execFileSync(process.execPath, [bundler, fileURLToPath(script), file]);
  return file;
}
