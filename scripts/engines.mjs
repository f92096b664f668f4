// `npm run test:engines`: the suites with a real engine, on every supported engine, one after another.
//   npm run test:engines -- docker-28 podman-4.3     only these
// Prints one line for each engine. An engine that is not available here is a failure. The progress of a run is in
// test-results/engine-NAME.log.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { enterLab } from '../test/lab/enter.mjs';
import { engines, obtainEngine } from '../test/lab/engine/engines.mjs';
import { installLab } from '../test/lab/install.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const reports = join(root, 'test-results');
const files = [
  'test/contract/engine.docker.test.ts',
  'test/integration/update.test.ts',
  'test/integration/fidelity/fidelity.test.ts',
  'test/integration/data.test.ts',
  'test/integration/engine/docker-engine.test.ts',
  'test/integration/engine/remote.test.ts',
  'test/integration/registries/hostile-indexes.test.ts',
  'test/faults/kill.test.ts',
  'test/faults/kill-with-data.test.ts',
];
/** Longer than the slowest engine needs on a loaded machine. */
const deadlineMs = 60 * 60_000;

const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(engines, name));
if (unknown.length > 0) {
  console.error(`Cannot test on "${unknown.join('", "')}": the engines are ${Object.keys(engines).join(', ')}`);
  process.exit(2);
}
const log = (message) => console.log(`     ${message}`);
const noLab = installLab({ log });
if (noLab) {
  console.error(`FAIL no lab: ${noLab}`);
  process.exit(1);
}
const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
if (build.status !== 0) process.exit(1);

mkdirSync(reports, { recursive: true });
for (const name of names.length > 0 ? names : Object.keys(engines).filter((name) => !engines[name].isApart))
  await testOn(name);

async function testOn(name) {
  const engine = obtainEngine(name, { log });
  if (engine.failure) {
    console.log(`FAIL engine ${name}: NOT TESTED, not available here: ${engine.failure}`);
    process.exitCode = 1;
    return;
  }
  const report = join(reports, `engine-${name}.json`);
  rmSync(report, { force: true });
  const startedAt = performance.now();
  const logFile = join(reports, `engine-${name}.log`);
  const code = await runTests(engine.environment, { report, logFile });
  const output = readFileSync(logFile, 'utf8');
  const { passed, failed, skipped, reasons, failures } = readReport(report);
  const good = code === 0 && failed === 0 && passed > 0;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
  console.log(
    `${good ? 'ok  ' : 'FAIL'} engine ${name} (${engine.version}): ${passed} passed, ${failed} failed, ${skipped} skipped${why} in ${seconds} s`,
  );
  for (const line of new Set(output.match(/^RESULT .*$/gm))) console.log(`     ${line}`);
  if (good) return;
  for (const failure of failures) console.log(`     ${failure}`);
  if (failures.length === 0) console.log(output.trimEnd().split('\n').slice(-200).join('\n'));
  process.exitCode = 1;
}

/** One shape of the kill campaign, killed at every call. `npm test` runs all shapes on the installed engine. */
async function runTests(environment, { report, logFile }) {
  const reporters = ['--reporter', 'verbose', '--reporter', 'json', '--outputFile.json', report];
  const command = [process.execPath, join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...files];
  const output = openSync(logFile, 'w');
  try {
    return await enterLab(command, {
      stdio: ['ignore', output, output],
      environment: { HOSTILE_INDEXES: '500', ...environment, NO_COLOR: '1', UPKEEP_FAULTS: 'short' },
      onChild: (child) => {
        const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
        child.on('close', () => clearTimeout(timer));
      },
    });
  } finally {
    closeSync(output);
  }
}

function readReport(file) {
  if (!existsSync(file)) return { passed: 0, failed: 0, skipped: 0, reasons: [], failures: [] };
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const reasons = tests.filter(({ status }) => status === 'pending' || status === 'skipped');
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    reasons: countReasons(reasons.map(({ meta }) => meta?.reason ?? 'without a reason')),
    failures: tests
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${fullName}: ${(failureMessages[0] ?? '').split('\n')[0]}`),
  };
}

function countReasons(reasons) {
  const counts = new Map();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one).map(([reason, count]) => `${count} ${reason}`);
}
