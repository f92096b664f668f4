import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ask } from '../support/http/http-scene.ts';
import { runUpkeep, startUpkeep, type UpkeepProcess } from '../support/scene/run-upkeep.ts';

let folder: string;
let running: UpkeepProcess | undefined;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'upkeep-first-')), 'state');
});
afterEach(async () => {
  await stop();
  rmSync(join(folder, '..'), { recursive: true, force: true });
});

async function stop(): Promise<void> {
  running?.child.kill('SIGTERM');
  await running?.ended;
  running = undefined;
}

/** A service without an engine serves its page, too. */
async function start(more: readonly string[] = []): Promise<string> {
  const options = ['--state-dir', folder, '--http-api-port', '0', '--http-api-host', '127.0.0.1', ...more];
  running = startUpkeep(['run', '--http-api-endpoints', 'all', ...options], { socket: join(tmpdir(), 'no-engine') });
  await running.seen('The page is at');
  return /http:\/\/127\.0\.0\.1:\d+/.exec(running.output())?.[0] ?? '';
}

const token = async () => (await runUpkeep(['token', '--state-dir', folder])).stdout.trim();

function signIn(url: string, secret: string) {
  const headers = { origin: url, 'x-upkeep-page': '1' };
  const body = JSON.stringify({ secret, keep: true });
  return ask(url, '/v1/session', { method: 'POST', token: null, headers, body });
}

const modeOf = (file: string): string => (statSync(join(folder, file)).mode & 0o777).toString(8);

describe('the first start with a state folder and without a token', () => {
  test('makes the tokens for the owner alone, and says how to see the one for the page', async () => {
    const url = await start();
    expect(running?.output()).toMatch(
      /The page is at http:\/\/127\.0\.0\.1:\d+\/: sign in with the token that \\?"upkeep token\\?" shows/,
    );
    expect([modeOf('token'), modeOf('events-token')]).toEqual(['600', '600']);
    const made = await token();
    expect(made).toMatch(/^[\da-f]{64}$/);
    expect(running?.output()).not.toContain(made);
    expect((await ask(url, '/v1/config', { token: made })).status).toBe(200);
    expect((await ask(url, '/v1/events', { token: made, method: 'HEAD' })).status).toBe(401);
    const events = readFileSync(join(folder, 'events-token'), 'utf8').trim();
    expect((await ask(url, '/v1/events', { token: events, method: 'HEAD' })).status).toBe(200);
  });

  test('is the only one that makes them; sessions survive the next one, and a given token wins', async () => {
    const url = await start();
    const made = await token();
    const cookie = String((await signIn(url, made)).headers['set-cookie']?.[0]).split(';')[0] ?? '';
    await stop();
    const again = await start();
    expect(await token()).toBe(made);
    expect((await ask(again, '/v1/config', { token: null, headers: { cookie } })).status).toBe(200);
    expect(readFileSync(join(folder, 'sessions.jsonl'), 'utf8')).not.toContain(cookie.split('=')[1]);
    expect(modeOf('sessions.jsonl')).toBe('600');
    await stop();
    const given = await start(['--http-api-token', 'a-token-of-the-right-length']);
    expect((await ask(given, '/v1/config', { token: made })).status).toBe(401);
    // The token that the session was made with is not valid any more.
    expect((await ask(given, '/v1/config', { token: null, headers: { cookie } })).status).toBe(401);
  });

  test.each<[string, (path: string) => void]>([
    ['a folder', (path) => mkdirSync(path)],
    ['a pipe', (path) => void spawnSync('mkfifo', [path])],
    ['a link to nothing', (path) => symlinkSync('nowhere', path)],
  ])('is refused where a token is %s, which says so', async (_, make) => {
    mkdirSync(folder, { recursive: true });
    make(join(folder, 'token'));
    running = startUpkeep(['run', '--http-api-endpoints', 'all', '--state-dir', folder, '--http-api-port', '0'], {
      socket: join(tmpdir(), 'no-engine'),
    });
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('Cannot make the token of the HTTP API')]);
  });
});

describe('upkeep password', () => {
  const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
  const set = (password: string) =>
    spawnSync(process.execPath, [main, 'password', '--state-dir', folder], {
      input: `${password}\n`,
      encoding: 'utf8',
    });

  test('lets the running service accept it at once, and a newer one instead of it', async () => {
    const url = await start();
    expect((await signIn(url, 'correct horse')).status).toBe(401);
    expect(set('correct horse').status).toBe(0);
    expect([modeOf('password'), readFileSync(join(folder, 'password'), 'utf8')]).toEqual([
      '600',
      expect.stringMatching(/^scrypt:\d+:[^:]+:[^:]+\n$/),
    ]);
    const reply = await signIn(url, 'correct horse');
    expect(reply.status).toBe(201);
    const cookie = String(reply.headers['set-cookie']?.[0]).split(';')[0] ?? '';
    const isIn = async () => (await ask(url, '/v1/config', { token: null, headers: { cookie } })).status;
    expect(await isIn()).toBe(200);
    expect(set('battery staple').status).toBe(0);
    expect([await isIn(), (await signIn(url, 'correct horse')).status]).toEqual([401, 401]);
    expect((await signIn(url, 'battery staple')).status).toBe(201);
    expect(running?.output()).not.toMatch(/correct horse|battery staple/);
  });

  test('prints the line without a folder, and refuses a short one', () => {
    const printed = spawnSync(process.execPath, [main, 'password'], { input: 'correct horse\n', encoding: 'utf8' });
    expect(printed.stdout).toMatch(/^scrypt:/);
    const short = set('short');
    expect([short.status, short.stderr]).toEqual([2, expect.stringContaining('fewer than 8 characters')]);
  });
});

test('upkeep token without a token says what to do', async () => {
  const { code, stderr } = await runUpkeep(['token']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('--state-dir')]);
});
