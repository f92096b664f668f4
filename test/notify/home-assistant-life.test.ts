import { createSecureContext } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { openHomeAssistant, type HomeIdentity } from '../../src/adapters/notify/home-assistant/home-assistant.ts';
import { parseTargets } from '../../src/adapters/notify/targets.ts';
import { createEntityKeeper } from '../../src/application/notify/entity-keeper.ts';
import type { ServiceError } from '../../src/domain/text/errors.ts';
import type { Inventory, TrackedContainer, UnwatchedTracked } from '../../src/domain/inventory.ts';
import type { ServiceEvent } from '../../src/domain/run/event.ts';
import { defaultSettings } from '../../src/domain/settings/effective-settings.ts';
import { createFakeClock, type FakeClock } from '../support/clock/fake-clock.ts';
import {
  type HomeAssistantModel,
  type HomeAssistantVersion,
  openHomeAssistantModel,
} from '../support/notify/home-assistant-model.ts';
import { startRig } from '../support/notify/notify-rig.ts';
import { containerOutcome, createFakeApplication, type FakeApplication } from '../support/scene/fake-application.ts';
import { aTrackedContainer } from '../support/scene/tracked-container.ts';
import { type MqttBroker, startBroker } from './broker.ts';
import { describeWithReceivers as describe } from './describe-with-receivers.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;

const old: TrackedContainer = aTrackedContainer({
  id: 'old',
  version: '1.27.3',
  staleness: 'stale',
  stale: true,
  updateAvailable: true,
  latestVersion: '1.27.4',
  latestDigest: digest('b'),
  checkedAtMs: 1000,
  reason: 'A newer image is available',
});
const other = aTrackedContainer({ id: 'other', name: 'db', version: '16.4', staleness: 'fresh', checkedAtMs: 1000 });
/** The successor during its health window: nothing is known of its image. */
const unproven = aTrackedContainer({ id: 'new', digest: digest('b'), version: '1.27.4', imageId: digest('n') });
const updated: TrackedContainer = { ...unproven, staleness: 'fresh', checkedAtMs: 2000 };
const rolledBack: TrackedContainer = {
  ...old,
  staleness: 'held',
  stale: false,
  hold: 'failed',
  reason: 'Was rolled back',
};
const inProgress = { name: 'web', state: 'in progress', reason: '', image: 'nginx' } as const;

/** One process of Upkeep. */
type Process = {
  readonly clock: FakeClock;
  readonly list: (
    containers: readonly TrackedContainer[],
    more?: {
      readonly unwatched?: readonly UnwatchedTracked[];
      readonly unfinished?: Inventory['unfinished'];
      readonly failure?: ServiceError;
    },
  ) => Promise<void>;
  readonly publish: (event: ServiceEvent) => Promise<void>;
  readonly application: FakeApplication;
  readonly end: () => Promise<void>;
};

type Life = {
  readonly broker: MqttBroker;
  readonly home: HomeAssistantModel;
  readonly upkeep: Process;
  readonly start: (identity?: Partial<HomeIdentity>) => Promise<Process>;
};

const minute = 60_000;
const run = { runId: 'r', atMs: 0 };
const begins: ServiceEvent = {
  kind: 'update_started',
  container: 'web',
  image: 'nginx:1.27',
  from: '',
  to: '',
  ...run,
};
const pulls: ServiceEvent = {
  kind: 'pull_progress',
  runId: 'r',
  container: 'web',
  progress: { layersDone: 1, layers: 2, bytes: 40, totalBytes: 100 },
};
const phase = (name: 'stopping' | 'checking health'): ServiceEvent => ({
  kind: 'phase_entered',
  runId: 'r',
  container: 'web',
  phase: name,
});
const web = 'upkeep_h1_web';

