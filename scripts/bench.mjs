// `npm run bench [-- FILTER]`: the benchmarks of test/bench, in the lab. They print ratios to a floor
// measured in the same run, and fail only when they cannot measure.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installBench } from '../test/lab/install.mjs';

const lack = installBench({ log: console.log });
if (lack) {
  console.error(`Cannot measure: ${lack}`);
  process.exit(1);
}
const enter = fileURLToPath(new URL('../test/lab/enter.mjs', import.meta.url));
const vitest = [
  'npx',
  'vitest',
  'run',
  '--project',
  'bench',
  '--reporter',
  'dot',
  '--silent=false',
  ...process.argv.slice(2),
];
const { status } = spawnSync(process.execPath, [enter, ...vitest], { stdio: 'inherit' });
process.exitCode = status ?? 1;
