import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy } from '../lab/proxy/fault-proxy.ts';
import { type SpoiledFile, spoiledFiles } from '../support/spoiled-files.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { effectsScene } from './effects/scene.ts';

/** The user of the service. Its folder belongs to it. */
const user = 1000;

describeInLab('decisions of people that the service cannot read', (lab) => {
  const { engine } = lab;
  const scene = effectsScene(lab, 'unreadable');
  let proxy: FaultProxy;
  let folder = '';
  let file = '';
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'unreadable-'));
    chownSync(folder, user, user);
    file = join(folder, 'decisions.jsonl');
    // Another user than root reaches the engine through this socket.
    const socketPath = join(mkdtempSync(join(tmpdir(), 'socket-')), 'engine.sock');
    chmodSync(join(socketPath, '..'), 0o755);
    proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    chmodSync(socketPath, 0o666);
    socket = socketPath;
  });
  let socket = '';
  afterEach(async () => {
    await proxy.close();
    await engine.clear();
    rmSync(folder, { recursive: true });
    rmSync(join(socket, '..'), { recursive: true });
  });
  const asRoot = (...args: string[]) => runUpkeep([...args, '--state-dir', folder], { socket });
  const asUser = (...args: string[]) => runUpkeep([...args, '--state-dir', folder, '--json'], { socket, uid: user });

  /** A run of the service. */
  async function update(): Promise<{ readonly outcome?: string; readonly reason?: string; readonly log: string }> {
    const { stdout, stderr } = await asUser('update', 'web', '--health-window', '500ms');
    const { containers = [] } = JSON.parse(stdout || '{}') as { containers?: { outcome: string; reason: string }[] };
    return { ...containers[0], log: stderr };
  }

  test('a skip that root makes is read by the service, whose folder it is', async () => {
    const { Id } = await scene.stale('web');
    expect(await asRoot('skip', 'web')).toMatchObject({ code: 0 });
    expect(statSync(file)).toMatchObject({ uid: user, gid: user });
    expect(statSync(join(folder, 'journal.key'))).toMatchObject({ uid: user, gid: user });
    expect((await update()).reason).toContain('Skipped by "command line"');
    // Another decision of root, in the file that is there.
    expect(await asRoot('unskip', 'web')).toMatchObject({ code: 0 });
    expect(await asRoot('snooze', 'web')).toMatchObject({ code: 0 });
    expect(statSync(file)).toMatchObject({ uid: user, gid: user });
    expect((await update()).reason).toContain('Snoozed by "command line"');
    expect((await scene.inspect('web')).Id).toBe(Id);
  });

  const unreadable = 'a line of it cannot be read';
  test.each<SpoiledFile>([
    ['belongs to root', (path) => chownSync(path, 0, 0), 'EACCES: permission denied'],
    [
      'has a record of a newer kind',
      (path) => writeFileSync(path, `${readFileSync(path, 'utf8')}{"kind":"postponed","container":"web"}\n`),
      unreadable,
    ],
    ['is text', (path) => writeFileSync(path, 'skip web\n'), unreadable],
    ...spoiledFiles,
  ])('a file that %s holds every newer version, and says why', async (_, spoil, why) => {
    const { Id } = await scene.stale('web');
    expect(await asUser('skip', 'web')).toMatchObject({ code: 0 });
    spoil(file);
    const { outcome, reason, log } = await update();
    expect(outcome, log).toBe('skipped');
    expect(reason).toMatch(/^The decisions cannot be read: decisions\.jsonl: /);
    expect(reason).toContain(why);
    expect((await scene.inspect('web')).Id).toBe(Id);
    const check = await asUser('check', 'web');
    expect(JSON.parse(check.stdout)).toMatchObject({ containers: [{ status: 'held', hold: 'unreadable' }] });
    const unskipped = await asUser('unskip', 'web');
    expect(unskipped.code).toBe(1);
    expect(unskipped.stderr).toContain(why);
    rmSync(file, { recursive: true });
    expect((await update()).outcome).toBe('updated');
  });
});