/** An event in the life of the container `web`, whose entity a person has named, or around it. */
const rows: readonly {
  readonly what: string;
  readonly happens: (life: Life) => Promise<unknown>;
  /** All states of the entity, without repeats. */
  readonly states: readonly string[];
  readonly removed?: readonly string[];
}[] = [
  {
    what: 'an update',
    async happens({ upkeep, home }) {
      await upkeep.publish(begins);
      await upkeep.publish(pulls);
      await home.until((all) => all.get(web)?.attributes['in_progress'] !== false);
      await upkeep.publish(phase('stopping'));
      await upkeep.list([other], { unfinished: [inProgress] });
      await upkeep.publish(phase('checking health'));
      await upkeep.list([unproven, other]);
      await upkeep.publish({
        kind: 'update_completed',
        outcome: containerOutcome('web', { outcome: 'updated', newContainerId: 'new' }),
        ...run,
      });
      await upkeep.list([updated, other]);
    },
    states: ['on', 'off'],
  },
  {
    what: 'an update that fails in its health window',
    async happens({ upkeep }) {
      await upkeep.publish(begins);
      await upkeep.list([other], { unfinished: [inProgress] });
      await upkeep.publish(phase('checking health'));
      await upkeep.list([unproven, other]);
      const outcome = containerOutcome('web', { outcome: 'rolled_back', containerId: 'old', reason: 'exited' });
      await upkeep.publish({ kind: 'update_failed', outcome, ...run });
      await upkeep.list([other], { unfinished: [inProgress] });
      await upkeep.list([rolledBack, other]);
    },
    states: ['on'],
  },
  {
    what: 'an update of another process, which is only seen in the engine',
    async happens({ upkeep }) {
      await upkeep.list([other], { unfinished: [{ ...inProgress, state: 'repair pending' }] });
      await upkeep.clock.advance(60 * minute);
      await upkeep.list([updated, other]);
    },
    states: ['on', 'off'],
  },
  {
    what: 'a stop and a start',
    async happens({ upkeep, home }) {
      const stopped = { name: 'web', image: 'nginx:1.27', reason: 'is stopped', kind: 'stopped' } as const;
      await upkeep.list([other], { unwatched: [stopped] });
      await home.until((all) => all.get(web)?.attributes['state'] === 'stopped');
      await upkeep.clock.advance(60 * minute);
      await upkeep.list([old, other]);
      await home.until((all) => all.get(web)?.attributes['state'] === 'running');
    },
    states: ['on'],
  },
  {
    what: 'a pause',
    async happens({ upkeep, home }) {
      await upkeep.list([{ ...old, status: 'paused' }, other]);
      await home.until((all) => all.get(web)?.attributes['state'] === 'paused');
    },
    states: ['on'],
  },
  {
    what: 'an absence of some minutes, as while another tool replaces it',
    async happens({ upkeep }) {
      await upkeep.list([other]);
      await upkeep.clock.advance(9 * minute);
      await upkeep.list([old, other]);
      await upkeep.clock.advance(9 * minute);
    },
    states: ['on'],
  },
  {
    what: 'a moment in which compose replaces it, after a quiet hour',
    async happens({ upkeep }) {
      await upkeep.clock.advance(60 * minute);
      await upkeep.list([other]);
      await upkeep.clock.advance(minute);
      await upkeep.list([{ ...old, id: 'replaced' }, other]);
      await upkeep.clock.advance(20 * minute);
    },
    states: ['on'],
  },
  {
    what: 'an engine that does not answer for an hour',
    async happens({ upkeep }) {
      await upkeep.list([], { failure: { code: 'engine-unreachable' } as ServiceError });
      await upkeep.clock.advance(60 * minute);
      await upkeep.list([old, other]);
    },
    states: ['on'],
  },
  {
    what: 'a rename by a person, for good',
    async happens({ upkeep, home }) {
      await upkeep.list([{ ...old, name: 'shop' }, other]);
      await home.until((all) => all.get('upkeep_h1_shop')?.state === 'on');
      expect(home.removed).toEqual([]);
      await upkeep.clock.advance(11 * minute);
      await home.until((all) => !all.has(web));
    },
    states: [],
    removed: [web],
  },
  {
    what: 'its removal',
    async happens({ upkeep, home }) {
      await upkeep.list([other]);
      await upkeep.clock.advance(9 * minute);
      expect(home.removed).toEqual([]);
      await upkeep.clock.advance(2 * minute);
      await home.until((all) => !all.has(web));
    },
    states: [],
    removed: [web],
  },
  {
    what: 'a restart of Upkeep',
    async happens({ upkeep, start, home }) {
      await upkeep.end();
      await home.until((all) => all.get(web)?.state === 'unavailable');
      const next = await start();
      await next.list([]);
      await next.clock.advance(minute);
      await next.list([old, other]);
    },
    states: ['on', 'unavailable', 'on'],
  },
  {
    what: 'a restart of Upkeep while it is stopped',
    async happens({ upkeep, start, home }) {
      const stopped = { name: 'web', image: 'nginx:1.27', reason: 'is stopped', kind: 'stopped' } as const;
      await upkeep.list([other], { unwatched: [stopped] });
      await upkeep.end();
      await home.until((all) => all.get(web)?.state === 'unavailable');
      const next = await start();
      await next.list([other], { unwatched: [stopped] });
      await next.clock.advance(60 * minute);
    },
    states: ['on', 'unavailable', 'on'],
  },
  {
    what: 'its removal while Upkeep is away',
    async happens({ upkeep, start, home }) {
      await upkeep.end();
      const next = await start();
      await next.list([other]);
      await next.clock.advance(9 * minute);
      expect(home.removed).toEqual([]);
      await next.clock.advance(2 * minute);
      await home.until((all) => !all.has(web));
    },
    states: [],
    removed: [web],
  },
  {
    what: 'a restart of the broker without its data',
    async happens({ broker, home }) {
      await broker.restart();
      await home.reconnect();
      await home.until((all) => all.get(web)?.state === 'on');
    },
    states: ['on'],
  },
  {
    what: 'a restart of Home Assistant',
    async happens({ home }) {
      await home.restart();
      await home.until((all) => all.get(web)?.state === 'on');
    },
    states: ['unavailable', 'unknown', 'on'],
  },
  {
    what: 'a re-created Upkeep of the same identity',
    async happens({ upkeep, start }) {
      await upkeep.end();
      const next = await start({ formerNodes: ['0f1e2d3c4b5a'] });
      await next.list([old, other]);
    },
    states: ['on', 'unavailable', 'on'],
  },
];

