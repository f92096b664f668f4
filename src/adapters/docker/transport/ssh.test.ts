import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';

/** A fake `ssh`, first on the PATH, connects its input and output to the socket, or fails. */
describe('an engine behind ssh', () => {
  const path = process.env['PATH'];
  let dir: string;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'ssh-'));
    process.env['PATH'] = `${dir}:${path}`;
  });

  afterEach(() => {
    process.env['PATH'] = path;
    rmSync(dir, { recursive: true });
  });

  function fakeSsh(body: string): void {
    const script = `#!${process.execPath}
const fs = require('node:fs');
fs.appendFileSync(${JSON.stringify(join(dir, 'started'))}, process.pid + ' ' + process.argv.slice(2).join(' ') + '\\n');
${body}
`;
    writeFileSync(join(dir, 'ssh'), script);
    chmodSync(join(dir, 'ssh'), 0o755);
  }

  const toSocket = (socketPath: string): string => `
const socket = require('node:net').connect(${JSON.stringify(socketPath)});
process.stdin.pipe(socket).pipe(process.stdout);
socket.on('close', (failed) => process.exit(failed ? 1 : 0));`;

  test('does not see the variables of Upkeep', async () => {
    process.env['UPKEEP_REPO_PASS'] = 'hunter2';
    fakeSsh(`fs.writeFileSync(${JSON.stringify(join(dir, 'env'))}, JSON.stringify(process.env)); process.exit(255);`);
    const engine = engineAt('ssh://server');
    await engine.ping().catch(() => undefined);
    delete process.env['UPKEEP_REPO_PASS'];
    expect(readFileSync(join(dir, 'env'), 'utf8')).not.toContain('hunter2');
  });

  const started = (): string[] => readFileSync(join(dir, 'started'), 'utf8').trim().split('\n');

  const alive = (): string[] => started().filter(isAlive);

  function isAlive(line: string): boolean {
    try {
      process.kill(Number.parseInt(line, 10), 0);
      return true;
    } catch {
      return false;
    }
  }

  test('answers, over a session that is used again and ends with close()', async () => {
    const { server } = await connectedEngine({ script: { 'GET /containers/json': [], '*': {} } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://me@host:2222');
    for (let n = 0; n < 3; n++) expect(await engine.listContainers()).toEqual([]);
    for (let n = 0; n < 3; n++) expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(started()).toHaveLength(1);
    expect(started()[0]).toContain('-p 2222 -l me -- host docker system dial-stdio');
    expect(alive()).toHaveLength(1);
    await engine.close();
    await expect.poll(alive).toEqual([]);
  });

  test('asks over two sessions at most, which end after ten seconds without use', async () => {
    const clock = createFakeClock();
    const { server } = await connectedEngine({ script: { '*': [] } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host', { clock });
    await Promise.all(Array.from({ length: 20 }, () => engine.listContainers()));
    expect(started()).toHaveLength(2);
    await clock.advance(9_000);
    await engine.listContainers();
    await clock.advance(9_999);
    await expect.poll(alive).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(alive).toEqual([]);
    await engine.listContainers();
    expect(started()).toHaveLength(3);
  });

  test('calls that last wait for nobody and leave reads a session, and two are kept when they have ended', async () => {
    const held: ServerResponse[] = [];
    const script = {
      'GET /containers/json': [],
      '*': (_: unknown, response: ServerResponse) => void held.push(response),
    };
    const { server } = await connectedEngine({ script });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host');
    const calls = ['a', 'b', 'c'].map((id) => engine.startContainer(id));
    await expect.poll(() => held.length, { timeout: 10_000 }).toBe(3);
    await Promise.all(Array.from({ length: 10 }, () => engine.listContainers()));
    expect(started()).toHaveLength(4);
    for (const response of held) response.end('{}');
    expect(await Promise.all(calls)).toEqual(calls.map(() => ({ kind: 'done' })));
    await expect.poll(alive).toHaveLength(2);
  });

  test('a read that waits for a session ends with its signal and with the connection', async () => {
    const { server } = await connectedEngine({ script: { '*': () => undefined } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host', { deadlines: { readMs: 60_000 } });
    const first = [engine.listContainers(), engine.listContainers()].map((list) => list.catch(String));
    await expect.poll(() => server.requests.length, { timeout: 10_000 }).toBe(2);
    const abort = new AbortController();
    const third = engine.listContainers({}, abort.signal);
    const fourth = engine.listContainers();
    abort.abort('enough');
    await expect(third).rejects.toBe('enough');
    await engine.close();
    await expect(fourth).rejects.toThrow('the connection has been closed');
    await Promise.all(first);
    expect(server.requests).toHaveLength(2);
  });

  test('uses podman where there is no docker, says the first request to it again, and remembers it', async () => {
    const { server } = await connectedEngine({ script: { '*': {} } });
    const missing = `if (process.argv.at(-1).startsWith('docker')) {
  process.stderr.write('sh: 1: docker: not found\\n');
  process.exit(127);
}`;
    fakeSsh(missing + toSocket(server.socketPath));
    const engine = engineAt('ssh://host');
    expect(await engine.updateRestartPolicy('id', { Name: 'always', MaximumRetryCount: 0 })).toEqual({ kind: 'done' });
    server.cut();
    await expect.poll(alive).toEqual([]);
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(started().map((line) => line.split(' ').slice(-3).join(' '))).toEqual([
      'docker system dial-stdio',
      'podman system dial-stdio',
      'podman system dial-stdio',
    ]);
    expect(server.requests.map(({ path, body }) => [path, body])).toEqual([
      ['/containers/id/update', { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } }],
      ['/containers/id/start', undefined],
    ]);
  });

  test('tells that the other host has neither', async () => {
    fakeSsh(`process.stderr.write('sh: 1: ' + process.argv.at(-1).split(' ')[0] + ': not found'); process.exit(127);`);
    await expect(engineAt('ssh://host').info()).rejects.toThrow(
      'Cannot reach the container engine at "ssh://host": neither "docker" nor "podman" can be run there: sh: 1: podman: not found',
    );
  });

  test('carries large answers and event streams', async () => {
    const labels = { large: 'x'.repeat(3_000_000) };
    const script = {
      'GET /info': {},
      'GET /containers/json': [{ Id: 'id', Labels: labels }],
      'GET /events': (_: unknown, response: ServerResponse) =>
        void response.write('{"Type":"container","Action":"start","Actor":{"ID":"id"},"time":1}\n'),
    };
    const { server } = await connectedEngine({ script });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host');
    expect((await engine.listContainers())[0]?.labels).toEqual(labels);
    const abort = new AbortController();
    const kinds: string[] = [];
    for await (const event of engine.events(abort.signal)) {
      kinds.push(event.kind);
      if (event.kind === 'container') abort.abort();
    }
    expect(kinds).toEqual(['connected', 'container']);
    await engine.close();
    await expect.poll(alive).toEqual([]);
  });

  test('tells in the words of ssh why it cannot be reached', async () => {
    fakeSsh(`process.stderr.write('me@host: Permission denied\\u001b[31m (publickey).\\r\\n'); process.exit(255);`);
    await expect(engineAt('ssh://me@host').info()).rejects.toMatchObject({
      code: 'engine-unreachable',
      message: String.raw`Cannot reach the container engine at "ssh://me@host": ssh ended with 255: me@host: Permission denied\x1b[31m (publickey).`,
    });
    expect(await engineAt('ssh://me@host').startContainer('id')).toMatchObject({ kind: 'refused', status: 503 });
  });

  test('tells that there is no ssh', async () => {
    process.env['PATH'] = dir;
    await expect(engineAt('ssh://me@host').info()).rejects.toThrow('the program "ssh" cannot be run');
  });

  test('never sends a change twice, also when a session that was used before breaks off', async () => {
    const { server } = await connectedEngine({ script: { '*': {} } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host');
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    server.script({ '*': (_, response) => void response.destroy() });
    expect(await engine.startContainer('id')).toMatchObject({ kind: 'unknown' });
    expect(server.requests).toHaveLength(2);
    expect(started()).toHaveLength(1);
  });

  test('opens another session when the far end has closed the last one', async () => {
    const { server } = await connectedEngine({ script: { '*': {} } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host');
    await engine.startContainer('id');
    server.cut();
    await expect.poll(alive).toEqual([]);
    expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(started()).toHaveLength(2);
  });

  test('ends the child when a call is abandoned', async () => {
    const { server } = await connectedEngine({ script: { '*': () => undefined } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://host');
    const abort = new AbortController();
    const list = engine.listContainers({}, abort.signal);
    await expect.poll(() => server.requests.length, { timeout: 4_000 }).toBe(1);
    expect(alive()).toHaveLength(1);
    abort.abort('enough');
    await expect(list).rejects.toBe('enough');
    await expect.poll(alive).toEqual([]);
  });
});
