// Loaded into a process by NODE_OPTIONS=--import. After a SIGUSR2 it collects its garbage and writes the MiB that
// are still in use, heap and buffers, to the file that UPKEEP_MEMORY_FILE names.
import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

process.on('SIGUSR2', async () => {
  // Handles of closed connections go with the second collection.
  collect();
  await new Promise((resolve) => setTimeout(resolve, 500));
  collect();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(process.env.UPKEEP_MEMORY_FILE ?? '', String((heapUsed + external) / 2 ** 20));
});
