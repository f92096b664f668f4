import type { PullProgress } from '../../../domain/run/event.ts';
import type { ServerResponse } from 'node:http';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { refuse, type Answer } from '../../../../test/support/engine/scripted-engine.ts';
import { createPullProgress } from './images.ts';

/** Writes lines as Docker does, and ends. */
const streams =
  (...lines: object[]): Answer =>
  (_, response) => {
    for (const line of lines) response.write(`${JSON.stringify(line)}\r\n`);
    response.end();
  };

const reference = 'registry.test:5000/team/app:1';

describe('pullImage()', () => {
  test.each([
    [reference, { fromImage: 'registry.test:5000/team/app', tag: '1' }],
    ['nginx', { fromImage: 'docker.io/library/nginx', tag: 'latest' }],
    [`nginx@sha256:${'a'.repeat(64)}`, { fromImage: 'docker.io/library/nginx', tag: `sha256:${'a'.repeat(64)}` }],
    [`nginx:1@sha256:${'a'.repeat(64)}`, { fromImage: 'docker.io/library/nginx', tag: `sha256:${'a'.repeat(64)}` }],
  ])('asks for %s, and never for all tags', async (wanted, query) => {
    const { engine, server } = await connectedEngine({ script: { '*': streams({ status: 'Status: done' }) } });
    await engine.pullImage({ reference: wanted });
    expect(server.requests).toMatchObject([{ method: 'POST', path: '/images/create' }]);
    expect(server.requests[0]?.query).toEqual(query);
    expect(server.requests[0]?.headers['x-registry-auth']).toBeUndefined();
  });

  test('names a platform only when asked to', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': streams() } });
    await engine.pullImage({ reference, platform: { os: 'linux', architecture: 'arm64', variant: '' } });
    expect(server.requests[0]?.query['platform']).toBe('linux/arm64');
  });

  test('hands over credentials in base64 for URLs', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': streams() } });
    const serverAddress = 'registry.test:5000';
    const username = 'ü???>>>';
    await engine.pullImage({ reference, credentials: { kind: 'password', username, password: 's~~e', serverAddress } });
    await engine.pullImage({
      reference,
      credentials: { kind: 'identity-token', username: '<token>', identityToken: 'it', serverAddress },
    });
    await engine.pullImage({ reference, credentials: { kind: 'registry-token', registryToken: 'rt', serverAddress } });
    const sent = server.requests.map(({ headers }) => String(headers['x-registry-auth']));
    for (const header of sent) expect(header).toMatch(/^[A-Za-z0-9_-]+=*$/);
    expect(sent.map((header) => JSON.parse(Buffer.from(header, 'base64url').toString()))).toEqual([
      { username, password: 's~~e', serveraddress: serverAddress },
      { username: '<token>', identitytoken: 'it', serveraddress: serverAddress },
      { registrytoken: 'rt', serveraddress: serverAddress },
    ]);
  });

  test('adds up the layers', async () => {
    const { engine } = await connectedEngine({
      script: {
        '*': streams(
          { status: 'Pulling from team/app', id: '1' },
          { status: 'Already exists', progressDetail: {}, id: 'a' },
          { status: 'Pulling fs layer', progressDetail: {}, id: 'b' },
          { status: 'Downloading', progressDetail: { current: 10, total: 100 }, id: 'b' },
          { status: 'Downloading', progressDetail: { current: 999, total: 100 }, id: 'b' },
          { status: 'Downloading', progressDetail: { current: -5, total: 'x' }, id: 'b' },
          { status: 'Download complete', progressDetail: {}, id: 'b' },
          { status: 'Extracting', progressDetail: { current: 50, total: 400 }, id: 'b' },
          { status: 'Pull complete', progressDetail: {}, id: 'b' },
          { status: 'Digest: sha256:1' },
          { status: 'Status: Downloaded newer image' },
        ),
      },
    });
    const seen: PullProgress[] = [];
    await engine.pullImage({ reference, onProgress: (progress) => seen.push(progress) });
    expect(seen.map(({ layersDone, layers, bytes, totalBytes }) => [layersDone, layers, bytes, totalBytes])).toEqual([
      [1, 1, 0, 0],
      [1, 2, 0, 0],
      [1, 2, 10, 100],
      [1, 2, 100, 100],
      [1, 2, 0, 100],
      [1, 2, 100, 100],
      [1, 2, 100, 100],
      [2, 2, 100, 100],
    ]);
  });

  test.each([
    ['errorDetail', { errorDetail: { message: 'error pulling image: toomanyrequests' }, error: 'x' }, 'limits'],
    ['error', { error: 'unauthorized: authentication required' }, 'docker login'],
    ['error', { error: 'write /data: no space left on device' }, 'Free space'],
  ])('throws for an %s in the middle of the stream', async (_, line, remedy) => {
    const { engine } = await connectedEngine({ script: { '*': streams({ status: 'Downloading' }, line) } });
    await expect(engine.pullImage({ reference })).rejects.toMatchObject({
      code: 'pull-failed',
      message: expect.stringMatching(/^Cannot pull "registry\.test:5000\/team\/app:1": /),
      remedy: expect.stringContaining(remedy),
    });
  });

  test('throws for an early error, with the words of the registry, bounded', async () => {
    const { engine } = await connectedEngine({
      script: { '*': (_, response) => refuse(response, 404, `manifest unknown\n\u001B[2J${'x'.repeat(100_000)}`) },
    });
    const error: unknown = await engine.pullImage({ reference }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'pull-failed', remedy: expect.stringContaining('the tag') });
    expect(String(error)).toMatch(/manifest unknown\\n\\x1b\[2Jxxx/);
    expect(String(error).length).toBeLessThan(1_200);
  });

  test.each([
    [403, 'Access denied to resource'],
    [403, 'Forbidden'],
    [403, 'authorization denied by plugin opa: access denied'],
    [405, 'Method Not Allowed'],
  ])('says that the proxy or a plugin forbids it, and asks for no login: %i %s', async (status, message) => {
    const { engine } = await connectedEngine({ script: { '*': (_, response) => refuse(response, status, message) } });
    await expect(engine.pullImage({ reference })).rejects.toMatchObject({
      code: 'engine-denied',
      message: `Cannot pull "${reference}": the engine forbids it: ${status}, "${message}"`,
      remedy: expect.not.stringContaining('login'),
    });
  });

  test.each([
    [401, 'unauthorized: authentication required'],
    [403, 'forbidden: authentication required for team/app'],
    [
      404,
      'pull access denied for team/app, repository does not exist or may require docker login: denied: requested access',
    ],
    [500, 'Head "https://registry.test:5000/v2/team/app/manifests/1": unauthorized: access denied'],
  ])('and asks for a login where the registry wants one: %i %s', async (status, message) => {
    const { engine } = await connectedEngine({ script: { '*': (_, response) => refuse(response, status, message) } });
    await expect(engine.pullImage({ reference })).rejects.toMatchObject({
      code: 'pull-failed',
      remedy: expect.stringContaining('docker login'),
    });
  });

  test('throws when the stream breaks off: half an image is none', async () => {
    const { engine } = await connectedEngine({
      script: {
        '*': (_, response) => {
          response.write('{"status":"Downloading"}\r\n');
          setTimeout(() => response.destroy(), 5);
        },
      },
    });
    await expect(engine.pullImage({ reference })).rejects.toMatchObject({ code: 'engine-unreachable' });
  });

  test('lasts as long as something is said, and gives up in silence', async () => {
    const clock = createFakeClock();
    const responses: ServerResponse[] = [];
    const { engine } = await connectedEngine(
      { script: { '*': (_, response) => void responses.push(response) } },
      { clock },
    );
    let lines = 0;
    let outcome: unknown = 'under way';
    const pull = engine.pullImage({ reference, idleTimeoutMs: 60_000, onProgress: () => (lines += 1) });
    pull.then(
      () => (outcome = 'done'),
      (error: unknown) => (outcome = error),
    );
    await expect.poll(() => responses.length).toBe(1);
    for (let n = 1; n <= 4; n++) {
      responses[0]?.write('{"status":"Waiting","id":"a"}\r\n');
      await expect.poll(() => lines).toBe(n);
      await clock.advance(59_000);
    }
    expect(outcome).toBe('under way');
    await clock.advance(1_000);
    await expect
      .poll(() => outcome)
      .toMatchObject({
        code: 'pull-failed',
        message: `Cannot pull "${reference}": it sent nothing for 1m`,
      });
  });

  test('gives up as well when nothing is said at all', async () => {
    const { engine } = await connectedEngine({ script: { '*': () => undefined } });
    await expect(engine.pullImage({ reference, idleTimeoutMs: 30 })).rejects.toMatchObject({ code: 'pull-failed' });
  });

  test('ends with the reason of the signal, and lets the engine know', async () => {
    let left = false;
    const { engine } = await connectedEngine({
      script: {
        '*': (_, response) => {
          response.on('close', () => (left = true));
          response.write('{"status":"Downloading","id":"a"}\r\n');
        },
      },
    });
    const abort = new AbortController();
    const pull = engine.pullImage({ reference, onProgress: () => abort.abort('enough') }, abort.signal);
    await expect(pull).rejects.toBe('enough');
    await expect.poll(() => left).toBe(true);
  });

  test('refuses what is no reference before it asks', async () => {
    const { engine, server } = await connectedEngine();
    await expect(engine.pullImage({ reference: 'NO SUCH' })).rejects.toMatchObject({ code: 'invalid-input' });
    expect(server.requests).toHaveLength(0);
  });
});

const numbers = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(-1, 1e308, '7', null));
const lines = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.record({
    id: fc.constantFrom('a', 'b', '__proto__', ''),
    status: fc.constantFrom('Downloading', 'Download complete', 'Pull complete', 'Already exists', 'Extracting', 'x'),
    progressDetail: fc.record({ current: numbers, total: numbers }),
  }),
);

test('createPullProgress() tells sums that make sense, whatever the engine reports', () => {
  fc.assert(
    fc.property(fc.array(lines, { maxLength: 30 }), (report) => {
      const progress = createPullProgress();
      for (const line of report) progress.take(line);
      const { layers, layersDone, bytes, totalBytes } = progress.sum();
      expect(layersDone).toBeGreaterThanOrEqual(0);
      expect(layersDone).toBeLessThanOrEqual(layers);
      expect(bytes).toBeGreaterThanOrEqual(-1e-3);
      expect(bytes).toBeLessThanOrEqual(totalBytes + 1e-3);
      expect(Number.isFinite(totalBytes)).toBe(true);
    }),
  );
});
