import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';

/** A program called `ssh` that is found first, and connects its input and output with the socket, or fails. */
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

  const started = (): string[] => readFileSync(join(dir, 'started'), 'utf8').trim().split('\n');

  function isAlive(line: string): boolean {
    try {
      process.kill(Number.parseInt(line, 10), 0);
      return true;
    } catch {
      return false;
    }
  }

  test('answers, over sessions that are used again and end with close()', async () => {
    const { server } = await connectedEngine({ script: { 'GET /containers/json': [], '*': {} } });
    fakeSsh(toSocket(server.socketPath));
    const engine = engineAt('ssh://me@host:2222');
    for (let n = 0; n < 3; n++) expect(await engine.listContainers()).toEqual([]);
    for (let n = 0; n < 3; n++) expect(await engine.startContainer('id')).toEqual({ kind: 'done' });
    expect(started()).toHaveLength(2);
    expect(started()[0]).toContain('-p 2222 -l me -- host docker system dial-stdio');
    expect(started().filter(isAlive)).toHaveLength(2);
    await engine.close();
    await expect.poll(() => started().filter(isAlive)).toEqual([]);
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
    await expect.poll(() => started().filter(isAlive)).toEqual([]);
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
    await expect.poll(() => started().filter(isAlive)).toEqual([]);
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
    expect(started().filter(isAlive)).toHaveLength(2);
    abort.abort('enough');
    await expect(list).rejects.toBe('enough');
    await expect.poll(() => started().filter(isAlive)).toHaveLength(1);
  });
});
