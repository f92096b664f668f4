// Writes docs/benchmarks.md from the results that `npm run bench -- --record` keeps.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';

export const results = new URL('../test/bench/results/', import.meta.url);
const page = new URL('../docs/benchmarks.md', import.meta.url);

/** The lines of a benchmark's output that the page shows: ratios, and other figures with an aim. */
export function figuresIn(lines) {
  return lines.map((line) => line.trim()).filter((line) => ratio.test(line) || /\(aim [\d.]+\)|HEADs/.test(line));
}

const ratio = /^(.+): ([\d.]+) ms, floor ([\d.]+) ms, ratio ([\d.]+) \((?:within|ABOVE) the aim of ([\d.]+)\)$/;

/** The machine and the day, without what would name the machine. */
export function machineOf() {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const kernel = `Linux ${release().split('.', 2).join('.')}`;
  return {
    machine: `${cpus().length} cores, ${model}, ${memory}, ${kernel}, Node ${process.version}`,
    date: new Date().toISOString().slice(0, 10),
  };
}

/** Does nothing before the first result. */
export function writeBenchmarksPage() {
  if (!existsSync(results)) return;
  const measured = readdirSync(results).map((name) => JSON.parse(readFileSync(new URL(name, results), 'utf8')));
  const rows = measured.flatMap(({ figures, date, load }) =>
    figures.map((figure) => ({ figure, when: `${date}, load ${load.toFixed(1)}` })),
  );
  const beside = rows.flatMap(({ figure, when }) => {
    const [, ...cells] = ratio.exec(figure) ?? [];
    return cells.length === 0 ? [] : [`| ${[...cells, when].join(' | ')} |`];
  });
  const others = rows.filter(({ figure }) => !ratio.test(figure)).map(({ figure, when }) => `| ${figure} | ${when} |`);
  writeFileSync(page, pageOf({ machines: [...new Set(measured.map(({ machine }) => machine))], beside, others }));
}

const pageOf = ({ machines, beside, others }) => `# Benchmarks

<!-- Written by scripts/benchmarks.mjs from test/bench/results: npm run bench -- --record. -->

Times of one machine say little about another one. Therefore each benchmark measures a floor in the same run, in turn with
Upkeep: the least that anybody would need for the same work. The ratio of the two is the result. The code, with the
floor of each, is in \`test/bench/\`. Figures are medians. Each has its day, and the load of the machine at its beginning,
as \`uptime\` shows it.

${machines.map((machine) => `- ${machine}`).join('\n')}

## Beside a floor

| benchmark | time, ms | floor, ms | ratio | aim, at most | measured |
|---|---|---|---|---|---|
${beside.join('\n')}

The floors:

- a start of Upkeep, and until the service is ready: a start of Node that does nothing
- a check: one request that is alone, times the waves that the requests in flight allow
- the downtime of an update: of two containers that are there, stop one and start the other
- an update with notifications: the same update without them
- four engines while something happens to a fifth: the same update by a service without the fifth
- a check of one engine while 99 are away: the same by a service with one other engine

## Others

| figure | measured |
|---|---|
${others.join('\n')}

Other updaters on one machine with Upkeep: [comparison.md](comparison.md).
`;
