import type { Container } from '../../domain/container/container.ts';
import { describeError } from '../../domain/text/errors.ts';
import {
  emptyRoster,
  entitiesOf,
  isWaiting,
  nextRoster,
  type ContainerEntity,
  type Entities,
  type Roster,
} from '../../domain/home-assistant.ts';
import { percentOf, type ServiceEvent } from '../../domain/run/event.ts';
import { fleetKeyOf, type Request, type ContainerOutcome, type UpdatePhase } from '../../domain/run/session.ts';
import type { Inventory } from '../../domain/inventory.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import { isLeftForAutoRemove } from '../../domain/plan/replacement.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { sentence } from '../../domain/text/words.ts';
import type { Application } from '../application.ts';

type EntityKeeperParts = {
  readonly application: Pick<
    Application,
    'inventory' | 'unwatched' | 'inventoryFailure' | 'engines' | 'subscribe' | 'update' | 'check'
  >;
  readonly settings: ServiceSettings;
  readonly clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  readonly log: Pick<Log, 'warn'>;
  readonly show: (entities: Entities) => void;
  /** Says how a request of a person has ended. */
  readonly tell: (result: RequestResult) => void;
  /** Reads a container of an engine; undefined if it cannot be read. */
  readonly inspect: (id: string, engine: string | undefined) => Promise<Container | undefined>;
};

type RequestResult = {
  /** `refused`: nothing was done. */
  readonly kind: 'updated' | 'failed' | 'refused';
  /** Empty for a check of all. */
  readonly container: string;
  /** A sentence. */
  readonly text: string;
};

type EntityKeeper = {
  /** Updates the container of an entity, as a person asks. Resolves after that. Never throws. */
  readonly install: (name: string, signal: AbortSignal) => Promise<void>;
  readonly check: (signal: AbortSignal) => Promise<void>;
  /** Shows the watched containers, and shows them again after each change, until the signal aborts. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

export function createEntityKeeper(parts: EntityKeeperParts): EntityKeeper {
  const { application, settings, clock, log, show, tell } = parts;
  const updates = createUpdatesUnderWay(clock, settings);
  const pressed = new Set<string>();
  const notes = new Map<string, string>();
  const examined = new Map<string, boolean>();
  let roster: Roster = emptyRoster;
  let isChanged = true;
  let shownRevision = -1;
  let shown: Entities | undefined;

  function onEvent(event: ServiceEvent): void {
    // A new check has its own reason.
    if (event.kind === 'container_checked')
      isChanged = notes.delete(fleetKeyOf(event.engine, { name: event.container, kind: event.entryKind })) || isChanged;
    if (updates.onEvent(event)) isChanged = true;
  }

  function isComplete(): boolean {
    const engines = application.engines?.() ?? [];
    return application.inventoryFailure() === undefined && engines.every(({ reachable }) => reachable === true);
  }

  function look(): void {
    const inventory = application.inventory();
    if (!inventory.known) return;
    const nowMs = clock.monotonicMs();
    const isOtherwise = (roster.completeSinceMs !== undefined) !== isComplete();
    if (!isChanged && inventory.revision === shownRevision && !isOtherwise && !isWaiting(roster, nowMs)) return;
    const asked = [...pressed].map((key) => [key, undefined] as const);
    const underWay = new Map<string, number | undefined>([...asked, ...updates.now(inventory)]);
    const removedAtExit = new Set([...examined].flatMap(([id, isIt]) => (isIt ? [id] : [])));
    const facts = { inventory, unwatched: application.unwatched(), underWay, notes, removedAtExit };
    roster = nextRoster(roster, { ...facts, isComplete: isComplete(), nowMs });
    [isChanged, shownRevision] = [false, inventory.revision];
    const entities = entitiesOf(roster);
    if (shown === undefined || !isSame(shown, entities)) show((shown = entities));
  }

  /** The list does not show which containers the engine removes when they stop. Only those that are outdated are read. */
  async function examine(): Promise<void> {
    const { containers } = application.inventory();
    const ids = new Set(containers.map(({ id }) => id));
    for (const id of examined.keys()) if (!ids.has(id)) examined.delete(id);
    for (const { id, engine, kind, updateAvailable } of containers) {
      if (!updateAvailable || kind === 'service' || examined.has(id)) continue;
      const container = await parts.inspect(id, engine).catch(() => undefined);
      if (container === undefined) continue;
      examined.set(id, isLeftForAutoRemove(container, settings));
      isChanged = true;
    }
  }

  function entryOf(name: string): { readonly key: string; readonly entity: ContainerEntity } | undefined {
    const entry = roster.entries.get(name);
    return entry && { key: entry.key, entity: entry.shown };
  }

  function end(key: string, result: RequestResult): void {
    pressed.delete(key);
    if (result.kind === 'updated') notes.delete(key);
    else notes.set(key, result.text);
    isChanged = true;
    look();
    tell(result);
  }

  return {
    async install(name, signal) {
      const entry = entryOf(name);
      if (entry === undefined || pressed.has(entry.key)) return;
      const { key, entity } = entry;
      const refused = (text: string) => end(key, { kind: 'refused', container: name, text });
      if (entity.notInstallable !== undefined) return refused(`${name} is not updated: ${entity.notInstallable}`);
      pressed.add(key);
      isChanged = true;
      look();
      try {
        const session = await application.update({ ...requestFor(key, application), ...asPerson }, signal);
        const outcome = session.containers.find((one) => fleetKeyOf(one.engine, one) === key);
        end(key, resultOf(name, outcome));
      } catch (error) {
        log.warn(`Home Assistant asked for an update of ${name}, which failed`, { error });
        end(key, { kind: 'failed', container: name, text: describeError(error) });
      }
    },
    async check(signal) {
      try {
        await application.check({ images: [], containers: [], trigger: 'http' }, signal);
      } catch (error) {
        log.warn('Home Assistant asked for a check, which failed', { error });
        tell({ kind: 'failed', container: '', text: describeError(error) });
      }
    },
    async run(signal) {
      const leave = application.subscribe(onEvent);
      let examining: Promise<void> | undefined;
      try {
        while (!signal.aborted) {
          look();
          examining ??= examine().finally(() => (examining = undefined));
          await clock.sleep(pollIntervalMs, signal).catch(() => undefined);
        }
      } finally {
        leave();
        await examining;
      }
    },
  };
}

