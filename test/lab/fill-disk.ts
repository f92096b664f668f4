import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Takes all free space of the disk under a folder, however much others write meanwhile; returns the file to remove. */
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
