import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { EngineClient } from '../lab/engine/engine-client.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { pushImage } from '../lab/registry/push.ts';
import { provideDataHelper } from '../support/scene/data-app.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { median, reportRatio } from './rig/ratios.ts';

type Data = {
  readonly title: string;
  readonly fill: (place: string) => void;
  /** Of the downtime beside that of an update without data, and a bare copy of the same files. */
  readonly aim: number;
  readonly runs: number;
};

type Downtime = { readonly downMs: number; readonly rssMiB: number };

const rows: readonly Data[] = [
  { title: 'an empty volume', fill: () => {}, aim: 2, runs: 5 },
  { title: '50 MB', fill: (place) => blocks(place, 5), aim: 2, runs: 3 },
  { title: '1 GB', fill: (place) => blocks(place, 100), aim: 2, runs: 3 },
  { title: '50,000 files', fill: (place) => files(place, 50_000), aim: 2, runs: 3 },
];

/** How much longer a container is down for the copy of its data, on a disk of its own. */
describeInLab('downtime of an update that copies data', (lab) => {
  const { registry } = lab;
  const image = `${registry.host}/bench/data:stable`;

  describe.each([
    ['ext4', ['mkfs.ext4', '-q', '-F']],
    ['xfs', ['mkfs.xfs', '-q', '-f']],
    ['btrfs', ['mkfs.btrfs', '-q', '-f']],
  ] as const)('on %s', (kind, [format, ...options]) => {
    test.each(rows)('$title', async ({ title, fill, aim, runs }) => {
      const name = `${kind}${rows.findIndex((row) => row.title === title)}`;
      const folder = join(lab.dir, name, 'data');
      const file = join(lab.dir, `${name}.disk`);
      mkdirSync(folder, { recursive: true });
      execFileSync('truncate', ['--size', '6G', file]);
      execFileSync(format, [...options, file]);
      execFileSync('mount', ['-o', 'loop', file, folder]);
      const engine = await lab.startEngine({ name });
      onTestFinished(async () => {
        await engine.remove();
        rmSync(file);
      });
      const helper = await provideDataHelper(engine, registry.host, catalogue['data-helper']);
      const measured: { bare: Downtime; copying: Downtime; floorMs: number }[] = [];
      for (let run = 0; run < runs; run += 1) {
        const bare = await update(engine, {});
        const copying = await update(engine, { fill, args: ['--data', 'volumes', '--data-image', helper] });
        measured.push({ bare, copying, floorMs: bare.downMs + bareCopyMs(folder, fill) });
      }
      const of = (read: (one: (typeof measured)[number]) => number) => median(measured.map(read));
      const [downMs, bareMs] = [of(({ copying }) => copying.downMs), of(({ bare }) => bare.downMs)];
      reportRatio(
        `downtime with a copy of ${title} on ${kind}`,
        downMs,
        of(({ floorMs }) => floorMs),
        aim,
      );
      console.log(`a copy of ${title} on ${kind}: ${downMs - bareMs} ms more downtime than an update without data`);
      const [rss, bareRss] = [of(({ copying }) => copying.rssMiB), of(({ bare }) => bare.rssMiB)];
      console.log(`a copy of ${title} on ${kind}: ${rss.toFixed(0)} MiB resident, ${bareRss.toFixed(0)} without data`);
    });
  });

  async function update(
    engine: EngineClient & { readonly socket: string },
    { fill = () => {}, args = [] }: { readonly fill?: Data['fill']; readonly args?: readonly string[] },
  ): Promise<Downtime> {
    for (const path of ['/containers/web?force=1&v=1', '/volumes/kept?force=1']) await engine.call('DELETE', path);
    await pushImage(registry, 'bench/data', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 1, HostConfig: { Binds: ['kept:/data'] } });
    const place = String((await engine.inspect('web'))?.Mounts[0]?.['Source']);
    fill(place);
    execFileSync('sync', ['-f', place]);
    await pushImage(registry, 'bench/data', 'stable', catalogue['plain-v2']);
    let rssMiB = 0;
    const { stdout, stderr, code } = await runUpkeep(['update', '--json', '--health-window', '100ms', ...args], {
      socket: engine.socket,
      onStart: (child) => {
        const timer = setInterval(() => (rssMiB = Math.max(rssMiB, peakMiB(child.pid))), 20);
        child.on('exit', () => clearInterval(timer));
      },
    });
    expect(code, stderr + stdout).toBe(0);
    const { containers } = JSON.parse(stdout) as { containers: { down_ms: number }[] };
    return { downMs: containers[0]!.down_ms, rssMiB };
  }
});

function bareCopyMs(folder: string, fill: Data['fill']): number {
  const scratch = mkdtempSync(join(folder, 'bare-'));
  mkdirSync(join(scratch, 'from'));
  fill(join(scratch, 'from'));
  execFileSync('sync', ['-f', scratch]);
  const beganMs = performance.now();
  execFileSync('cp', ['-a', '--reflink=auto', join(scratch, 'from'), join(scratch, 'to')]);
  execFileSync('sync', ['-f', scratch]);
  const tookMs = performance.now() - beganMs;
  rmSync(scratch, { recursive: true });
  return tookMs;
}

/** Files of 10 MB. */
function blocks(place: string, count: number): void {
  const block = Buffer.alloc(10_000_000, 'data');
  for (let number = 0; number < count; number += 1) writeFileSync(join(place, `block-${number}`), block);
}

/** Of a kilobyte, in folders of a thousand. */
function files(place: string, count: number): void {
  const content = Buffer.alloc(1024, 'x');
  for (let number = 0; number < count; number += 1) {
    const folder = join(place, String(Math.floor(number / 1000)));
    if (number % 1000 === 0) mkdirSync(folder);
    writeFileSync(join(folder, String(number)), content);
  }
}

/** 0 once the process has ended. */
function peakMiB(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
