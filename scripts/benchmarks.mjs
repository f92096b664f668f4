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
  const figures = measured.flatMap(({ figures: each }) => each);
  const beside = figures.flatMap((figure) => {
    const [, ...cells] = ratio.exec(figure) ?? [];
    return cells.length === 0 ? [] : [`| ${cells.join(' | ').replace(', 64 requests in flight, 50 ms each', '')} |`];
  });
  const others = figures.filter((figure) => !ratio.test(figure)).map((figure) => `- ${figure}`);
  const dates = measured.map(({ date }) => date).toSorted();
  const loads = measured.map(({ load }) => load).toSorted((one, other) => one - other);
  const when = `${range(dates[0], dates.at(-1))}, load ${range(loads[0].toFixed(1), loads.at(-1).toFixed(1))}`;
  writeFileSync(page, pageOf({ machines: [...new Set(measured.map(({ machine }) => machine))], when, beside, others }));
}

function range(first, last) {
  return first === last ? first : `${first} to ${last}`;
}

const pageOf = ({ machines, when, beside, others }) => `# Benchmarks

<!-- Written by scripts/benchmarks.mjs from test/bench/results: npm run bench -- --record. -->

Each benchmark of \`test/bench/\` alternates Upkeep with a floor, the minimum work for the same result, because times depend on the machine.
Compare the ratio of the two. Figures are medians.

${machines.map((machine) => `- ${machine}`).join('\n')}
- ${when}

## Beside a floor

| benchmark | ms | floor | ratio | aim |
|---|---|---|---|---|
${beside.join('\n')}

The floor of a start is Node with an empty program; of a check one request of 50 ms for each 64 images; of the downtime a stop
of one container and a start of another; of all others the same without the disturbance.

## Others

${others.join('\n')}
`;
