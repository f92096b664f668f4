import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';
import { effectsScene, idsOf } from '../effects/scene.ts';

/** A version that exits by itself after this time, and ignores the stop signal. */
const endsAfter = (seconds: number, code: number): ImageSpec =>
  webServer(`ends-${seconds}-${code}`, { Cmd: ['sh', '-c', `sleep ${seconds}; exit ${code}`] });

/** Two containers that share a network cannot have the same port, so these have none. */
const quiet = (version: string): ImageSpec =>
  webServer(version, { Cmd: ['sh', '-c', "trap 'exit 0' TERM; sleep 1000000 & wait"] });

describeInLab('the version whose process ended first is at fault', (lab) => {
  const { engine } = lab;
  const { stale, run, inspect } = effectsScene(lab, 'first-to-end');
  let proxies: FaultProxy[] = [];
  afterEach(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    proxies = [];
    await engine.clear();
  });

  const direct = upkeepScene({ socket: engine.socket, args: ['--health-window', '4s'] });
  /** `act` runs before the first start of the container that gets the name `name`. */
  const beforeStartOf = async (name: string, act: () => Promise<unknown>) => {
    const socketPath = `${lab.dir}/first-to-end-${proxies.length}.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    proxies.push(proxy);
    const old = await inspect(name);
    const isOther = ({ change, path }: { readonly change: number | undefined; readonly path: string }) =>
      change !== undefined && path.endsWith('/start') && !path.includes(old.Id);
    let starts = 0;
    const members = { tunnel: 1, side: 2 }[name] ?? 3;
    proxy.arm({
      at: (call) => isOther(call) && (starts += 1) === members,
      fault: { kind: 'meanwhile', when: 'before', act },
    });
    return upkeepScene({ socket: socketPath, args: ['--health-window', '4s'] });
  };
  const sharing = (name: string) => ({
    old: quiet('v1'),
    next: quiet('v2'),
    config: { HostConfig: { NetworkMode: `container:${name}` } },
  });
  const ended = async (name: string) => engine.waitFor(name, ({ State }) => !State.Running);
  const marks = async () => {
    const { body } = await engine.call('GET', '/images/json');
    return (body as { RepoTags: string[] | null }[])
      .flatMap(({ RepoTags }) => RepoTags ?? [])
      .filter((tag) => tag.includes('upkeep-quarantine:'));
  };
  const up = async (...names: string[]) =>
    Promise.all(names.map(async (name) => [name, (await inspect(name)).State.Running]));

  test('one that ends before the next was started, which the engine then refuses', async () => {
    const tunnel = await stale('tunnel', { next: endsAfter(1, 3) });
    await run('side', sharing('tunnel'));
    const upkeep = await beforeStartOf('side', () => ended('tunnel'));
    const first = await upkeep.update();
    const reason = 'the new version of "tunnel" failed: it exited with code 3';
    expect(first.outcomes, first.run.stderr).toMatchObject({
      tunnel: { outcome: 'rolled_back', reason },
      side: { outcome: 'rolled_back', reason },
    });
    expect(await up('tunnel', 'side')).toEqual([
      ['tunnel', true],
      ['side', true],
    ]);
    expect(await marks()).toHaveLength(1);
    const { Id } = await inspect('side');
    const next = await direct.update();
    expect(next.outcomes['tunnel']).toMatchObject({
      outcome: 'skipped',
      reason: expect.stringContaining('rolled back'),
    });
    expect((await inspect('side')).Id).toBe(Id);
    expect((await inspect('tunnel')).Id).toBe(tunnel.Id);
  });

  test('one of three; the others move with the next run', async () => {
    await stale('tunnel', { next: endsAfter(1, 5) });
    const middle = await stale('middle', sharing('tunnel'));
    await stale('side', sharing('tunnel'));
    const upkeep = await beforeStartOf('side', () => ended('tunnel'));
    const first = await upkeep.update();
    expect(first.outcomes['side']?.reason, first.run.stderr).toBe(
      'the new version of "tunnel" failed: it exited with code 5',
    );
    expect(await up('tunnel', 'middle', 'side')).toEqual([
      ['tunnel', true],
      ['middle', true],
      ['side', true],
    ]);
    const next = await direct.update();
    expect(next.outcomes, next.run.stderr).toMatchObject({
      tunnel: { outcome: 'skipped' },
      middle: { outcome: 'updated' },
      side: { outcome: 'updated' },
    });
    expect(idsOf(middle.next)).toContain((await inspect('middle')).Image);
  });

  test.each([
    [
      'the one that the others live in',
      { tunnel: endsAfter(1, 3), middle: endsAfter(2, 4), side: endsAfter(2, 4) },
      'tunnel',
    ],
    ['the last', { tunnel: catalogue['plain-v2'], middle: quiet('v2'), side: endsAfter(1, 6) }, 'side'],
    ['the one between', { tunnel: endsAfter(3, 9), middle: endsAfter(1, 8), side: endsAfter(3, 9) }, 'middle'],
  ])('one that ends in the health check of three: %s', async (_which, next, culprit) => {
    await stale('tunnel', { next: next.tunnel });
    await stale('middle', { ...sharing('tunnel'), next: next.middle });
    await stale('side', { ...sharing('tunnel'), next: next.side });
    const { outcomes, run: told } = await direct.update();
    expect(outcomes['tunnel'], told.stderr).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringContaining(`the new version of "${culprit}" failed: it exited with code`),
    });
    expect(await up('tunnel', 'middle', 'side')).toEqual([
      ['tunnel', true],
      ['middle', true],
      ['side', true],
    ]);
    expect(await marks()).toHaveLength(1);
  });

  test('a start that is refused because the target is gone is nobody’s fault', async () => {
    await stale('tunnel');
    await stale('side', sharing('tunnel'));
    const upkeep = await beforeStartOf('side', () => engine.call('DELETE', '/containers/tunnel?force=1'));
    const first = await upkeep.update();
    expect(first.outcomes['side']?.reason, first.run.stderr).toContain('someone removed the new "tunnel"');
    expect(await marks()).toEqual([]);
    expect(await up('tunnel', 'side')).toEqual([
      ['tunnel', true],
      ['side', true],
    ]);
    expect((await direct.update()).outcomes).toMatchObject({
      tunnel: { outcome: 'updated' },
      side: { outcome: 'updated' },
    });
  });

  test.each([
    [0.05, 3],
    [1, 42],
    [2.4, 0],
  ])('a version with --rm that ends after %d s with code %d', async (seconds, code) => {
    await stale('worker', { config: { HostConfig: { AutoRemove: true } }, next: endsAfter(seconds, code) });
    const first = await direct.update('--update-auto-remove');
    expect(first.outcomes['worker'], first.run.stderr).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringContaining(
        `the new version of "worker" failed: it exited with code ${code}, and the engine removed it (--rm)`,
      ),
    });
    expect(await marks()).toHaveLength(1);
    const { Id } = await inspect('worker');
    const next = await direct.update('--update-auto-remove');
    expect(next.outcomes['worker']).toMatchObject({ outcome: 'skipped' });
    expect((await inspect('worker')).Id).toBe(Id);
  });

  test('a version with --rm that someone removed is tried again', async () => {
    const { next } = await stale('worker', { config: { HostConfig: { AutoRemove: true } } });
    const isNew = async () => idsOf(next).includes((await engine.inspect('worker'))?.Image ?? '');
    const removed = (async () => {
      const { Id } = await engine.waitFor(
        'worker',
        ({ Image, State }) => idsOf(next).includes(Image) && State.Running,
        30_000,
      );
      await engine.call('DELETE', `/containers/${Id}?force=1`);
    })();
    const first = await direct.update('--update-auto-remove');
    await removed;
    expect(first.outcomes['worker'], first.run.stderr).toMatchObject({ reason: expect.stringContaining('someone') });
    expect(await marks()).toEqual([]);
    expect((await direct.update('--update-auto-remove')).outcomes['worker']?.outcome).toBe('updated');
    expect(await isNew()).toBe(true);
  });
});
