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

These campaigns break updates on purpose. A **point** is one changing call of an update and one way in which it fails; the calls come from
an undisturbed run, so new code adds points. Then Upkeep is started once more. A container is **lost** unless it exists once under its name,
runs if it ran before, has the old version or a healthy new one, keeps policy, ports, volumes and networks, never ran twice at a time, and a
second start finds nothing to repair. "By the engine" counts containers that a crash of the engine leaves stopped, with and without Upkeep.

Other campaigns have other points:

- **G:** two to five instances start together or at a call of the first one; at most one reports the update.
- **J:** \`docker system prune --all\` or the like removes both containers; the old one [is created again](how-an-update-is-made.md#limits).
- **L:** five releases, with kills of service and engine.
- **M, N:** a person changes the container between the kill and the next start, or forges a journal.
- **Q-nested:** at every sixth to twelfth call of the update, and at every call of the start after it (\`--every\`).
- **Q-cache-apart:** a point also counts as lost if a removed volume is back and stays, as [after some power cuts](data.md#going-back-later).

Repeat a point with the arguments that a failure prints:

    npm run test:faults -- --campaign A --shape "host network" --point "killed after 7"
`;

function campaignTable(rows) {
  const lines = [...groupBy(rows, ({ campaign }) => campaign)].map(([campaign, group]) => {
    const engines = new Set(group.map(({ engine }) => engine.replace(/\+.*/, '')));
    const cells = ['points', 'lost', 'byEngine'].map((field) => sum(group, field));
    return [campaign, group[0].title, [...engines].join(', ').replaceAll(', Docker', ','), ...cells];
  });
  return table('Campaigns', ['', 'Fault at every call', 'Engine', 'Points', 'Lost', 'By the engine'], lines);
}

function shapeTable(rows) {
  const ours = rows.filter(({ campaign }) => campaign !== comparison);
  const shapes = groupBy(ours, ({ shape }) => shape);
  const lost = [...shapes].filter(([, group]) => sum(group, 'lost') > 0).map(([shape]) => shape);
  return `## Shapes of containers

${shapes.size} take part: each restart policy, volumes, ports, networks, \`--rm\`, groups, compose services, hooks, and new versions that end at
once or are never healthy. Lost: ${lost.join('; ') || 'none'}.
`;
}

/** The campaign of an updater that is not ours. */
const comparison = 'Z';

function mutationTable(rows) {
  if (rows.length === 0) return '';
  const broken = rows.map(({ points }) => points);
  return `## Mutations of the protocol

${rows.length} parts of the protocol are left out, one at a time. Each omission breaks ${Math.min(...broken)} to ${Math.max(...broken)} points or tests, so none goes
unnoticed.
`;
}

function swarmTable(rows) {
  if (rows.length === 0) return '';
  const words = [...new Set(rows.flatMap(({ outcomes }) => Object.keys(outcomes)))];
  const lines = rows.map(({ engine, cases, untrue, outcomes }) => [
    ...[engine, cases, untrue],
    ...words.map((word) => outcomes[word] ?? 0),
  ]);
  const intro = `Services on three nodes are updated to good and bad versions, while nodes and the registry are lost (\`npm run test:swarm -- --cases 200\`).
A report is untrue if the tasks of the next seconds contradict it.
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
