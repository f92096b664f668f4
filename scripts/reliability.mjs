// Writes docs/reliability.md from the results that `npm run test:faults -- --record` keeps.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const results = new URL('../test/faults/results/', import.meta.url);
const page = new URL('../docs/reliability.md', import.meta.url);

/** What was measured, as tables; nothing where nothing was kept yet. */
export function writeReliabilityPage() {
  if (!existsSync(results)) return;
  const files = readdirSync(results).filter((name) => name.endsWith('.json'));
  const rows = files.filter((name) => name !== 'mutations.json').flatMap(read);
  const mutations = files.includes('mutations.json') ? read('mutations.json') : [];
  writeFileSync(page, [introduction, campaignTable(rows), shapeTable(rows), mutationTable(mutations)].join('\n'));
}

function read(name) {
  return JSON.parse(readFileSync(new URL(name, results), 'utf8'));
}

const introduction = `# Reliability, measured

<!-- Written by scripts/reliability.mjs from test/faults/results: run a campaign with --record, then npm run docs. -->

A point is one state-changing call of an update of one container or group, and one way in which it goes
wrong. After each, Upkeep is started once more, and then the container must exist exactly once under its
name, run if it ran before, be of the old or of the proven new version, with its policy, ports, volumes
and networks; never have run twice at a time; and a second start must find nothing left to repair.
Anything else counts as lost. The calls are those that a clean run makes, so a new call brings its
points with it. In campaign G a point is a race: two to five instances, updaters, services and such that
only recover, start together or while the first is at one of its calls, and in one race of three that
first one is killed. Where nobody dies exactly one says that it has updated, else one at most; no other
calls it a failure, and nothing is left to the next start. In campaign K a point is a clock that is an
hour or ten years off, and when. In campaign L a point is one update of a soak: containers of all policies,
with volumes, ports and networks, go through five releases, three with one process of the service, whose
live heap, memory and descriptors may not grow with the updates, and two while it is killed every few
seconds, and the engine under it now and then. After each release all of them are looked at, down to every
setting and a file in every volume. In campaign M a point is a call after which the updater is killed, and what
somebody then does to the container before the next start: it is stopped, given another policy, renamed, removed,
created anew, pruned, taken down and up by compose, or replaced by another updater. Where what is found can only
be that person's doing it stays so, and in any case nothing is lost, nothing runs twice, and what is said is so. In campaign N a point is somebody who may create
containers and writes journals into them, made from the labels of a real update: nothing of others may change,
and the update that was killed beside them is repaired. To repeat a point, as a failure names it:

    npm run test:faults -- --campaign A --shape "host network" --point "killed after 7"
    npm run test:faults -- --campaign G --shape "a group of two" --seed 17 --rounds 1

"By the engine" counts what an engine that crashes does to any container, with Upkeep and without: Docker
leaves one down whose policy is not \`always\`, when no update of it was under way.

In campaign J \`docker container prune\` takes both between the stop of the old container and the start of the
new one: the old one [is created anew then](how-an-update-is-made.md#its-limits). Z is not about Upkeep, but about
what is lost with the same faults when the old container is removed first. Each way in which a registry
misbehaves has a test of its own instead of a campaign: [failures.md](failures.md).
`;

function campaignTable(rows) {
  const groups = groupBy(rows, ({ campaign, engine }) => `${campaign} ${engine}`);
  const lines = [...groups.values()].map((group) => {
    const [{ campaign, title, engine }] = group;
    const sum = (field) => group.reduce((total, row) => total + row[field], 0);
    return [campaign, title, engine, group.length, sum('points'), sum('lost'), sum('byEngine')];
  });
  return table(
    'Campaigns',
    ['', 'What happens at every call', 'Engine', 'Shapes', 'Points', 'Lost', 'By the engine'],
    lines,
  );
}

function shapeTable(rows) {
  const groups = groupBy(rows, ({ shape }) => shape);
  const letters = [...new Set(rows.map(({ campaign }) => campaign))].sort((one, other) => one.localeCompare(other));
  const lines = [...groups].map(([shape, group]) => [
    shape,
    ...letters.map((letter) => {
      const own = group.filter(({ campaign }) => campaign === letter);
      if (own.length === 0) return '';
      const sum = (field) => own.reduce((total, row) => total + row[field], 0);
      return `${sum('lost')} of ${sum('points')}`;
    }),
  ]);
  return table('Lost, by shape', ['Shape', ...letters], lines);
}

function mutationTable(rows) {
  if (rows.length === 0) return '';
  const lines = rows.map(({ mutation, points }) => [mutation, points]);
  return table(
    'What breaks when a rule is taken out of the protocol',
    ['Mutation', 'Points and tests broken, in memory'],
    lines,
  );
}

function table(title, head, lines) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  return [`## ${title}`, '', row(head), row(head.map(() => '---')), ...lines.map(row), ''].join('\n');
}

/** `Map.groupBy()` came with Node 21. */
function groupBy(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return groups;
}
