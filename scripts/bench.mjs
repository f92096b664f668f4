// `npm run bench`: the benchmarks of test/bench, in the lab, one after the other. They print ratios to a floor measured
// in the same run, and fail only when they cannot measure.
//   npm run bench -- idle fleet     only files with these words in their path
//   npm run bench -- --record       keeps the results for docs/benchmarks.md, together with the results of other files
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { installBench } from '../test/lab/install.mjs';
import { figuresIn, machineOf, results, writeBenchmarksPage } from './benchmarks.mjs';
import { filesOf } from './test/files.mjs';

const { values, positionals } = parseArgs({ options: { record: { type: 'boolean' } }, allowPositionals: true });
const files = filesOf('test/bench', '.bench.ts').filter(
  (file) => positionals.length === 0 || positionals.some((word) => file.includes(word)),
);
if (files.length === 0) {
  console.error(`Cannot measure: no file of test/bench has ${positionals.join(' or ')} in its path`);
  process.exit(1);
}
const lack = installBench({ log: console.log });
if (lack) {
  console.error(`Cannot measure: ${lack}`);
  process.exit(1);
}
const nodes = fileURLToPath(new URL('../test/nodes', import.meta.url));
// The lab has no network, so Node of the image is installed before.
if (!existsSync(`${nodes}/node_modules`)) execFileSync('npm', ['ci', '--prefix', nodes, '--no-audit', '--no-fund']);
for (const file of files) {
  const load = loadavg()[0];
  const { status, lines } = await measure(file);
  if (status !== 0) process.exitCode = 1;
  else if (values.record) keep(file, { ...machineOf(), load, figures: figuresIn(lines) });
}

async function measure(file) {
  const enter = fileURLToPath(new URL('../test/lab/enter.mjs', import.meta.url));
  const vitest = ['npx', 'vitest', 'run', '--project', 'bench', '--reporter', 'dot', '--silent=false', file];
  const child = spawn(process.execPath, [enter, ...vitest], { stdio: ['inherit', 'pipe', 'inherit'] });
  const lines = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    console.log(line);
    lines.push(stripVTControlCharacters(line));
  });
  const status = await new Promise((resolve) => child.on('close', resolve));
  return { status: status ?? 1, lines };
}

/** Skips a file without figures for the page. */
function keep(file, result) {
  if (result.figures.length === 0) return;
  mkdirSync(results, { recursive: true });
  const name = `${basename(file, '.bench.ts')}.json`;
  writeFileSync(new URL(name, results), `${JSON.stringify(result, undefined, 2)}\n`);
  writeBenchmarksPage();
}
