// Writes docs/reliability.md from the results that `npm run test:faults -- --record` keeps.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

const results = new URL('../test/faults/results/', import.meta.url);
const page = new URL('../docs/reliability.md', import.meta.url);

/** Writes the measurements as tables; does nothing before the first. */
export function writeReliabilityPage() {
  if (!existsSync(results)) return;
  const files = readdirSync(results).filter((name) => name.endsWith('.json'));
  const swarms = files.filter((name) => name.startsWith('swarm-'));
  const rows = files.filter((name) => name !== 'mutations.json' && !swarms.includes(name)).flatMap(read);
  const mutations = files.includes('mutations.json') ? read('mutations.json') : [];
  writeFileSync(
    page,
    [introduction, campaignTable(rows), shapeTable(rows), mutationTable(mutations), swarmTable(swarms.map(read))].join(
      '\n',
    ),
  );
}

function read(name) {
  return JSON.parse(readFileSync(new URL(name, results), 'utf8'));
}

const introduction = `# Reliability, measured

<!-- Written by scripts/reliability.mjs from test/faults/results: run a campaign with --record, then npm run docs. -->

These campaigns break updates on purpose and count the containers that are lost.

A **point** is one state-changing call of an update, and one way in which it fails. The calls come from an
undisturbed run, so a new call in the code adds points. After each point Upkeep is started once more. A
container counts as **lost** unless:

- it exists exactly once under its name, and runs if it ran before
- it has the old version, or the new version after its health check
- it has its restart policy, ports, volumes and networks
- it never ran twice at the same time
- a second start finds nothing to repair

Some campaigns have other points:

| campaign | a point is | and must show |
| --- | --- | --- |
| G | a race: two to five instances (updaters, services, recoveries) start together or at a call of the first one, which is killed in one race of three | without a kill exactly one instance reports the update, otherwise at most one; no other reports a failure; nothing is left to repair |
| J | another tool that interferes: \`docker system prune --all\`, for example, removes both containers, their networks and the old image between stop and start | the old container [is recreated](how-an-update-is-made.md#its-limits) |
| K | a clock that is wrong by an hour or ten years, at some moment | the rule above |
| L | one update of a soak: containers of all policies, with volumes, ports and networks, over five releases. One process of the service runs three of them; during the other two, the service is killed every few seconds, and the engine sometimes | heap, memory and descriptors do not grow; after each release, each setting and a file in each volume is right |
| M | a kill after a call, and a change by a person before the next start: stop, new policy, rename, remove, recreate, prune, compose down and up, another updater | the person's change stays; nothing is lost or runs twice; the report is true |
| N | a forged journal, made from the labels of a real update | no other container changes, and the real interrupted update is repaired |
| Z | for comparison: an updater that removes the old container first, with the same faults | |

Repeat a point with the arguments that a failure prints:

    npm run test:faults -- --campaign A --shape "host network" --point "killed after 7"
    npm run test:faults -- --campaign G --shape "a group of two" --seed 17 --rounds 1

"By the engine" counts containers that a crash of the engine leaves stopped, with and without Upkeep: Docker
does so with every policy but \`always\`, if no update was in progress. Misbehaving registries have tests
instead of a campaign: [failures.md](failures.md).
`;

function campaignTable(rows) {
  const groups = groupBy(rows, ({ campaign, engine }) => `${campaign} ${engine}`);
  const lines = [...groups.values()].map((group) => {
    const [{ campaign, title, engine }] = group;
    return [campaign, title, engine, group.length, ...['points', 'lost', 'byEngine'].map((field) => sum(group, field))];
  });
  return table('Campaigns', ['', 'Fault at every call', 'Engine', 'Shapes', 'Points', 'Lost', 'By the engine'], lines);
}

function shapeTable(rows) {
  const groups = groupBy(rows, ({ shape }) => shape);
  const letters = [...new Set(rows.map(({ campaign }) => campaign))].sort((one, other) => one.localeCompare(other));
  const lines = [...groups].map(([shape, group]) => [
    shape,
    ...letters.map((letter) => {
      const own = group.filter(({ campaign }) => campaign === letter);
      return own.length === 0 ? '' : `${sum(own, 'lost')} of ${sum(own, 'points')}`;
    }),
  ]);
  return table('Lost, by shape', ['Shape', ...letters], lines);
}

function mutationTable(rows) {
  if (rows.length === 0) return '';
  const lines = rows.map(({ mutation, points }) => [mutation, points]);
  return table('Mutations of the protocol', ['Mutation', 'Points and tests broken, in memory'], lines);
}

function swarmTable(rows) {
  if (rows.length === 0) return '';
  const words = [...new Set(rows.flatMap(({ outcomes }) => Object.keys(outcomes)))];
  const lines = rows.map(({ engine, cases, untrue, outcomes }) => [
    ...[engine, cases, untrue],
    ...words.map((word) => outcomes[word] ?? 0),
  ]);
  const intro = `Services of a swarm of three nodes are updated to good and bad versions, with updates of all orders and failure actions,
while nodes and the registry are lost: \`npm run test:swarm -- --cases 200\`. A report is untrue if it contradicts the
tasks, which are read for some seconds after it.
`;
  return table('Services of a swarm', ['Engine', 'Cases', 'Untrue', ...words], lines, intro);
}

function sum(rows, field) {
  return rows.reduce((total, row) => total + row[field], 0);
}

/** `intro` ends with a line end. */
function table(title, head, lines, intro) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  return [
    `## ${title}`,
    '',
    ...(intro ? [intro] : []),
    row(head),
    row(head.map(() => '---')),
    ...lines.map(row),
    '',
  ].join('\n');
}

/** `Map.groupBy()` came with Node 21. */
function groupBy(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row]);
  return groups;
}
