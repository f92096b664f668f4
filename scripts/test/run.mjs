// `npm test`: installs the needs of the suites, runs every suite, and prints a total.
//   npm test -- unit contract     only these
//   npm test -- --all             all of each suite; otherwise a push runs a part of the longest, drawn by its commit
// CI=true adds the static checks and the built files on newer Nodes, and a missing lab is a failure.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { enterLab } from '../../test/lab/enter.mjs';
import { prepare } from './prepare.mjs';
import { createProgress, readTimes, writeTimes } from './progress.mjs';
import { chooseSuites, seedOfThisPush, suites } from './suites.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const reports = join(root, 'test-results');
const timesFile = join(root, 'node_modules/.cache/upkeep/suite-times.json');
const isCi = process.env.CI === 'true';
process.env.NO_COLOR = '1';
/** Far longer than any suite takes. Keeps a hanging suite from blocking the results of the others. */
const deadlineMs = 45 * 60_000;

const words = process.argv.slice(2);
const all = words.includes('--all');
const names = words.filter((word) => word !== '--all');
const unknown = names.filter((name) => !suites.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(`Cannot run "${unknown.join('", "')}": the suites are ${suites.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const seed = seedOfThisPush(root);
process.env.TEST_DRAW = all ? 'all' : seed;
const total = { passed: 0, failed: 0, skipped: 0 };
/** A line for each failed test or file. They are told once more at the end, because a log may be cut in its middle. */
const failures = [];
const queue = chooseSuites({ names, isCi, all, seed });
const times = readTimes(timesFile);
announce();

/** The tests that an unmet need affects. */
const withoutNeed = {
  lab: 'no lab, tests that need an engine',
  podman: 'tests with Podman beside Docker',
  browser: 'tests in a browser',
  receivers: 'tests with a mail server and a broker',
  clients: 'tests of generated API clients',
  proxies: 'tests behind reverse proxies',
  image: 'tests of the image',
};

let otherNodes;
let interrupted = false;
const children = new Map();
const progress = createProgress();
const log = (message) => progress.print(`     ${message}`);
const needs = Object.keys(withoutNeed).filter((need) => queue.some((suite) => suite[need]));
// The longest suites spend most of their time waiting. More of them at a time make single tests run into their limits,
// on a slow machine sooner. It is measured before the needs are installed, which takes the processor.
const atOnce = availableParallelism() + (isSlowMachine() ? 0 : 2);
let noLab;
let isPrepared = needs.length === 0;
const prepared = prepareNeeds();

const build = await run(['npm', 'run', '--silent', 'build']);
if (build.code !== 0) {
  progress.print(`FAIL build\n${build.output.trimEnd()}`);
  total.failed += 1;
}

process.on('SIGINT', () => {
  interrupted = true;
  queue.length = 0;
  for (const [child, signal] of children) child.kill(signal);
});
await Promise.all(Array.from({ length: atOnce }, work));
progress.stop();
writeTimes(timesFile, times);
if (interrupted) {
  console.log('interrupted');
  process.exit(130);
}
if (total.passed + total.failed === 0) {
  console.log('FAIL no test was run');
  total.failed = 1;
}
for (const failure of failures) console.log(`FAIL ${failure}`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

/** An empty Node takes 20 to 40 ms on a usual machine. */
function isSlowMachine() {
  const startMs = () => {
    const begunMs = performance.now();
    spawnSync(process.execPath, ['-e', '']);
    return performance.now() - begunMs;
  };
  return Math.min(startMs(), startMs(), startMs()) > 50;
}

function announce() {
  for (const { name, files, leftOut = 0 } of queue) {
    const last = times[name] === undefined ? '' : `, ${times[name]} s the last time`;
    const part = files === undefined ? '' : ` ${files.length} of ${files.length + leftOut} files`;
    console.log(`     ${name}${part}${last}`);
  }
  if (queue.some(({ leftOut = 0 }) => leftOut > 0))
    console.log(`     drawn by ${seed}: TEST_DRAW=${seed} repeats it, "npm test -- --all" runs all`);
}

async function prepareNeeds() {
  const reasons = await prepare(needs, log);
  for (const [need, reason] of Object.entries(reasons))
    if (reason) log(`NOTICE: ${withoutNeed[need]} ${isCi ? 'fail' : 'are skipped'}: ${reason}`);
  noLab = reasons.lab;
  isPrepared = true;
}

async function work() {
  for (let suite = await nextSuite(); suite; suite = await nextSuite()) await runSuite(suite);
}

/** Suites without needs run while the needs of the others are installed. */
async function nextSuite() {
  const index = isPrepared ? 0 : queue.findIndex((suite) => !needs.some((need) => suite[need]));
  if (index !== -1) return queue.splice(index, 1)[0];
  await prepared;
  return queue.shift();
}

async function runSuite(suite) {
  const { name } = suite;
  const startedAt = performance.now();
  if (suite.folder && !existsSync(join(root, suite.folder))) return;
  progress.start(name);
  const result = suite.command ? await runCommand(suite) : await runVitest(suite);
  progress.end(name);
  if (interrupted) return;
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  times[name] = Math.round(Number(seconds));
  const mark = result.failed > 0 ? 'FAIL' : 'ok  ';
  const skipped = result.skipped > 0 ? `, ${result.skipped} skipped` : '';
  const count = `${result.passed} of ${result.passed + result.failed}${skipped}`;
  progress.print(`${mark} ${name.padEnd(22)} ${seconds.padStart(6)} s  ${count}`);
  if (result.failed > 0) progress.print(result.output.trimEnd());
  else for (const line of new Set(result.output.match(/^(?:NOTICE|RESULT).*$/gm))) log(line);
}

/** A check is one test that passes or fails. */
async function runCommand({ name, command, node }) {
  const { code, output } = await run(node ? [await otherNode(node), ...command] : command, { name });
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, output };
}

async function runVitest({ name, project = name, lab, files = [], shard }) {
  const report = join(reports, `${name.replaceAll(/[ /]/g, '-')}.json`);
  const command = [
    process.execPath,
    join(root, 'node_modules/vitest/vitest.mjs'),
    ...['run', '--project', project, '--reporter', 'dot', '--reporter', 'json', '--outputFile.json', report],
    ...(shard === undefined ? [] : ['--shard', shard]),
    ...files,
  ];
  const { code, output } = await run(command, { name, inLab: lab && !noLab });
  const { failures: ofSuite, ...counts } = readReport(report);
  failures.push(...ofSuite.map((failure) => `${name}: ${failure}`));
  // A suite with a failed exit code counts as failed even without a failed test, and so does one without tests.
  const broken = code !== 0 || counts.passed + counts.skipped === 0;
  return { ...counts, failed: Math.max(counts.failed, broken ? 1 : 0), output };
}

/**
 * Resolves to the path of the binary in a package. The needs of the image fetch it too: two npm remove each other's
 * files.
 */
async function otherNode(name) {
  const file = join(root, 'test/nodes/node_modules', name, 'bin/node');
  await prepared;
  if (existsSync(file)) return file;
  otherNodes ??= run(['npm', 'ci', '--prefix', join(root, 'test/nodes'), '--no-audit', '--no-fund']);
  const { code, output } = await otherNodes;
  if (code !== 0) progress.print(output.trimEnd());
  return file;
}

function readReport(file) {
  if (!existsSync(file)) return { passed: 0, failed: 0, skipped: 0, failures: [] };
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const failures = [];
  for (const { name, status, message, assertionResults } of report.testResults) {
    const failed = assertionResults.filter((test) => test.status === 'failed');
    for (const { fullName, failureMessages } of failed) failures.push(`${fullName}: ${beginOf(failureMessages[0])}`);
    if (status === 'failed' && failed.length === 0) failures.push(`${relative(root, name)}: ${beginOf(message)}`);
  }
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures,
  };
}

/** Three lines: fast-check names the failed case, and the seed that repeats it, in the second and third. */
function beginOf(text = '') {
  return text.split('\n', 3).join(' ').slice(0, 1000);
}

/** Resolves to the exit code and the whole output. */
async function run(command, { name = '', inLab = false } = {}) {
  const chunks = [];
  const onChild = (child) => {
    // `unshare` ignores SIGTERM, and takes the lab along when it is killed.
    children.set(child, inLab ? 'SIGKILL' : 'SIGTERM');
    const onEvent = (chunk) => {
      chunks.push(chunk);
      progress.onEvent(name, chunk);
    };
    child.stdout.on('data', onEvent);
    child.stderr.on('data', onEvent);
    const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
    child.on('close', () => {
      clearTimeout(timer);
      children.delete(child);
    });
  };
  const stdio = ['ignore', 'pipe', 'pipe'];
  const code = inLab
    ? await enterLab(command, { stdio, onChild })
    : await new Promise((resolve) => {
        const child = spawn(command[0], command.slice(1), { cwd: root, stdio });
        child.on('error', (error) => chunks.push(Buffer.from(error.message)));
        child.on('close', (status) => resolve(status ?? 1));
        onChild(child);
      });
  return { code, output: Buffer.concat(chunks).toString() };
}
