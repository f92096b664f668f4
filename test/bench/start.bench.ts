import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startScriptedEngine, type ScriptedEngine } from '../support/engine/scripted-engine.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { cpuMsOf } from '../support/scene/process-use.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';
import { imageNode } from './rig/image-node.ts';
import { median, reportRatio } from './rig/ratios.ts';

/**
 * Starts of the built program as whole processes, in turn with an empty program. The aims are 0.6 of the time of a
 * program of separate modules. A check spends much time on reading certificates for TLS. Run `npm run build` first.
 */

const runs = 21;
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const digest = `sha256:${'d'.repeat(64)}`;
const imageId = `sha256:${'1'.repeat(64)}`;
const id = 'c'.repeat(64);

let registry: Server;
let engine: ScriptedEngine;

beforeAll(async () => {
  registry = createServer((_, response) => {
    response.writeHead(200, {
      'content-type': 'application/vnd.oci.image.index.v1+json',
      'docker-content-digest': digest,
    });
    response.end();
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  const repository = `127.0.0.1:${(registry.address() as AddressInfo).port}/bench/web`;
  const Config = { Image: `${repository}:stable`, Labels: {}, Env: [] };
  const named = { RepoTags: [Config.Image], RepoDigests: [`${repository}@${digest}`] };
  const State = {
    Status: 'running',
    Running: true,
    StartedAt: '2026-01-01T00:00:00Z',
    FinishedAt: '0001-01-01T00:00:00Z',
  };
  engine = await startScriptedEngine({
    script: {
      'GET /info': { Name: 'bench', OSType: 'linux', Architecture: 'x86_64', RegistryConfig: {} },
      'GET /containers/json': [
        { Id: id, Names: ['/web'], Image: Config.Image, ImageID: imageId, Labels: {}, State: 'running', Created: 0 },
      ],
      [`GET /containers/${id}/json`]: {
        Id: id,
        Name: '/web',
        Image: imageId,
        Created: '2026-01-01T00:00:00Z',
        RestartCount: 0,
        State,
        Config,
        HostConfig: { NetworkMode: 'bridge' },
        NetworkSettings: { Networks: {} },
        Mounts: [],
      },
      'GET /images/json': [{ Id: imageId, ...named }],
      [`GET /images/${imageId}/json`]: {
        Id: imageId,
        ...named,
        Created: '2026-01-01T00:00:00Z',
        Os: 'linux',
        Architecture: 'amd64',
        Config: {},
      },
    },
  });
});
afterAll(async () => {
  await engine.close();
  registry.close();
});

test.each([
  ['upkeep --help', ['--help'], 'Usage: upkeep', 2],
  ['upkeep check of one container', ['check'], '1 up to date', 7.5],
] as const)('%s', async (what, args, expected, aim) => {
  const [floors, times] = [[] as number[], [] as number[]];
  for (let run = 0; run <= runs; run += 1) {
    const floor = await timed(['-e', '0']);
    const time = await timed([main, ...args, ...(args[0] === 'check' ? ['--host', engine.host] : [])], expected);
    if (run === 0) continue;
    floors.push(floor);
    times.push(time);
  }
  reportRatio(what, median(times), median(floors), aim);
});

test('processor time as in the image: until ready, and for the first check of fifty images', async () => {
  const repository = `127.0.0.1:${(registry.address() as AddressInfo).port}/bench/many`;
  const numbers = Array.from({ length: 50 }, (_, number) => number.toString(16).padStart(2, '0'));
  const images = numbers.map((number) => ({
    Id: `sha256:${number.repeat(32)}`,
    RepoTags: [`${repository}${number}:stable`],
    RepoDigests: [`${repository}${number}@${digest}`],
    Created: 0,
    Labels: {},
  }));
  const containers = images.map(({ Id, RepoTags: [Image] }, place) => ({
    Id: numbers[place]?.repeat(32),
    Names: [`/web${place}`],
    Image,
    ImageID: Id,
    Labels: {},
    State: 'running',
    Created: 0,
  }));
  const many = await startScriptedEngine({
    script: {
      'GET /info': { Name: 'bench', OSType: 'linux', Architecture: 'x86_64', RegistryConfig: {} },
      'GET /containers/json': containers,
      'GET /images/json': images,
    },
  });
  onTestFinished(() => many.close());
  const inImage = imageNode();
  const [ready, first]: [number[], number[]] = [[], []];
  for (let run = 0; run < runs; run += 1) {
    const api = ['--http-api-endpoints', 'health,check', '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', ...api], { socket: many.socketPath, ...inImage });
    await service.seen('50 containers watched');
    ready.push(cpuMsOf(service));
    const url = /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
    const before = cpuMsOf(service);
    const { status, text } = await ask(url, '/v1/check', { method: 'POST' });
    expect(status, text).toBe(200);
    first.push(cpuMsOf(service) - before);
    service.child.kill('SIGTERM');
    await service.ended;
  }
  console.log(`until the service is ready: ${median(ready)} ms of CPU (aim 200)`);
  console.log(`the first check of fifty images: ${median(first)} ms of CPU (aim 150)`);
});

async function timed(args: readonly string[], expected = ''): Promise<number> {
  const begunAt = performance.now();
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { HOME: '/nonexistent' } });
  const tookMs = performance.now() - begunAt;
  expect(stdout).toContain(expected);
  return tookMs;
}
