import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Fills the disk of a folder, even while others write to it. Returns the file to remove. */
export function fillDisk(folder: string): string {
  const filler = join(folder, 'filler');
  const file = openSync(filler, 'w');
  const block = Buffer.alloc(64 * 1024);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
  return filler;
}
