// `npm test`: every suite, each in what it needs, and one closing line over all of them.
//   npm test -- unit contract     only these
// With CI=true also the static checks and the unit tests on newer Nodes, and nothing may be skipped for want of a lab.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { enterLab } from '../test/lab/enter.mjs';
import { installBrowser, installLab, installReceivers } from '../test/lab/install.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const reports = join(root, 'test-results');
const isCi = process.env.CI === 'true';
process.env.NO_COLOR = '1';
/** Far beyond what any suite takes: a suite that hangs must not take the others' results with it. */
const deadlineMs = 45 * 60_000;

/** Longest first, so that the last one to end is a short one. */
const suites = [
  { name: 'faults', folder: 'test/faults', lab: true, shards: 3 },
  { name: 'integration', folder: 'test/integration', lab: true, shards: 2 },
  { name: 'failures', folder: 'test/failures', lab: true },
  { name: 'contract', folder: 'test/contract', lab: true },
  { name: 'browser', folder: 'test/browser', browser: true },
  { name: 'notify', folder: 'test/notify', receivers: true },
  { name: 'conformance', folder: 'test/conformance', lab: true },
  { name: 'unit', folder: 'src' },
  { name: 'check', ciOnly: true, command: ['node', 'scripts/check.mjs', '--without-tests'] },
  { name: 'unit on Node 22', ciOnly: true, project: 'unit', node: 'node-22' },
  { name: 'unit on Node 24', ciOnly: true, project: 'unit', node: 'node-24' },
];

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !suites.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(`Cannot run "${unknown.join('", "')}": the suites are ${suites.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}

rmSync(reports, { recursive: true, force: true });
mkdirSync(reports, { recursive: true });
const total = { passed: 0, failed: 0, skipped: 0 };
const chosen = suites.filter((suite) => (wanted.length > 0 ? wanted.includes(suite.name) : isCi || !suite.ciOnly));
const log = (message) => console.log(`     ${message}`);
const noLab = chosen.some(({ lab }) => lab) ? installLab({ log }) : undefined;
if (noLab) console.log(`NOTICE: no lab, tests that need an engine ${isCi ? 'fail' : 'are skipped'}: ${noLab}`);
const noBrowser = chosen.some(({ browser }) => browser) ? installBrowser({ log }) : undefined;
if (noBrowser) console.log(`NOTICE: tests in a browser ${isCi ? 'fail' : 'are skipped'}: ${noBrowser}`);
const noReceivers = chosen.some(({ receivers }) => receivers) ? installReceivers({ log }) : undefined;
if (noReceivers)
  console.log(`NOTICE: tests with a mail server and a broker ${isCi ? 'fail' : 'are skipped'}: ${noReceivers}`);

const build = await run(['npm', 'run', '--silent', 'build']);
if (build.code !== 0) {
  console.log(`FAIL build\n${build.output.trimEnd()}`);
  total.failed += 1;
}

let otherNodes;
let interrupted = false;
const queue = chosen.flatMap(inShards);
process.on('SIGINT', () => {
  interrupted = true;
  queue.length = 0;
});
// One more than there are cores, because much of what the longest do is waiting.
await Promise.all(Array.from({ length: availableParallelism() + 1 }, work));
if (interrupted) process.exit(130);
if (total.passed + total.failed === 0) {
  console.log('FAIL no test was run');
  total.failed = 1;
}
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

/** The files of a suite, parted so that they need not wait for each other. */
function inShards(suite) {
  const { name, project = name, shards = 1 } = suite;
  if (shards === 1) return [suite];
  return Array.from({ length: shards }, (_, index) => {
    const shard = `${index + 1}/${shards}`;
    return { ...suite, project, shard, name: `${name} ${shard}` };
  });
}

async function work() {
  for (let suite = queue.shift(); suite; suite = queue.shift()) await runSuite(suite);
}

async function runSuite(suite) {
  const startedAt = performance.now();
  if (suite.folder && !existsSync(join(root, suite.folder))) return;
  const result = suite.command ? await runCommand(suite.command) : await runVitest(suite);
  total.passed += result.passed;
  total.failed += result.failed;
  total.skipped += result.skipped;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const mark = result.failed > 0 ? 'FAIL' : 'ok  ';
  const skipped = result.skipped > 0 ? `, ${result.skipped} skipped` : '';
  console.log(
    `${mark} ${suite.name.padEnd(16)} ${seconds.padStart(6)} s  ${result.passed} of ${result.passed + result.failed}${skipped}`,
  );
  if (result.failed > 0) console.log(result.output.trimEnd());
  else for (const line of new Set(result.output.match(/^(?:NOTICE|RESULT).*$/gm))) console.log(`     ${line}`);
}

/** A check is one test that passes or fails. */
async function runCommand(command) {
  const { code, output } = await run(command);
  return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, output };
}

async function runVitest({ name, project = name, lab, node, shard }) {
  const report = join(reports, `${name.replaceAll(/[ /]/g, '-')}.json`);
  const binary = node ? await otherNode(node) : process.execPath;
  const command = [
    binary,
    join(root, 'node_modules/vitest/vitest.mjs'),
    ...['run', '--project', project, '--reporter', 'dot', '--reporter', 'json', '--outputFile.json', report],
    ...(shard === undefined ? [] : ['--shard', shard]),
  ];
  const { code, output } = await run(command, lab && !noLab);
  const counts = readReport(report);
  // A suite that ends badly without a failed test has failed all the same, and so has one that ran nothing.
  const broken = code !== 0 || counts.passed + counts.skipped === 0;
  return { ...counts, failed: Math.max(counts.failed, broken ? 1 : 0), output };
}

/** Resolves to the path of the binary, which a package carries. */
async function otherNode(name) {
  otherNodes ??= run(['npm', 'ci', '--prefix', join(root, 'test/nodes'), '--no-audit', '--no-fund']);
  const { code, output } = await otherNodes;
  if (code !== 0) console.log(output.trimEnd());
  return join(root, 'test/nodes/node_modules', name, 'bin/node');
}

function readReport(file) {
  if (!existsSync(file)) return { passed: 0, failed: 0, skipped: 0 };
  const report = JSON.parse(readFileSync(file, 'utf8'));
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** Resolves to the exit code and all that was printed. */
async function run(command, inLab = false) {
  const chunks = [];
  const onChild = (child) => {
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.stderr.on('data', (chunk) => chunks.push(chunk));
    const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
    child.on('close', () => clearTimeout(timer));
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
