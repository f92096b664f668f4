import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import { forgeCa, startFakeForge, type FakeForge } from '../support/forge/fake-forge.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import type { Reply } from '../support/http/http-server.ts';
import { runUpkeep, startUpkeep, type UpkeepProcess } from '../support/scene/run-upkeep.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

describeInLab('release notes', (lab) => {
  const { engine } = lab;
  const { stale } = effectsScene(lab, 'release-notes');
  const started: UpkeepProcess[] = [];
  let folder = '';
  let forge: FakeForge;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'release-notes-'));
    writeFileSync(join(folder, 'ca.pem'), forgeCa);
    writeFileSync(join(folder, 'token'), 'forge-secret\n');
    const releases = [
      { tag: 'v2.1.0', body: '## Features\n\n* Faster search' },
      { tag: 'v2.0.0', body: '## Breaking changes\n\n* The database moves to another folder' },
      { tag: 'v1.0.0', body: 'The first' },
    ];
    const harmless = [{ tag: 'photos-2.1.0', body: '* Only smaller things were changed' }, { tag: 'photos-1.0.0' }];
    forge = await startFakeForge({
      'git.acme.example/acme/web': { releases },
      'git.acme.example/acme/photos': { releases: harmless },
    });
  });
  afterEach(async () => {
    for (const { child, ended } of started.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    await engine.clear();
    await forge[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
  const versions = (source?: string) => {
    const labels = (version: string) => ({
      'org.opencontainers.image.version': version,
      ...(source !== undefined && { 'org.opencontainers.image.source': source }),
    });
    return {
      old: webServer('v1', { Labels: labels('1.0.0') }),
      next: webServer('v2', { Labels: labels('2.1.0') }),
    };
  };
  const options = () => [
    ...['--release-notes-hosts', 'gitea=git.acme.example', '--registry-ca', join(folder, 'ca.pem')],
    ...['--release-notes-token', `git.acme.example=${join(folder, 'token')}`, '--state-dir', folder],
  ];
  const env = () => ({ HTTPS_PROXY: forge.proxyUrl });

  test('notes of a newer version are read from the hosts that are named, with their tokens, and hold it back if they speak of breaking changes', async () => {
    const ofWeb = versions('https://git.acme.example/acme/web');
    const labelled = (Labels: Readonly<Record<string, string>>) => ({ config: { Labels } });
    await stale('web', ofWeb);
    await stale('quiet', { ...ofWeb, ...labelled({ 'upkeep.release-notes': 'off' }) });
    const own = { 'upkeep.source': 'https://git.acme.example/acme/photos', 'upkeep.source-tag': 'photos-{version}' };
    await stale('photos', { ...ofWeb, ...labelled(own) });
    await stale('unknown', versions());
    const upkeep = upkeepScene({ socket: engine.socket, env: env() });
    const update = async (...args: string[]) => (await upkeep.update(...options(), ...args)).outcomes;

    const notes = await runUpkeep(['notes', 'web', ...options()], { socket: engine.socket, env: env() });
    expect(notes.stderr).toBe('');
    expect(notes.stdout).toBe(
      `web 1.0.0 → 2.1.0 · 2 releases · https://git.acme.example/acme/web/releases/tag/v2.1.0
v2.1.0
  * Faster search
v2.0.0 BREAKING
  ! The database moves to another folder
`,
    );
    expect(forge.requests().map(({ headers }) => headers.authorization)).toEqual(['token forge-secret']);

    const first = await update('--approve', 'breaking');
    expect(first).toMatchObject({
      web: { outcome: 'skipped' },
      quiet: { outcome: 'updated' },
      photos: { outcome: 'updated' },
      unknown: { outcome: 'updated' },
    });
    expect(first['web']?.reason).toBe(
      'The notes of v2.0.0 speak of breaking changes ("The database moves to another folder"); release it with upkeep approve web',
    );
    const { web } = await upkeep.check(...options(), '--approve', 'breaking');
    expect(web).toMatchObject({
      hold: 'approval',
      hold_because: 'breaking',
      notes: { state: 'found', breaking: true },
    });
    expect(forge.lines(), 'what is known is not asked for again').toHaveLength(2);
    const approve = ['approve', 'web', ...options()];
    expect(await runUpkeep(approve, { socket: engine.socket, env: env() })).toMatchObject({ code: 0 });
    expect(await update('--approve', 'breaking')).toMatchObject({ web: { outcome: 'updated' } });

    await stale('later', versions());
    expect(await update('--approve', 'unread')).toMatchObject({ later: { outcome: 'skipped' } });
    expect(await update('--release-notes=false', '--approve', 'breaking')).toMatchObject({
      later: { outcome: 'updated' },
    });
    expect(forge.lines()).toHaveLength(2);
  });

  test('set-up forge that is dead or limits: it delays no check and no update of a service, which tells what it reads', async () => {
    await stale('web', versions('https://git.acme.example/acme/web'));
    forge.misbehave = () => 'hang';
    const { url } = await serve();
    const shown = async () => (await ask(url, '/v1/containers/details')).json().containers[0].notes;
    const check = await ask(url, '/v1/check', { method: 'POST' });
    expect(check.json().containers[0]).toMatchObject({ status: 'stale', notes: { state: 'unread' } });
    expect(await shown()).toMatchObject({ state: 'unread', source: 'https://git.acme.example/acme/web' });
    await vi.waitFor(() => expect(forge.lines()).toHaveLength(1), slow);
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ error: expect.stringContaining('10s') }), slow);
    forge.misbehave = (): Reply | undefined => undefined;
    const { updated } = (await ask(url, '/v1/update', { method: 'POST' })).json().summary;
    expect(updated).toBe(1);
    expect(forge.lines()).toHaveLength(1);
  });

  test('a service reads notes after its check, and shows them in short and whole', async () => {
    await stale('web', versions('https://git.acme.example/acme/web'));
    const { url } = await serve('--approve', 'breaking');
    await ask(url, '/v1/check', { method: 'POST' });
    const shown = async () => (await ask(url, '/v1/containers/details')).json().containers[0];
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ notes: { state: 'found' } }), slow);
    expect(await shown()).toMatchObject({
      verdict: 'held',
      hold: 'approval',
      hold_because: 'breaking',
      notes: { releases: 2, breaking: true, summary: ['The database moves to another folder', 'Faster search'] },
    });
    const notes = (await ask(url, '/v1/notes?container=web&full=true')).json();
    expect(notes).toMatchObject({
      container: 'web',
      version: '1.0.0',
      latest_version: '2.1.0',
      notes: { state: 'found' },
    });
    expect(notes.list.map((one: { tag: string }) => one.tag)).toEqual(['v2.1.0', 'v2.0.0']);
    expect(notes.list[0].blocks[1]).toEqual({
      kind: 'list',
      isOrdered: false,
      items: [[{ kind: 'para', spans: [{ kind: 'text', text: 'Faster search' }] }]],
    });
    expect((await ask(url, '/v1/notes?container=web')).json().list).toBeUndefined();
    expect((await ask(url, '/v1/notes?container=db')).status).toBe(404);
    expect((await ask(url, '/v1/notes')).status).toBe(400);
    const command = await runUpkeep(['notes', 'web', '--url', url], { env: { UPKEEP_TOKEN: apiToken } });
    expect(command).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('! The database moves to another folder'),
    });
  });

  async function serve(...more: readonly string[]) {
    const args = ['run', '--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0'];
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', `${apiToken}-events`];
    const all = [...args, ...tokens, ...options(), '--health-window', '1s', '--start-check=false', ...more];
    const process = startUpkeep(all, { socket: engine.socket, env: env() });
    started.push(process);
    await process.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(process.output()) ?? [];
    return { process, url };
  }
});

/** The service limits the requests of a client. */
const slow = { timeout: 20_000, interval: 1000 };
