import { closeSync, openSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockFolder } from '../../../src/adapters/files/folder-lock.ts';

/**
 * Takes the lock of a folder again and again until its standard input ends. Prints how often it held the lock, how
 * often another process held it at the same time, and how often the owner could not be found out.
 */
const [, , folder = ''] = process.argv;
const input = process.stdin.resume();
const counts = { held: 0, together: 0, impossible: 0 };
while (!input.readableEnded) {
  const lock = await lockFolder(folder, 1);
  if (lock.kind === 'impossible') counts.impossible += 1;
  if (lock.kind !== 'held') continue;
  counts.held += 1;
  try {
    closeSync(openSync(`${folder}.held`, 'wx'));
    await sleep(Math.random() * 2);
    rmSync(`${folder}.held`);
  } catch {
    counts.together += 1;
  }
  await lock.release();
}
process.stdout.write(JSON.stringify(counts));