describe('an entity in Home Assistant outlives', () => {
  for (const version of ['2024.3', '2026.11'] as const)
    test.for(rows)(`$what (${version})`, async ({ happens, states, removed = [] }) => {
      const life = await begin(version);
      const { home } = life;
      await happens(life);
      // Whatever was sent until now has arrived.
      await home.sync();
      const name = removed.includes(web) ? undefined : 'Web of the family';
      const expected = states.at(-1);
      await home.until((all) => removed.includes(web) || all.get(web)?.state === expected);
      expect(home.removed).toEqual(removed);
      expect(home.entities().get(web)?.name).toBe(name);
      const seen =
        home
          .entities()
          .get(web)
          ?.states.filter((state) => !transient.has(state)) ?? [];
      expect(seen).toEqual(states.filter((state) => !transient.has(state)));
      expect(home.complaints).toEqual([]);
    });

  test.for(['2024.3', '2026.11'] as const)(
    'nothing of an Upkeep whose id was its container’s (%s)',
    async (version) => {
      const { home, upkeep, start } = await begin(version, { node: '0f1e2d3c4b5a', deviceName: '0f1e2d3c4b5a' });
      expect(home.entities().get('upkeep_0f1e2d3c4b5a_web')?.state).toBe('on');
      await upkeep.end();
      const next = await start({ node: 'nas_upkeep', deviceName: 'nas' });
      await next.list([old, other]);
      await home.until((all) => ![...all.keys()].some((id) => id.startsWith('upkeep_0f1e2d3c4b5a')));
      await home.until((all) => all.get('upkeep_nas_upkeep_web')?.state === 'on');
      const devices = new Set([...home.entities().values()].map(({ device }) => device));
      expect([...devices]).toEqual(['upkeep_nas_upkeep (Upkeep nas)']);
      expect(home.complaints).toEqual([]);
    },
  );

  test('no other Upkeep on the broker, be it online or of other containers', async () => {
    const { home, upkeep, start } = await begin('2026.11', { node: '0f1e2d3c4b5a' });
    const elsewhere = await start({ node: 'aaaaaaaaaaaa' });
    await elsewhere.list([old, { ...other, name: 'elsewhere' }]);
    await home.until((all) => all.get('upkeep_aaaaaaaaaaaa_elsewhere')?.state === 'off');
    await elsewhere.end();
    const mine = await start({ node: 'nas_upkeep' });
    await mine.list([old, other]);
    await home.until((all) => all.get('upkeep_nas_upkeep_web')?.state === 'on');
    // The one whose node is a container's id runs, and the one that has ended has a container that is not ours.
    await upkeep.list([old, other]);
    expect(home.removed).toEqual([]);
  });

  test.for<readonly [string, removed: boolean, Partial<HomeIdentity>, Partial<HomeIdentity>]>([
    ['another machine’s, with containers of the same names', false, { deviceName: 'pi' }, { deviceName: 'nas' }],
    [
      'its own, while its state folder cannot be read',
      false,
      { deviceName: 'nas' },
      { deviceName: 'nas', isTemporary: true },
    ],
    ['its own, whose state folder is gone', true, { deviceName: 'nas' }, { deviceName: 'nas' }],
    [
      'a former one, while its state folder cannot be read',
      false,
      {},
      { formerNodes: ['0f1e2d3c4b5a'], isTemporary: true },
    ],
  ])('%s device of an offline Upkeep is removed: %s', async ([, removed, before, after]) => {
    const { home, upkeep, start } = await begin('2026.11', { node: '0f1e2d3c4b5a', ...before });
    await upkeep.end();
    const mine = await start({ node: 'nas_upkeep', ...after });
    await mine.list([old, other]);
    await home.until((all) => all.get('upkeep_nas_upkeep_web')?.state === 'on');
    await home.sync();
    await mine.list([old, other]);
    if (removed) await home.until((all) => !all.has('upkeep_0f1e2d3c4b5a_web'));
    expect(home.removed.length > 0).toBe(removed);
  });
});

