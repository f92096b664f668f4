import { afterEach, expect, test } from 'vitest';
import { webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('an update that is not over', (lab) => {
  const { engine } = lab;
  const { stale, run } = effectsScene(lab, 'unfinished');
  let proxy: FaultProxy | undefined;
  afterEach(async () => {
    await proxy?.close();
    await engine.clear();
  });

  /** An update whose first start waits for `act`. */
  const interrupted = async (act: () => Promise<unknown>) => {
    const socketPath = `${lab.dir}/unfinished.sock`;
    proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    proxy.arm({
      at: ({ path, change }) => change !== undefined && path.endsWith('/start'),
      fault: { kind: 'meanwhile', when: 'before', act },
    });
    return startUpkeep(['update', '--health-window', '1s'], { socket: socketPath });
  };
  const upkeep = upkeepScene({ socket: engine.socket });
  const shown = async (...args: string[]) => (await runUpkeep(args, { socket: engine.socket })).stdout;

  test('by another instance: its container stays in the table and the summary', async () => {
    await run('calm', { old: webServer('calm') });
    await stale('gate');
    let found: Awaited<ReturnType<typeof upkeep.update>> | undefined;
    let table = '';
    const other = await interrupted(async () => {
      found = await upkeep.update();
      table = await shown('check');
    });
    await other.ended;
    expect(table).toMatch(/gate .*being updated .*another update of "gate" is in progress/);
    expect(found?.outcomes, found?.run.stderr).toMatchObject({
      calm: { outcome: 'fresh' },
      gate: { outcome: 'deferred', reason: 'another update of "gate" is in progress' },
    });
    expect((await upkeep.update()).outcomes).toMatchObject({ gate: { outcome: 'fresh' } });
  });

  test('and never will be, by who was killed: repair pending, until it is repaired', async () => {
    await stale('gate');
    let reached = () => {};
    const arrived = new Promise<void>((resolve) => (reached = resolve));
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const other = await interrupted(() => {
      reached();
      return released;
    });
    await arrived;
    other.child.kill('SIGKILL');
    await other.ended;
    await proxy?.close();
    proxy = undefined;
    release();
    expect(await shown('check')).toMatch(/gate .*repair pending .*an update of "gate" was interrupted/);
    expect(await shown('containers')).toMatch(/gate .*repair pending/);
    expect(JSON.parse(await shown('check', '--json'))).toMatchObject({
      unfinished: [{ name: 'gate', state: 'repair pending' }],
    });
    expect((await upkeep.update()).outcomes).toMatchObject({ gate: { outcome: 'updated' } });
    expect(await shown('check')).not.toContain('repair pending');
  });
});
