// `npm run bench [-- FILTER]`: the benchmarks of test/bench, in the lab. They print ratios to a floor
// measured in the same run, and fail only when they cannot measure. Without a filter, the results are
// written to docs/benchmarks.md.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { installBench } from '../test/lab/install.mjs';
import { benchmarksPage } from './benchmarks.mjs';

const lack = installBench({ log: console.log });
if (lack) {
  console.error(`Cannot measure: ${lack}`);
  process.exit(1);
}
const filters = process.argv.slice(2);
const load = loadavg()[0];
const enter = fileURLToPath(new URL('../test/lab/enter.mjs', import.meta.url));
const vitest = ['npx', 'vitest', 'run', '--project', 'bench', '--reporter', 'dot', '--silent=false', ...filters];
const child = spawn(process.execPath, [enter, ...vitest], { stdio: ['inherit', 'pipe', 'inherit'] });
const lines = [];
createInterface({ input: child.stdout }).on('line', (line) => {
  console.log(line);
  lines.push(line);
});
const status = await new Promise((resolve) => child.on('close', resolve));
process.exitCode = status ?? 1;
if (status === 0 && filters.length === 0) {
  writeFileSync(new URL('../docs/benchmarks.md', import.meta.url), benchmarksPage(lines, { load, at: new Date() }));
  console.log('docs/benchmarks.md is written');
}
