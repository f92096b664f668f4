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

These campaigns break updates on purpose, and count the containers that are lost. A **point** is one changing call of an update and one
way in which it fails; the calls come from an undisturbed run, so new code adds points. After each point Upkeep is started once more. A
container is **lost** unless:

- it exists exactly once under its name, and runs if it ran before
- it has the old version, or the new one after its health check
- it has its restart policy, ports, volumes and networks
- it never ran twice at the same time
- a second start finds nothing to repair

| campaign | other points | must show |
| --- | --- | --- |
| G | two to five instances start together or at a call of the first one; in one race of three the first is killed | at most one reports the update, and without a kill exactly one; no failure; nothing left to repair |
| J | another tool interferes: \`docker system prune --all\` removes both containers, networks and the old image, for example | the old container [is created again](how-an-update-is-made.md#limits) |
| K | a clock that is wrong by an hour or ten years | the rule above |
| L | a soak over five releases: one service runs three; during two it is killed every few seconds, and the engine sometimes | heap, memory and descriptors do not grow; settings and volumes stay right |
| M | a person or tool changes the container between the kill and the next start | the change stays; nothing is lost or runs twice; the report is true |
| N | a forged journal, from the labels of a real update | no other container changes, and the real update is repaired |
| Z | for comparison: an updater that removes the old container first | |

"By the engine" counts containers that a crash of the engine leaves stopped, with and without Upkeep: Docker does so with every policy but
\`always\`. Repeat a point with the arguments that a failure prints:

    npm run test:faults -- --campaign A --shape "host network" --point "killed after 7"
    npm run test:faults -- --campaign G --shape "a group of two" --seed 17 --rounds 1
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
  const ours = rows.filter(({ campaign }) => campaign !== comparison);
  const shapes = groupBy(ours, ({ shape }) => shape);
  const lost = [...shapes].filter(([, group]) => sum(group, 'lost') > 0).map(([shape]) => shape);
  return `## Shapes of containers

${shapes.size} shapes of containers take part: each restart policy, volumes, ports and networks, \`--rm\`, groups and links, compose
services, hooks, new versions that end at once or are never healthy (\`test/faults/results/\`). Lost: ${lost.join('; ') || 'none'}.
`;
}

/** The campaign of an updater that is not ours. */
const comparison = 'Z';

function mutationTable(rows) {
  if (rows.length === 0) return '';
  const broken = rows.map(({ points }) => points);
  return `## Mutations of the protocol

To show that points and tests notice a mistake, ${rows.length} parts of the protocol are left out, one at a time. Each breaks ${Math.min(...broken)} to
${Math.max(...broken)} of them, so none goes unnoticed: \`test/faults/results/mutations.json\`.
`;
}

function swarmTable(rows) {
  if (rows.length === 0) return '';
  const words = [...new Set(rows.flatMap(({ outcomes }) => Object.keys(outcomes)))];
  const lines = rows.map(({ engine, cases, untrue, outcomes }) => [
    ...[engine, cases, untrue],
    ...words.map((word) => outcomes[word] ?? 0),
  ]);
  const intro = `Services on three nodes are updated to good and bad versions, with all orders and failure actions, while nodes and the registry are lost
(\`npm run test:swarm -- --cases 200\`). A report is untrue if the tasks of the next seconds contradict it.
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