/**
 * People look at these entities, so a second is soon enough. A check of five hundred containers then takes few updates.
 */
const pollIntervalMs = 1000;

/** The updates under way, from their events. */
function createUpdatesUnderWay({ monotonicMs }: Pick<Clock, 'monotonicMs'>, { healthWindowMs }: ServiceSettings) {
  const updates = new Map<string, OneUpdate>();

  function change(
    event: Extract<ServiceEvent, { readonly container: string; readonly runId: string }>,
    to: Partial<OneUpdate>,
  ): true {
    const kind = 'entryKind' in event ? event.entryKind : undefined;
    const key = fleetKeyOf(event.engine, { name: event.container, kind });
    const { expected: _, ...known } = updates.get(key) ?? { phase: 'waiting', sinceMs: monotonicMs() };
    const sinceMs = known.phase === to.phase ? known.sinceMs : monotonicMs();
    updates.set(key, { ...known, runId: event.runId, sinceMs, ...to });
    return true;
  }

  /** The engine's list follows a moment later, and until then the entity stays as it is. */
  function conclude({ engine, outcome }: Extract<ServiceEvent, { readonly outcome: unknown }>): boolean {
    const key = fleetKeyOf(engine, outcome);
    const known = updates.get(key);
    if (known === undefined) return false;
    const isReplaced = outcome.outcome === 'updated' || outcome.outcome === 'restarted';
    const id = isReplaced ? outcome.newContainerId : outcome.containerId;
    if (id === undefined) return updates.delete(key);
    updates.set(key, { ...known, expected: { id, untilMs: monotonicMs() + maxLagMs } });
    return true;
  }

  return {
    /** Whether something has changed. */
    onEvent(event: ServiceEvent): boolean {
      switch (event.kind) {
        case 'update_started':
          return change(event, { phase: 'waiting' });
        case 'pull_progress':
          return change(event, { phase: 'pulling', pulled: percentOf(event.progress) });
        case 'phase_entered':
          return change(event, { phase: event.phase, copied: event.copied && percentOf(event.copied) });
        case 'update_completed':
        case 'update_failed':
        case 'update_deferred':
          return conclude(event);
        case 'scan_completed':
        case 'scan_failed':
          for (const [key, { runId, expected }] of updates)
            if (runId === event.runId && expected === undefined) updates.delete(key);
          return true;
        default:
          return false;
      }
    },
    now({ containers }: Inventory): ReadonlyMap<string, number | undefined> {
      const nowMs = monotonicMs();
      const ids = new Map(containers.map((one) => [fleetKeyOf(one.engine, one), one.id]));
      for (const [key, { expected }] of updates)
        if (expected !== undefined && (ids.get(key) === expected.id || nowMs > expected.untilMs)) updates.delete(key);
      return new Map([...updates].map(([key, one]) => [key, progressOf(one, nowMs, healthWindowMs)]));
    },
  };
}

