import { describe, expect, test } from 'vitest';
import type { SandboxCall } from '../../sandbox/engine/calls.ts';
import type { ServiceSettings } from '../../src/domain/settings/effective-settings.ts';
import {
  faultsOfService,
  type ServiceShape,
  type ServiceStage,
  setServiceStage,
} from '../faults/memory/service-itself.ts';
import {
  everything,
  inNetworkOf,
  type LifeOptions,
  restart,
  setStage,
  type Stage,
  type UpdateOptions,
} from './rig/stage.ts';

/** The container of the updater itself: only a helper may replace it. */

const labels = {
  Labels: {
    'upkeep.enable': 'true',
    'com.centurylinklabs.watchtower': 'true',
    'com.centurylinklabs.watchtower.enable': 'true',
  },
};
const own = { body: { ...labels, HostConfig: restart('unless-stopped') } };

/** The service, begun by the container `upkeep` of the stage; with `settings`, others than its defaults. */
function inside(
  stage: Stage,
  settings: Partial<ServiceSettings> = {},
  isMainProcess = true,
): Pick<UpdateOptions, 'outside' | 'settings'> {
  const containerId = stage.before.get('upkeep')!.id;
  return { settings, outside: ({ instance }) => ({ instance: { ...instance, containerId, isMainProcess } }) };
}

const shape: ServiceShape = { name: 'good', next: {}, good: true, policy: 'unless-stopped' };

