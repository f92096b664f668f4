import { cpus, release, totalmem } from 'node:os';

/** The page of the benchmarks from the lines that they print. `load`: of the machine at the beginning, as `uptime` shows it. */
export function benchmarksPage(lines, { load, at }) {
  const ratios = lines.flatMap((line) => {
    const found =
      /^(.+): ([\d.]+) ms, floor ([\d.]+) ms, ratio ([\d.]+) \((?:within|ABOVE) the aim of ([\d.]+)\)$/.exec(line);
    return found ? [found.slice(1)] : [];
  });
  const others = lines.flatMap((line) => (/\(aim [\d.]+\)|HEADs/.test(line) ? [line.trim()] : []));
  if (ratios.length === 0) throw new Error('Cannot write docs/benchmarks.md: no benchmark printed a ratio');
  const [{ model = 'unknown' } = {}] = cpus();
  return `# Benchmarks

<!-- Written by "npm run bench". -->

Times of one machine say little about another one. Therefore each benchmark measures a floor in the same run, in turn with
Upkeep: the least that anybody would need for the same work. The ratio of the two is the result. The code, with the
floor of each, is in \`test/bench/\`. Figures are medians.

| | |
|---|---|
| machine | ${cpus().length} cores, ${model.trim()}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()} |
| Node | ${process.version} |
| date | ${at.toISOString().slice(0, 10)} |
| load of the machine at the beginning | ${load.toFixed(1)} |

## Beside a floor

| benchmark | time, ms | floor, ms | ratio | aim, at most |
|---|---|---|---|---|
${ratios.map(([what, ...figures]) => `| ${what} | ${figures.join(' | ')} |`).join('\n')}

The floors:

- a start of Upkeep: a start of Node that does nothing
- a check: one request that is alone, times the waves that the requests in flight allow
- the downtime of an update: of two containers that are there, stop one and start the other
- an update with notifications: the same update without them

## Others

${others.map((line) => `- ${line}`).join('\n')}

Other updaters on one machine with Upkeep: [comparison.md](comparison.md).
`;
}
