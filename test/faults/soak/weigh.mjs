// Preloaded into a service whose memory is measured: after SIGUSR2 it collects garbage, and writes the remaining size
// to the file that WEIGHT_FILE names.
import { renameSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const file = process.env['WEIGHT_FILE'] ?? '';
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', () => void weigh());

async function weigh() {
  // An object with a finalizer is freed by the next collection only.
  for (let round = 0; round < 4; round += 1) {
    collect();
    await sleep(50);
  }
  const { heapUsed, rss } = process.memoryUsage();
  writeFileSync(`${file}.new`, JSON.stringify({ heapBytes: heapUsed, residentBytes: rss }));
  renameSync(`${file}.new`, file);
}
