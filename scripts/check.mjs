// `npm run check`: all checks of the code that need no engine, in one command.
//   npm run check -- --without-tests     for a caller that runs the unit tests itself
// Two steps run at a time. A passed step prints one line, a failed step its whole output.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Longest first, so that a short one ends last. */
const steps = [
  { name: 'unit tests', command: ['vitest', 'run', '--project', 'unit', '--reporter', 'dot'] },
  { name: 'unused code', command: ['knip', '--no-progress'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'page types', command: ['tsc', '-p', 'src/interfaces/dashboard/tsconfig.json'] },
  { name: 'lint', command: ['oxlint', '--type-aware', '--deny-warnings', '.'] },
  { name: 'format', command: ['oxfmt', '--check', '.'] },
];

/**
 * MiB. Property tests create many short-lived objects; with the default of 16 a fifth of their time is garbage
 * collection.
 */
const youngMiB = 32;
const nodeOptions = [process.env.NODE_OPTIONS, `--max-semi-space-size=${youngMiB}`].filter(Boolean).join(' ');

const startedAt = performance.now();
const queue = process.argv.includes('--without-tests') ? steps.filter(({ name }) => name !== 'unit tests') : [...steps];
const failed = [];
await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
console.log(
  failed.length === 0 ? `check: all passed in ${seconds(startedAt)} s` : `check: failed: ${failed.join(', ')}`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

async function work() {
  for (let step = queue.shift(); step; step = queue.shift()) {
    const stepStartedAt = performance.now();
    const { code, output } = await run(step.command);
    console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${step.name.padEnd(12)} ${seconds(stepStartedAt).padStart(5)} s`);
    if (code === 0) continue;
    failed.push(step.name);
    console.log(output.trimEnd());
  }
}

function run([tool, ...args]) {
  return new Promise((resolve) => {
    const child = spawn(`${root}node_modules/.bin/${tool}`, args, {
      cwd: root,
      env: { ...process.env, NO_COLOR: '1', NODE_OPTIONS: nodeOptions },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    child.on('error', (error) => resolve({ code: 1, output: `cannot run ${tool}: ${error.message}` }));
    child.on('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString() }));
  });
}

function seconds(sinceMs) {
  return ((performance.now() - sinceMs) / 1000).toFixed(1);
}
