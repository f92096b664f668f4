// `npm run test:swarm`: the whole suite of services on a swarm of three real engines. It takes half an hour; `npm test`
// runs a part of the suite, drawn by the commit.
//   npm run test:swarm -- --engine docker-28 table kill    on another engine of test/lab/engine/engines.mjs, these files only
//   npm run test:swarm -- --cases 200                       instead: 200 random updates, each compared with the tasks
//   --seed TEXT    seed of the random updates
//   --round N      only this round of eight updates, named as in a failure
//   --record       keep the result for docs/reliability.md
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: 'string' },
    cases: { type: 'string' },
    seed: { type: 'string', default: 'all' },
    round: { type: 'string' },
    record: { type: 'boolean', default: false },
  },
});
const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const folder = join(root, values.record ? 'test/faults/results' : 'test-results');
mkdirSync(folder, { recursive: true });

const isRandom = values.cases !== undefined || values.round !== undefined;
const names = isRandom ? ['random'] : positionals;
const files = names.length === 0 ? ['test/swarm'] : names.map((name) => `test/swarm/${name}.test.ts`);
const tests = ['npx', 'vitest', 'run', '--project', 'swarm', '--reporter', 'verbose', ...files];
const { status } = spawnSync(process.execPath, [join(root, 'test/lab/enter.mjs'), ...tests], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    TEST_DRAW: isRandom ? values.seed : 'all',
    ...(values.engine && { LAB_ENGINE: values.engine }),
    ...(isRandom && {
      ...(values.cases && { SWARM_CASES: values.cases }),
      ...(values.round && { SWARM_ROUND: values.round }),
      SWARM_REPORT: join(folder, `swarm-${values.engine ?? 'docker-20.10'}.json`),
    }),
  },
});
process.exitCode = status ?? 1;
