import { isDrawn } from './draw.mjs';
import { changedFiles, filesOf } from './files.mjs';

/**
 * The suites, longest first, so that the last one to end is a short one. `share`: which part of the files a push
 * runs, drawn by its commit; `always` and files that the commit changed run every time. `npm test -- --all` runs all.
 */
export const suites = [
  { name: 'swarm', folder: 'test/swarm', lab: true, share: 1 / 6, always: ['engine-facts.test.ts'] },
  { name: 'faults', folder: 'test/faults', lab: true, shards: 2, share: 1 / 2, always: ['kill.test.ts'] },
  { name: 'integration', folder: 'test/integration', lab: true, shards: 2, share: 1 / 6, always: ['update.test.ts'] },
  { name: 'conformance', folder: 'test/conformance', lab: true },
  { name: 'contract', folder: 'test/contract', lab: true },
  { name: 'image', folder: 'test/image', lab: true, image: true },
  { name: 'failures', folder: 'test/failures', lab: true, share: 1 / 3 },
  { name: 'browser', folder: 'test/browser', browser: true },
  { name: 'unit', folder: 'src' },
  { name: 'notify', folder: 'test/notify', receivers: true },
  { name: 'check', ciOnly: true, command: ['node', 'scripts/check.mjs', '--without-tests'] },
  { name: 'built files on Node 22', ciOnly: true, node: 'node-22', command: ['scripts/test/smoke.mjs'] },
  { name: 'built files on Node 24', ciOnly: true, node: 'node-24', command: ['scripts/test/smoke.mjs'] },
];

/** Suites that were named; without names all that fit. `files` lists the drawn part of a drawn suite. */
export function chooseSuites({ names, isCi, all, seed }) {
  const chosen = suites.filter(({ name, ciOnly }) => (names.length > 0 ? names.includes(name) : isCi || !ciOnly));
  return chosen.flatMap((suite) => inShards(all ? suite : drawFiles(suite, seed)));
}

function drawFiles(suite, seed) {
  if (suite.share === undefined) return suite;
  const all = filesOf(suite.folder);
  const changed = new Set(changedFiles());
  const isFixed = (file) => changed.has(file) || suite.always?.some((name) => file.endsWith(`/${name}`));
  const files = all.filter((file) => isFixed(file) || isDrawn({ seed, key: file, share: suite.share }));
  return { ...suite, files, leftOut: all.length - files.length };
}

/** The files of a suite, parted so that they need not wait for each other. */
function inShards(suite) {
  const { name, project = name, shards = 1 } = suite;
  if (shards === 1) return [suite];
  return Array.from({ length: shards }, (_, index) => {
    const shard = `${index + 1}/${shards}`;
    return { ...suite, project, shard, name: `${name} ${shard}` };
  });
}
