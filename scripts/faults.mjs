// `npm run test:faults -- --campaign X`: a whole campaign against a real engine: every incident at every call of an
// update, for every shape. It takes minutes to an hour; `npm test` runs a short one.
//   --campaign LETTER   only this campaign; repeatable; default all
//   --engine NAME       another engine of test/lab/engine/engines.mjs
//   --shape TEXT        only shapes, or mutations, with this text in their name; repeatable
//   --point NAME        only this point, named as in a failure
//   --every N           only each Nth call, from that of --seed on: for nested campaigns, which take hours
//   --rounds N          number of races (campaign G), divided among its shapes, of containers (campaign L), or of
//                       forgers (campaign N); default 200
//   --seed N            seed of campaigns L and N, and of the first race of G; each further race adds one
//   --mutations         instead: remove single rules of the protocol, and count the broken points
//   --record            keep the results for docs/reliability.md, together with the results of other shapes
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faketimeLibrary, installFaketime } from '../test/lab/install.mjs';
import { runMutations } from '../test/faults/mutations.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    campaign: {
      type: 'string',
      multiple: true,
      default: ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'I', 'J', 'K', 'L', 'M', 'N', 'P', 'Q', 'Z'],
    },
    engine: { type: 'string' },
    shape: { type: 'string', multiple: true, default: [''] },
    point: { type: 'string' },
    every: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    mutations: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
});
const folder = join(root, values.record ? 'test/faults/results' : 'test-results');
mkdirSync(folder, { recursive: true });
if (values.mutations) {
  const file = join(folder, 'mutations.json');
  const known = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
  const keep = (rows) => writeFileSync(file, `${JSON.stringify(rows, undefined, 2)}\n`);
  await runMutations({ words: values.shape, known, keep });
  process.exit();
}
const build = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
if (build.status !== 0) process.exit(1);
const noClock = values.campaign.includes('K') ? installFaketime({ log: console.log }) : undefined;
if (noClock) {
  console.error(`Cannot run campaign K: ${noClock}`);
  process.exit(1);
}
for (const letter of values.campaign) {
  const { status } = spawnSync(
    process.execPath,
    [join(root, 'test/lab/enter.mjs'), 'npx', 'vitest', 'run', '--project', 'campaigns', '--reporter', 'verbose'],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        UPKEEP_CAMPAIGN: letter,
        UPKEEP_SHAPE: values.shape.join('\n'),
        UPKEEP_EVERY: values.every,
        UPKEEP_ROUNDS: values.rounds,
        UPKEEP_SEED: values.seed,
        UPKEEP_FAKETIME: faketimeLibrary,
        UPKEEP_REPORT: join(folder, `${letter}-${values.engine ?? 'docker-20.10'}.json`),
        ...(values.point === undefined ? {} : { UPKEEP_POINT: values.point }),
        ...(values.engine === undefined ? {} : { LAB_ENGINE: values.engine }),
      },
    },
  );
  if (status !== 0) process.exitCode = 1;
}
