import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { commandsOf } from '../../support/pages/pages.ts';
import { effectsScene } from '../effects/scene.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const tokens = { api: 'token-of-the-api', events: 'token-of-the-events' };
const port = 18_789;

/** Runs the commands of the README's list unchanged, one after another. */
describeInLab('the commands of the README', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'readme');
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'upkeep-readme-'));
    const program = `#!/bin/sh\nexec "${process.execPath}" "${root}dist/main.js" "$@"\n`;
    writeFileSync(join(folder, 'upkeep'), program, { mode: 0o755 });
  });
  afterEach(() => engine.clear());
  afterAll(() => rmSync(folder, { recursive: true }));

  test('do what is said beside them', async () => {
    const [web, db] = [await stale('web'), await stale('db')];
    const environment: Record<string, string> = {
      PATH: `${folder}:${process.env['PATH']}`,
      HOME: folder,
      DOCKER_HOST: `unix://${engine.socket}`,
      UPKEEP_HEALTH_WINDOW: '1s',
      NO_COLOR: '1',
    };
    const section = /^## Commands(\n.*?)^## /ms.exec(readFileSync(join(root, 'README.md'), 'utf8'))?.[1] ?? '';
    const commands = commandsOf(section).map((command) => command.replace(/ +#.*$/, ''));
    const say = async (command: string, isDone: (output: string) => boolean = () => false) => {
      expect(commands).toContain(command);
      const { code, output } = await type(command, environment, isDone);
      expect([command, code]).toEqual([command, 0]);
      return output;
    };
    const imageOf = async (name: string) => (await inspect(name)).Image;

    expect(await say('upkeep check')).toContain('2 containers: 2 updates ready');
    expect(await say('upkeep update --dry-run')).toContain('Nothing was changed');
    expect([await imageOf('web'), await imageOf('db')]).toEqual([web.Image, db.Image]);
    expect(await say('upkeep update')).toContain('2 updated');
    const updated = await imageOf('web');
    expect(updated).not.toBe(web.Image);
    expect(await say('upkeep update web db')).toContain('2 up to date');
    await say('upkeep rollback web');
    expect(await imageOf('web')).toBe(web.Image);
    await say('upkeep recover');
    await say('upkeep run', (output) => output.includes('Next update in'));
    await say('upkeep run --run-once');
    expect(await say('upkeep containers')).toMatch(/^web .*^db /ms);
    expect(await say('upkeep config')).toContain('health-window');

    expect(commands).toHaveLength(11);
    expect(section.replaceAll(/\s+/g, ' ')).toContain('set `UPKEEP_URL` to its address, and `UPKEEP_TOKEN`');
    environment['UPKEEP_URL'] = `http://127.0.0.1:${port}`;
    environment['UPKEEP_TOKEN'] = tokens.api;
    const service = serve();
    onTestFinished(() => void service.child.kill('SIGTERM'));
    await service.seen('"listening"');
    const post = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers: { Authorization: `Bearer ${tokens.api}` } });
    await post('/v1/update');
    expect((await type('upkeep history', environment)).output).toContain('web went back to v1 (v1 → v2)');
    const checks = setInterval(() => void post('/v1/check'), 1000);
    onTestFinished(() => clearInterval(checks));
    const events = `upkeep events --token ${tokens.events}`;
    // On SIGTERM, `events` ends with 143.
    expect(await type(events, environment, (output) => output.includes('Checking for updates'))).toMatchObject({
      code: 143,
    });
  });

  function serve() {
    const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', String(port)];
    const env = { UPKEEP_HTTP_API_TOKEN: tokens.api, UPKEEP_HTTP_API_EVENTS_TOKEN: tokens.events };
    return startUpkeep(['run', ...api], { socket: engine.socket, env });
  }
});

type Typed = { readonly code: number | null; readonly output: string };

/** Runs a command in a shell. A command that does not end is stopped after its first work. */
function type(
  command: string,
  env: Readonly<Record<string, string>>,
  isDone: (output: string) => boolean = () => false,
): Promise<Typed> {
  const child = spawn('bash', ['-c', `exec ${command}`], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let isAsked = false;
  const onEvent = (chunk: Buffer) => {
    output += chunk.toString();
    if (isAsked || !isDone(output)) return;
    isAsked = true;
    child.kill('SIGTERM');
  };
  child.stdout.on('data', onEvent);
  child.stderr.on('data', onEvent);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
