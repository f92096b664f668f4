import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { changedFiles, filesOf } from './files.mjs';

/**
 * The suites, longest first, so that a short one ends last. A push runs the files in `always`, a `share` of the others,
 * and one in 24 of the `long` files of all suites, which take a minute or more. `npm test -- --all` runs all.
 */
export const suites = [
  {
    name: 'failures',
    folder: 'test/failures',
    lab: true,
    share: 1 / 8,
    long: ['permissions', 'real-deaths', 'real-registries', 'set-ups'],
  },
  { name: 'conformance', folder: 'test/conformance', lab: true, clients: true, shards: 2 },
  {
    name: 'integration',
    folder: 'test/integration',
    lab: true,
    podman: true,
    shards: 2,
    share: 1 / 30,
    always: ['update'],
    long: [
      ...[
        'canary',
        'compose',
        'data',
        'data-of-databases',
        'data-of-remapped-users',
        'health-times',
        'placed-files',
        'restraint',
        'starting',
        'holding-back',
        'own-door',
      ],
      ...['command-line-on-an-engine', 'unreadable-decisions', 'notifications', 'chosen-tags', 'tag-policies'],
      ...['endless-list', 'large-entries', 'one-of-five', 'runtimes', 'fidelity', 'hostile-indexes'],
      ...['first-to-end', 'links-after-a-crash', 'repairs-beside-updates', 'private-registries', 'signed-images'],
    ],
  },
  {
    name: 'faults',
    folder: 'test/faults',
    lab: true,
    shards: 2,
    share: 1 / 6,
    always: ['kill', 'kill-with-data'],
    long: [
      ...[
        'interrupted',
        'itself',
        'itself-on-an-engine',
        'door-on-an-engine',
        'real-races',
        'decisions',
        'killed-service',
      ],
      ...['committed-images', 'forged-examples', 'forged-journals', 'real-forged-journals'],
    ],
  },
  {
    name: 'image',
    folder: 'test/image',
    lab: true,
    image: true,
    shards: 2,
    share: 1 / 8,
    always: ['image'],
    long: ['first-hour', 'compose-written', 'compose-killed', 'compose-files'],
  },
  { name: 'contract', folder: 'test/contract', lab: true, share: 1, long: ['boot.docker', 'agreement.docker'] },
  { name: 'unit', folder: 'src' },
  { name: 'swarm', folder: 'test/swarm', lab: true, share: 1 / 16, always: ['engine-facts'] },
  { name: 'browser', folder: 'test/browser', browser: true, share: 1 / 5 },
  { name: 'proxies', folder: 'test/proxies', proxies: true },
  { name: 'check', ciOnly: true, command: ['node', 'scripts/check.mjs', '--without-tests'] },
  { name: 'notify', folder: 'test/notify', receivers: true },
  { name: 'built files on Node 22', ciOnly: true, node: 'node-22', command: ['scripts/test/smoke.mjs'] },
  { name: 'built files on Node 24', ciOnly: true, node: 'node-24', command: ['scripts/test/smoke.mjs'] },
];

/** The named suites, or else all that apply. `files` lists the drawn part of a drawn suite. */
export function chooseSuites({ names, isCi, all, seed }) {
  const chosen = suites.filter(({ name, ciOnly }) => (names.length > 0 ? names.includes(name) : isCi || !ciOnly));
  if (all) return chosen.flatMap(inShards);
  const slow = inOrderOf(
    seed,
    chosen.filter(({ share }) => share !== undefined).flatMap((suite) => partsOf(suite).slow),
  );
  const ofAll = new Set(slow.slice(0, Math.ceil(slow.length / 24)));
  return chosen.flatMap((suite) => inShards(suite.share === undefined ? suite : drawFiles(suite, seed, ofAll)));
}

/**
 * The commit, so that a repeated test of a push runs the same files; `TEST_DRAW` repeats the draw of another commit.
 */
export function seedOfThisPush(root) {
  const given = process.env.TEST_DRAW;
  if (given) return given;
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  } catch {
    return 'no commit';
  }
}

/** `ofAll`: the long files that the push runs. The fixed numbers keep the time of a push constant. */
function drawFiles(suite, seed, ofAll) {
  const { fixed, slow, others } = partsOf(suite);
  const drawn = [
    ...fixed,
    ...slow.filter((file) => ofAll.has(file)),
    ...inOrderOf(seed, others).slice(0, Math.ceil(others.length * suite.share)),
  ];
  const all = [...fixed, ...slow, ...others];
  return { ...suite, files: drawn, leftOut: all.length - drawn.length };
}

function partsOf({ folder, always = [], long = [] }) {
  const kindOf = (file) => [always, long].findIndex((names) => names.includes(basename(file, '.test.ts')));
  const [fixed, slow, others] = [0, 1, -1].map((kind) => filesOf(folder).filter((file) => kindOf(file) === kind));
  return { fixed, slow, others };
}

/** Changed files first, then by a hash with the seed, so that over many seeds each file is drawn as often as others. */
function inOrderOf(seed, files) {
  const changed = new Set(changedFiles());
  const placeOf = (file) =>
    `${changed.has(file) ? 0 : 1} ${createHash('sha256').update(`${seed} ${file}`).digest('hex')}`;
  return files.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

/** The files of a suite in parts that can run at the same time. */
function inShards(suite) {
  const { name, project = name, shards = 1 } = suite;
  if (shards === 1) return [suite];
  return Array.from({ length: shards }, (_, index) => {
    const shard = `${index + 1}/${shards}`;
    return { ...suite, project, shard, name: `${name} ${shard}` };
  });
}
