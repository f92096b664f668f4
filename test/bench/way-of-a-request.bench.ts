import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';

/** Lists the source files whose functions a request calls, from V8's coverage of the executable, for docs/ARCHITECTURE.md. */
describeInLab('the way of a request', ({ engine, registry }) => {
  test('POST /v1/update?image=… of a stale container', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-way-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const image = `${registry.host}/nginx:stable`;
    await pushImage(registry, 'nginx', 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    await engine.run('web', image, { StopTimeout: 1 });
    const hook = join(folder, 'hook.cjs');
    const coverage = join(folder, 'coverage.json');
    writeFileSync(hook, hookText(coverage));
    const options = ['--http-api-update', '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', ...options], {
      socket: engine.socket,
      env: { NODE_OPTIONS: `--require=${hook}` },
    });
    await service.seen('No periodic updates');
    const url = /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
    await pushImage(registry, 'nginx', 'stable', catalogue['plain-v2']);
    service.child.kill('SIGUSR2');
    await service.seen('coverage has begun');
    const target = `/v1/update?image=${encodeURIComponent(image)}`;
    const { status, text } = await ask(url, target, { method: 'POST' });
    expect(status, text).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ summary: { updated: 1 } });
    await sleep(100);
    service.child.kill('SIGUSR2');
    await service.seen('coverage has ended');
    service.child.kill('SIGTERM');
    await service.ended;
    const files = enteredFiles(JSON.parse(readFileSync(coverage, 'utf8')) as readonly Script[]);
    console.log(`${files.length} files entered:\n${files.join('\n')}`);
  });
});

type Script = {
  readonly url: string;
  readonly functions: readonly {
    readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
  }[];
};

/** The first signal begins to count calls, the second writes the counts. */
function hookText(file: string): string {
  return `
const { Session } = require('inspector');
const session = new Session();
session.connect();
session.post('Profiler.enable');
let isOn = false;
process.on('SIGUSR2', () => {
  if (!isOn) {
    isOn = true;
    session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false }, () => console.error('coverage has begun'));
    return;
  }
  session.post('Profiler.takePreciseCoverage', (error, { result }) => {
    require('fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify(result.filter(({ url }) => url.includes('/dist/'))));
    console.error('coverage has ended');
  });
});
`;
}

/** The bundler's function for an export of a chunk. The source map assigns it to the wrong file, the one before it. */
const exportGetter = /^function\(\)\{return [\w$.]+\}\}\)/;

/** Paths under src/ of functions that were called; the loading of a file does not count. */
function enteredFiles(scripts: readonly Script[]): readonly string[] {
  const files = new Set<string>();
  for (const { url, functions } of scripts) {
    const path = url.replace('file://', '');
    if (!existsSync(`${path}.map`)) continue;
    const text = readFileSync(path, 'utf8');
    const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
    for (const { ranges } of functions) {
      const { startOffset = 0, count = 0 } = ranges[0] ?? {};
      if (count === 0 || startOffset === 0 || exportGetter.test(text.slice(startOffset))) continue;
      const before = text.slice(0, startOffset).split('\n');
      const entry = map.findEntry(before.length - 1, before.at(-1)?.length ?? 0);
      const source = 'originalSource' in entry ? entry.originalSource : basename(path);
      if (source.includes('src/') && !source.includes('node_modules')) files.add(source.slice(source.indexOf('src/')));
    }
  }
  return [...files].toSorted();
}