type OneUpdate = {
  readonly runId: string;
  readonly phase: UpdatePhase | 'waiting';
  /** Since when it is in this phase, by the monotonic clock. */
  readonly sinceMs: number;
  /** Of the download, from 0 to 100. */
  readonly pulled?: number | undefined;
  /** Of its data, from 0 to 100. */
  readonly copied?: number | undefined;
  /** It has ended, and the engine's list should show this container under the name. */
  readonly expected?: { readonly id: string; readonly untilMs: number };
};

const maxLagMs = 5000;

/** From 0 to 100: the pull is the first half, the health window most of the second. A way back has no progress. */
function progressOf(
  { phase, pulled, copied = 0, sinceMs }: OneUpdate,
  nowMs: number,
  windowMs: number,
): number | undefined {
  switch (phase) {
    case 'waiting':
      return pulled === undefined ? undefined : 50;
    case 'pulling':
      return pulled === undefined ? undefined : Math.floor(pulled / 2);
    case 'preparing':
      return 50;
    case 'stopping':
      return 55;
    case 'saving data':
      return 56 + Math.floor(copied / 25);
    case 'starting':
      return 60;
    case 'checking health':
      return 65 + Math.floor(30 * Math.min(1, (nowMs - sinceMs) / Math.max(1, windowMs)));
    case 'committing':
      return 95;
    case 'rolling back':
    case 'restoring data':
      return undefined;
  }
}

/** The filters that select the container of an entity by its `fleetKeyOf`, and no service of the same name. */
function requestFor(key: string, { engines }: Pick<Application, 'engines'>): Request {
  const [own = key, kind] = key.split(' ');
  const [engine, bare = own] = engines === undefined ? [undefined, own] : own.split('/', 2);
  const containers = [bare.replaceAll('.', String.raw`\.`)];
  const only = { kind: kind === 'service' ? kind : 'container' } as const;
  return { images: [], containers, ...only, ...(engine !== undefined && { engines: [engine] }) };
}

function resultOf(container: string, outcome: ContainerOutcome | undefined): RequestResult {
  const reason = sentence(outcome?.reason ?? 'The run did not reach it');
  switch (outcome?.outcome) {
    case 'updated':
    case 'restarted': {
      const { from = '', to = '' } = outcome;
      const versions = from === '' || to === '' || from === to ? '' : ` from ${from} to ${to}`;
      return { kind: 'updated', container, text: `Updated${versions}` };
    }
    case 'failed':
      return { kind: 'failed', container, text: `Failed: ${reason}` };
    case 'rolled_back':
      return { kind: 'failed', container, text: `Failed and rolled back: ${reason}` };
    case 'fresh':
      return { kind: 'refused', container, text: 'Nothing to do: it is up to date' };
    default:
      return { kind: 'refused', container, text: `Not updated: ${reason}` };
  }
}

function isSame(one: Entities, other: Entities): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const asPerson = { trigger: 'http', by: 'Home Assistant', byPerson: true, refuseUnmatched: true } as const;