/** Between a discovery message and the first state. */
const transient: ReadonlySet<string> = new Set(['unknown', 'unavailable']);

async function begin(version: HomeAssistantVersion, identity: Partial<HomeIdentity> = {}): Promise<Life> {
  const broker = await startBroker();
  onTestFinished(() => broker[Symbol.asyncDispose]());
  const home = await openHomeAssistantModel(broker.port, version);
  const start = (own: Partial<HomeIdentity> = identity) => startProcess(broker.port, home, own);
  const upkeep = await start();
  await upkeep.list([old, other]);
  const id = `upkeep_${identity.node ?? 'h1'}_web`;
  await home.until((all) => all.get(id)?.state === 'on');
  home.rename(id, 'Web of the family');
  return { broker, home, upkeep, start };
}

async function startProcess(port: number, home: HomeAssistantModel, identity: Partial<HomeIdentity>): Promise<Process> {
  const rig = await startRig(() => 'drop');
  const { homeAssistants } = parseTargets([`homeassistant+mqtt://127.0.0.1:${port}?install=yes`], rig.deps);
  const clock = createFakeClock();
  const application = createFakeApplication();
  let inventory: Inventory = application.inventory();
  let [unwatched, failure]: [readonly UnwatchedTracked[], ServiceError | undefined] = [[], undefined];
  const stop = new AbortController();
  const opened = openHomeAssistant(homeAssistants[0]!, {
    version: '1.2.3',
    identity: () => Promise.resolve({ node: 'h1', deviceName: 'h1', formerNodes: [], ...identity }),
    nowMs: clock.monotonicMs,
    random: Math.random,
    contextFor: () => Promise.resolve(createSecureContext()),
    warn: () => undefined,
    onInstall: (name) => void keeper.install(name, stop.signal),
    onCheck: () => void keeper.check(stop.signal),
    waits: { reconnectMs: () => 10, birthMs: () => 5, selfTestMs: 1000 },
  });
  const keeper = createEntityKeeper({
    application: {
      ...application,
      inventory: () => inventory,
      unwatched: () => unwatched,
      inventoryFailure: () => failure,
    },
    settings: defaultSettings,
    clock,
    log: { warn: () => undefined },
    show: opened.show,
    tell: opened.tell,
    inspect: () => Promise.resolve(undefined),
  });
  const running = keeper.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
    await opened.close();
  };
  onTestFinished(end);
  let beats = 0;
  /** Lets a second pass, and waits until Home Assistant has heard of it: it sees every step. */
  const show = async (containers: readonly TrackedContainer[]) => {
    const reason = `beat ${(beats += 1)}`;
    const beating = containers.map((one) => (one.id === other.id ? { ...one, reason } : one));
    inventory = { ...inventory, known: true, revision: inventory.revision + 1, containers: beating };
    await clock.advance(1000);
    const name = containers.find(({ id }) => id === other.id)?.name;
    const id = `upkeep_${identity.node ?? 'h1'}_${name}`;
    if (name !== undefined) await home.until((all) => all.get(id)?.attributes['reason'] === reason);
  };
  return {
    clock,
    application,
    async list(containers, more = {}) {
      const { unfinished = [] } = more;
      [unwatched, failure] = [more.unwatched ?? [], more.failure];
      inventory = { ...inventory, unfinished };
      await show(containers);
    },
    async publish(event) {
      application.publish(event);
      await show(inventory.containers);
    },
    end,
  };
}