describe('its own container', () => {
  test('failure 31: has a newer image: all others come first, then it is handed to a helper', async () => {
    const stage = await setStage({ upkeep: own, web: {} });
    const { outcomes, of, connection } = await stage.update(inside(stage));
    expect(outcomes).toEqual({ upkeep: 'deferred', web: 'updated' });
    expect(of('upkeep').reason).toContain('a helper container finishes this update');
    expect(connection.calls.at(-1)).toMatchObject({ kind: 'startContainer', target: 'upkeep.upkeep-helper' });
    expect(stage.isReplaced('upkeep')).toBe(false);
  });

  test.each([
    ['self-update is off', { selfUpdate: 'off' }, true, 'It is Upkeep itself, and self-update is off'],
    ['an update by hand', { selfUpdate: 'not-by-this-command' }, true, 'which only the running service replaces'],
    ['not its main process', {}, false, 'which is not the main process of the container'],
    ['no-restart', { noRestart: true }, true, 'which must not stay stopped'],
  ] as const)(
    'failure 32: is asked for by name, and %s: it is told so, and not touched',
    async (_, set, isMain, reason) => {
      const stage = await setStage({ upkeep: own });
      const order = { ...inside(stage, set, isMain), request: { containers: ['upkeep'] } };
      const { outcomes, of, connection } = await stage.update(order);
      expect(outcomes).toEqual({ upkeep: 'skipped' });
      expect(of('upkeep').reason).toContain(reason);
      expect(connection.calls).toEqual([]);
      expect(stage.harm()).toEqual([]);
    },
  );

  test('failure 33: is killed in the middle of an update of others: it has its name and its policy all the time', async () => {
    const names: string[] = [];
    const webOnly = { upkeep: { ...own, next: 'none' }, web: {} } as const;
    for (let at = 1; ; at += 1) {
      const stage = await setStage(webOnly);
      const { connection } = await stage.update(inside(stage));
      if (at > connection.calls.length) break;
      const killed = await setStage(webOnly);
      await killed.updateKilled({ ...inside(killed), faults: [{ at, fault: { kind: 'crash', when: 'after' } }] });
      const { name, running, settings } = killed.now('upkeep');
      names.push(`${name} ${running} ${settings.HostConfig.RestartPolicy?.Name}`);
      await killed.startAgain();
      expect(killed.harm()).toEqual([]);
    }
    expect(names.length).toBeGreaterThan(8);
    expect(new Set(names)).toEqual(new Set(['upkeep true unless-stopped']));
  });

  test('failure 34: has a helper that is killed: the engine starts it again, and it goes on', async () => {
    const stage = await setServiceStage(shape, (kind, nth) =>
      kind === 'helper' && nth === 1 ? [{ at: 'startContainer', fault: { kind: 'crash', when: 'after' } }] : [],
    );
    await stage.settle();
    stage.close();
    expect(stage.lives.map(({ kind }) => kind)).toEqual(['service', 'helper', 'service', 'helper']);
    expect(stage.scene.sandbox.control.snapshot().containers['upkeep']?.imageId).toBe(stage.newImageId);
    expect(faultsOfService(stage, shape)).toEqual([]);
  });

  test('failure 34: has a helper that someone removes when only the new version runs, which fails: that makes another', async () => {
    const sick: ServiceShape = { ...shape, next: { sick: true }, good: false };
    const stage: ServiceStage = await setServiceStage(sick, (kind, nth) => {
      const at = ({ detail }: SandboxCall) => detail === 'upkeep.upkeep-bad';
      const act = () => stage.scene.sandbox.control.removeContainer('upkeep.upkeep-helper');
      return kind === 'helper' && nth === 1 ? [{ at, fault: { kind: 'third-party', when: 'after', act } }] : [];
    });
    await stage.settle();
    stage.close();
    expect(stage.lives.map(({ kind }) => kind)).toEqual(['service', 'helper', 'service', 'helper', 'service']);
    expect(faultsOfService(stage, sick)).toEqual([]);
  });

  test('failure 34: has a helper: that leaves alone what is not its own to finish', async () => {
    const stage = await setStage({ upkeep: { ...own, next: 'none' }, web: {} });
    await stage.updateKilled({ faults: [{ at: 'stopContainer', fault: { kind: 'crash', when: 'after' } }] });
    for (const options of [{}, inside(stage)]) {
      const { application, connection } = stage.live(options);
      expect(await application.finishUpdate('another')).toEqual({ transactions: [] });
      expect(connection.calls).toEqual([]);
    }
    await stage.startAgain();
    expect(stage.harm()).toEqual([]);
  });

  test('failure 34: has a helper that never begins: it is given up after two minutes, and nothing has happened', async () => {
    const stage = await setStage({ upkeep: own });
    const life = stage.live(inside(stage));
    await stage.scene.clock.run(async () => {
      await life.application.update(everything);
      await stage.scene.clock.sleep(100_000);
      expect(Object.keys(stage.scene.sandbox.control.snapshot().containers)).toContain('upkeep.upkeep-helper');
      await stage.scene.clock.sleep(30_000);
    });
    expect(life.complaints).toEqual(['The helper that was to update Upkeep itself is given up']);
    expect(stage.harm()).toEqual([]);
  });

  test.each([
    ['the engine refuses to create one', { at: ({ target }: SandboxCall) => target === 'upkeep.upkeep-helper' }],
    ['it cannot be started', { at: 'startContainer' as const }],
  ])('failure 34: gets no helper, because %s: it stays as it is, and the report says why', async (_, fault) => {
    const stage = await setStage({ upkeep: own });
    const refusal = { ...fault, fault: { kind: 'refuse', status: 403, message: 'forbidden by the proxy' } as const };
    const { of } = await stage.update({ ...inside(stage), faults: [refusal] });
    expect(of('upkeep')).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('forbidden by the proxy') as string,
    });
    expect(stage.harm()).toEqual([]);
  });

  test('failure 34: gets no helper, because a stranger has its name: both stay', async () => {
    const stage = await setStage({ upkeep: own, 'upkeep.upkeep-helper': { next: 'none' } });
    const { of } = await stage.update(inside(stage));
    expect(of('upkeep')).toMatchObject({
      outcome: 'failed',
      reason: '"upkeep.upkeep-helper" is someone else\'s container',
    });
    expect(stage.harm()).toEqual([]);
  });

  /** Upkeep reaches the engine through `gate`, at a published port; with `upkeep` in the stage, from that container. */
  function throughGate(stage: Stage, settings: Partial<ServiceSettings> = {}): LifeOptions {
    const own = stage.before.get('upkeep')?.id;
    const reach = {
      ports: [{ protocol: 'tcp', port: 2375, hostPort: 2375, hostAddress: '' }],
      networks: [],
      mounts: [{ source: '/var/run/docker.sock', target: '/var/run/docker.sock' }],
    };
    return {
      settings,
      outside: ({ engine, instance }) => ({
        engine: {
          ...engine,
          listContainers: async (filter, signal) => {
            const listed = await engine.listContainers(filter, signal);
            return listed.map((one) => (/^gate(?:$|\.)/.test(one.name) ? { ...one, reach } : one));
          },
          inspectContainer: async (id, signal) => {
            const one = await engine.inspectContainer(id, signal);
            const Mounts = [{ Source: '/var/run/docker.sock', Destination: '/var/run/docker.sock' }];
            return one && /^gate(?:$|\.)/.test(one.name) ? { ...one, settings: { ...one.settings, Mounts } } : one;
          },
        },
        instance: { ...instance, containerId: own, isMainProcess: true },
        routes: () => ({ own: { kind: 'tcp', host: 'host.docker.internal', port: 2375, peer: undefined }, others: [] }),
      }),
    };
  }

  test('failure 42: the helper of the way to the engine never begins: it is given up after two minutes, and nothing has happened', async () => {
    const stage = await setStage({ gate: {}, web: {}, upkeep: { ...own, next: 'none' } });
    const { application } = stage.live(throughGate(stage));
    const begun = await stage.scene.clock.run(async () => {
      const run = application.update(everything);
      await stage.scene.clock.sleep(100_000);
      expect(stage.now('gate.upkeep-helper').running).toBe(true);
      expect(stage.isReplaced('web')).toBe(true);
      return run;
    });
    const outcomes = begun.containers.map(({ name, outcome }) => [name, outcome]);
    expect(Object.fromEntries(outcomes)).toEqual({ gate: 'failed', web: 'updated', upkeep: 'fresh' });
    expect(stage.isReplaced('gate')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test('failure 42: Upkeep is asked to end while a helper replaces the way to the engine: it ends, and the helper goes on', async () => {
    const stage = await setStage({ gate: {}, upkeep: { ...own, next: 'none' } });
    const { application } = stage.live(throughGate(stage));
    const ending = new AbortController();
    await stage.scene.clock.run(async () => {
      const run = application.update(everything, ending.signal);
      await stage.scene.clock.sleep(20_000);
      ending.abort();
      const [gate] = (await run).containers.filter(({ name }) => name === 'gate');
      expect(gate).toMatchObject({ outcome: 'deferred', reason: 'a helper container finishes this update' });
    });
    expect(stage.now('gate.upkeep-helper').running).toBe(true);
  });

  /** The update of `gate` by an Upkeep that did not need it is killed after the start of its new version, which is bad. */
  async function setKilledGate(cast: Parameters<typeof setStage>[0] = {}): Promise<Stage> {
    const sick = { config: { Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 } } };
    const bad = { version: 'bad', ...sick, behaviour: { health: { kind: 'unhealthy' } } } as const;
    const stage = await setStage({ gate: { next: bad }, ...cast });
    await stage.updateKilled({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'after' } }] });
    return stage;
  }

  test('failure 42: a repair would stop the way to the engine, and there is no helper: it is left, with the reason, and runs', async () => {
    const stage = await setKilledGate();
    const { application, connection } = stage.live(throughGate(stage));
    const report = await stage.scene.clock.run(() => application.recover());
    expect(report.transactions).toEqual([
      expect.objectContaining({
        containers: ['gate'],
        result: 'left',
        isPending: true,
        reason: expect.stringContaining(
          'it carries the connection of Upkeep to the engine: run "upkeep recover" on the host',
        ) as string,
      }),
    ]);
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    expect(stage.now('gate').running).toBe(true);
    await stage.startAgain();
    expect(stage.harm()).toEqual([]);
  });

  test.each([
    ['self-update is off', { selfUpdate: 'off' }],
    ['self-update is off, and all are monitored only', { selfUpdate: 'off', monitorOnly: true }],
  ] as const)('failure 42: a repair would stop the way to the engine, and %s: it is left', async (_, settings) => {
    const stage = await setKilledGate({ upkeep: { ...own, next: 'none' } });
    const { application, connection } = stage.live(throughGate(stage, settings));
    const report = await stage.scene.clock.run(() => application.recover());
    expect(report.transactions).toMatchObject([{ containers: ['gate'], result: 'left' }]);
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    await stage.startAgain();
    expect(stage.harm()).toEqual([]);
  });

  test('failure 42: a repair would stop the way to the engine: it is handed to a helper with the socket', async () => {
    const stage = await setKilledGate({ upkeep: { ...own, next: 'none' } });
    const { application, connection } = stage.live(throughGate(stage));
    const ending = new AbortController();
    await stage.scene.clock.run(async () => {
      const report = application.recover(ending.signal);
      await stage.scene.clock.sleep(90_000);
      ending.abort();
      expect(await report).toMatchObject({ awaitsHelper: true });
    });
    expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
    const helper = stage.now('gate.upkeep-helper');
    expect(helper.settings.HostConfig.Binds).toContain('/var/run/docker.sock:/run/upkeep-engine.sock');
    expect(helper.settings.Config.Env?.find((line) => line.startsWith('UPKEEP_FINISH_UPDATE='))).toMatch(
      /.+@@\/run\/upkeep-engine\.sock$/,
    );
    expect(helper.running).toBe(true);
    expect(stage.now('gate').running).toBe(true);
  });

  test('publishes ports: with the HTTP API on it is not touched', async () => {
    const HostConfig = { ...restart('always'), PortBindings: { '8080/tcp': [{ HostPort: '8080' }] } };
    const stage = await setStage({ upkeep: { body: { HostConfig } } });
    const { of } = await stage.update(inside(stage, { selfUpdate: 'unless-published' }));
    expect(of('upkeep').reason).toContain('self-update is off because the HTTP API is on');
    expect(stage.harm()).toEqual([]);
  });

  test('failure 35: is in the network of a stale container: neither is touched, however long it takes', async () => {
    const body = { ...labels, ...inNetworkOf('vpn') };
    const stage = await setStage({ vpn: {}, upkeep: { body, next: 'none' }, web: {} });
    const { outcomes, of } = await stage.update(inside(stage));
    expect(outcomes).toMatchObject({ vpn: 'skipped', web: 'updated' });
    expect(of('vpn').reason).toContain(
      '2 containers have to move together, and "upkeep" is Upkeep itself, which is only replaced alone',
    );
    expect(stage.isReplaced('vpn')).toBe(false);
    expect(stage.harm()).toEqual([]);
  });

  test.each([
    ['good', {}, true],
    ['bad', { startError: 'exec: not found' }, false],
  ])('pitfall 5: gets a %s version: at no time two of it run, and afterwards one does', async (_, next, good) => {
    const stage = await setServiceStage({ ...shape, next, good });
    await stage.settle();
    stage.close();
    expect(stage.maxAtOnce()).toBe(1);
    expect(faultsOfService(stage, { ...shape, next, good })).toEqual([]);
  });

  test.each(['web', 'watchtower', 'watchtower-old-1'])(
    'pitfall 15: a container "%s" of someone else carries the label of an updater: it is one like any other',
    async (name) => {
      const stage = await setStage({
        upkeep: { ...own, next: 'none' },
        [name]: { body: labels },
        quiet: { body: labels, next: 'none' },
      });
      const { outcomes } = await stage.update(inside(stage));
      expect(outcomes).toEqual({ upkeep: 'fresh', [name]: 'updated', quiet: 'fresh' });
      await stage.startAgain();
      expect(stage.isReplaced('quiet')).toBe(false);
      expect(stage.harm()).toEqual([]);
    },
  );
});
