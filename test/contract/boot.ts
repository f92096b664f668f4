import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { create, eventually, inspect, run, type Body, type EngineFixture, type Program } from './engine/fixture.ts';

/** An engine that a test may take down. */
export type BootFixture = EngineFixture & {
  /** Resolves when the engine answers again. */
  readonly restart: (kind: RestartKind) => Promise<void>;
};

/** `graceful`: SIGTERM. `crash`: SIGKILL to the engine alone. `power-cut`: nothing on the host survives. */
export type RestartKind = 'graceful' | 'crash' | 'power-cut';

/** Contract of an engine's boot: its treatment of containers decides the cost of a crash. */
export function bootContract(name: string, setup: (options: { liveRestore: boolean }) => Promise<BootFixture>): void {
  describe.each([
    { liveRestore: false, expected: statusAfter },
    { liveRestore: true, expected: statusAfterWithLiveRestore },
  ])(`${name} comes up again (live-restore: $liveRestore)`, ({ liveRestore, expected }) => {
    let fixture: BootFixture;
    beforeAll(async () => {
      fixture = await setup({ liveRestore });
    });
    afterEach(() => fixture.reset());
    afterAll(() => fixture?.close());

    test.each(Object.entries(expected))('after a %s', async (kind, table) => {
      await Promise.all(Object.entries(scenes).map(([name, prepare]) => prepare(fixture, containerName(name))));
      await fixture.restart(kind as RestartKind);
      expect(await statuses(fixture)).toEqual({ ...table, ...(await exceptions(fixture, liveRestore, kind)) });
    });

    test('keeps names, policies and volumes; what removes itself and never ran is gone', async () => {
      const HostConfig = { NetworkMode: 'none', RestartPolicy: { Name: 'always' }, Binds: ['named:/named'] };
      const id = await create(fixture, 'one', 'storing', { HostConfig });
      await fixture.engine.renameContainer(id, 'one.upkeep-old-a');
      await create(fixture, 'fleeting', 'storing', {
        HostConfig: { ...HostConfig, RestartPolicy: {}, AutoRemove: true },
      });
      await fixture.restart('crash');
      const kept = await fixture.engine.inspectContainer('one.upkeep-old-a');
      expect(kept).toMatchObject({ id, settings: { HostConfig: { RestartPolicy: { Name: 'always' } } } });
      expect(await fixture.engine.inspectContainer('fleeting')).toBeUndefined();
      const anonymous = kept?.settings.Mounts.find(({ Destination }) => Destination === '/data')?.Name;
      expect(await fixture.volumes()).toEqual(expect.arrayContaining([anonymous, 'named']));
    });

    test('tells listeners that they have missed something', async () => {
      const abort = new AbortController();
      let connections = 0;
      const listening = (async () => {
        for await (const { kind } of fixture.engine.events(abort.signal)) if (kind === 'connected') connections++;
      })();
      await eventually(fixture, () => Promise.resolve(connections === 1));
      await fixture.restart('crash');
      await eventually(fixture, () => Promise.resolve(connections === 2));
      abort.abort();
      await listening;
    });
  });
}

type Scene = (fixture: EngineFixture, name: string) => Promise<unknown>;
type Status = 'running' | 'exited' | 'created' | 'gone';

function policy(Name: string): Body {
  return { StopTimeout: 1, HostConfig: { NetworkMode: 'none', RestartPolicy: { Name } } };
}

function running(Name: string, program: Program = 'service'): Scene {
  return (fixture, name) => run(fixture, name, program, policy(Name));
}

function stopped(Name: string, program: Program = 'service'): Scene {
  return async (fixture, name) => {
    const id = await run(fixture, name, program, policy(Name));
    await stop(fixture, id, program);
    return id;
  };
}

/** A program that gets the stop signal before it listens is killed, which is another case. */
async function stop(fixture: EngineFixture, id: string, program: Program): Promise<void> {
  for (let tries = 0; tries < 5; tries += 1) {
    await fixture.engine.stopContainer(id, { timeoutSeconds: program === 'deaf' ? 0 : 5 });
    const { exitCode } = (await inspect(fixture, id)).state;
    if ((exitCode !== 0) === (program === 'deaf')) return;
    await fixture.engine.startContainer(id);
  }
  throw new Error(`"${id}" does not stop as it should`);
}

const removesItself: Body = { HostConfig: { NetworkMode: 'none', AutoRemove: true } };

const scenes = {
  'running, no': running('no'),
  'running, on-failure': running('on-failure'),
  'running and deaf, on-failure': running('on-failure', 'deaf'),
  'running, unless-stopped': running('unless-stopped'),
  'running, always': running('always'),
  'stopped, unless-stopped': stopped('unless-stopped'),
  'stopped, on-failure': stopped('on-failure'),
  'killed by a stop, on-failure': stopped('on-failure', 'deaf'),
  'stopped, always': stopped('always'),
  'stopped, changed to always': async (fixture, name) => {
    const id = await stopped('unless-stopped')(fixture, name);
    await fixture.engine.updateRestartPolicy(String(id), { Name: 'always', MaximumRetryCount: 0 });
  },
  'stopped, started again, unless-stopped': async (fixture, name) => {
    await fixture.engine.startContainer(String(await stopped('unless-stopped')(fixture, name)));
  },
  'created, always': (fixture, name) => create(fixture, name, 'service', policy('always')),
  'removes itself, running': (fixture, name) => run(fixture, name, 'service', removesItself),
  'removes itself, created': (fixture, name) => create(fixture, name, 'service', removesItself),
} as const satisfies Readonly<Record<string, Scene>>;

type Statuses = Readonly<Record<keyof typeof scenes, Status>>;

const always: Statuses = {
  'running, no': 'exited',
  'running, on-failure': 'exited',
  'running and deaf, on-failure': 'running',
  'running, unless-stopped': 'running',
  'running, always': 'running',
  'stopped, unless-stopped': 'exited',
  'stopped, on-failure': 'exited',
  'killed by a stop, on-failure': 'running',
  'stopped, always': 'running',
  'stopped, changed to always': 'running',
  'stopped, started again, unless-stopped': 'running',
  'created, always': 'created',
  'removes itself, running': 'gone',
  'removes itself, created': 'gone',
};

const statusAfter: Readonly<Record<RestartKind, Statuses>> = {
  graceful: always,
  // The engine stops surviving containers, and counts this as a manual stop.
  crash: { ...always, 'running, unless-stopped': 'exited', 'stopped, started again, unless-stopped': 'exited' },
  'power-cut': { ...always, 'running, on-failure': 'running' },
};

const survivors = { ...always, 'running, no': 'running', 'running, on-failure': 'running' } as const;

const statusAfterWithLiveRestore: Readonly<Record<RestartKind, Statuses>> = {
  graceful: survivors,
  crash: survivors,
  'power-cut': statusAfter['power-cut'],
};

/** https://github.com/moby/moby/issues/46308, fixed in 26 */
async function exceptions({ engine }: EngineFixture, liveRestore: boolean, kind: string): Promise<Partial<Statuses>> {
  const { apiVersion } = await engine.info();
  const isMended = liveRestore && kind !== 'power-cut' && Number(apiVersion.split('.')[1]) >= 44;
  return isMended ? { 'removes itself, running': 'running' } : {};
}

async function statuses(fixture: EngineFixture): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of Object.keys(scenes)) {
    const container = await fixture.engine.inspectContainer(containerName(name));
    found[name] = container?.state.status ?? 'gone';
  }
  return found;
}

function containerName(scene: string): string {
  return scene.replaceAll(/[^a-z]+/g, '-');
}
