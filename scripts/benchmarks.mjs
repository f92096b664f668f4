// Writes docs/benchmarks.md from the results that `npm run bench -- --record` keeps.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';

export const results = new URL('../test/bench/results/', import.meta.url);
const page = new URL('../docs/benchmarks.md', import.meta.url);

/** The lines of a benchmark's output for the page: ratios, and other figures with an aim. */
export function figuresIn(lines) {
  return lines.map((line) => line.trim()).filter((line) => ratio.test(line) || /\(aim [\d.]+\)|HEADs/.test(line));
}

const ratio = /^(.+): ([\d.]+) ms, floor ([\d.]+) ms, ratio ([\d.]+) \((?:within|ABOVE) the aim of ([\d.]+)\)$/;

/** The machine and the date, without the host name. */
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

Times depend on the machine, so each benchmark of \`test/bench/\` alternates Upkeep with a floor: the minimum work for the same result.
Compare the ratio of the two. Figures are medians; the load is that of \`uptime\` at the start.

${machines.map((machine) => `- ${machine}`).join('\n')}

## Beside a floor

| benchmark | time, ms | floor, ms | ratio | aim, at most | measured |
|---|---|---|---|---|---|
${beside.join('\n')}

The floors:

- a start, or the service until it is ready: Node with an empty program
- a check: one request, times the batches of parallel requests
- downtime: a stop of one container and a start of another
- notifications, a faulty fifth engine, 99 unreachable engines: the same without them

## Others

| figure | measured |
|---|---|
${others.join('\n')}

Other updaters on one machine with Upkeep: [comparison.md](comparison.md).
`;
