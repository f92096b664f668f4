import { accessTest, type AccessFilter } from '../../../domain/access/rights.ts';
import type { ComposeState } from '../../../domain/compose/compose-state.ts';
import { countUpdates, type TrackedContainer, type TrackedImage, type Inventory } from '../../../domain/inventory.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import {
  isContainer,
  shownName,
  type ContainerOutcome,
  type EngineRun,
  type EntryKind,
} from '../../../domain/run/session.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import type { HistoryEntry, Service } from './parts.ts';

type EngineState = ReturnType<NonNullable<Service['engines']>>[number];

/** The service as a limited caller sees it: containers outside of its filter do not exist, in no list and no sentence. */
export type LimitedService = {
  readonly service: Service;
  /** The event without foreign containers. Undefined if it is about nothing else. */
  readonly limitEvent: <Event extends ServiceEvent>(event: Event) => Event | undefined;
  /** The lines of metrics without the series of foreign containers. */
  readonly limitMetrics: (text: string) => string;
  /** A sentence without the names of foreign containers. */
  readonly redact: (text: string) => string;
};

/** Remembers the last limited inventory and history, which many requests read. */
export function limitService(service: Service, within: AccessFilter): LimitedService {
  const isWithin = accessTest(within);
  const seen = remembered(service.inventory, (all) => limitInventory(all));
  const runs = remembered(service.history, (all) => all.flatMap(limitRun));

  let hiding:
    | { readonly inventory: Inventory; readonly history: object; readonly hide: (text: string) => string }
    | undefined;

  const own = (): readonly TrackedContainer[] => seen().containers;
  /** Without a kind: a name that a person has typed, of a container or a service. */
  const isOwn = (name: string, engine?: string, kind?: EntryKind): boolean => {
    const { containers, unfinished } = seen();
    const isOfKind = (one: Entry): boolean => kind === undefined || isContainer(one) === isContainer({ kind });
    const entries: readonly Entry[] = [...containers, ...unfinished];
    return entries.some((one) => one.name === name && (engine ?? one.engine) === one.engine && isOfKind(one));
  };
  const isOwnService = (name: string): boolean => isOwn(name, undefined, 'service');
  const isOwnEntry = ({ name, engine, kind = 'container' }: Entry): boolean => isOwn(name, engine, kind);
  /** A container and a service of its name share their decisions, which are not the caller's if one of them is foreign. */
  const mayDecide = (name: string, engine?: string): boolean =>
    isOwn(name, engine) &&
    !service
      .inventory()
      .containers.some(
        (one) =>
          one.name === name && (engine ?? one.engine) === one.engine && !isWithin(one) && isOwn(name, one.engine),
      );
  /** For a name that is unique among the caller's own containers although another engine has it too. */
  const engineOf = (name: string): string | undefined => {
    const engines = own().flatMap((one) => (one.name === name && one.engine !== undefined ? one.engine : []));
    return engines.length === 1 ? engines[0] : undefined;
  };

  const { engines, engineVersion, inventoryFailure, missingPermissions, refreshHistory, eventLog, ready } = service;
  // Each member is named, so that a new one does not compile until somebody has decided what it shows.
  const limited: Service = {
    ...{ engineVersion, inventoryFailure, missingPermissions, refreshHistory, eventLog, ready },
    ...(engines && { engines: () => engines().map(stateOf) }),
    inventory: seen,
    unwatched: () =>
      service
        .unwatched()
        .filter(isWithin)
        .map((one) => ({ ...one, reason: redact(one.reason) })),
    history: runs,
    status() {
      const { lastRun, run, updatesAvailable, ...rest } = service.status();
      const last = runs().at(-1);
      return {
        ...rest,
        lastRun: lastRun && last && { atMs: last.timestampMs, summary: summaryOf(last) },
        updatesAvailable: updatesAvailable === undefined ? undefined : seen().updatesAvailable,
        ...(run && { run: { ...run, containers: run.containers.filter(isOwnEntry) } }),
      };
    },
    containerNames: async (signal) => (await service.containerNames(signal)).filter((name) => isOwn(name)),
    notesOf(name, engine = engineOf(name)) {
      const found = isOwn(name, engine) ? service.notesOf(name, engine) : undefined;
      return typeof found === 'object' && !isWithin(found) ? undefined : found;
    },
    decisions: {
      list: async () => (await service.decisions.list()).filter((one) => mayDecide(one.container, one.engine)),
      async take(request) {
        const engine = request.engine ?? engineOf(request.container);
        if (!mayDecide(request.container, engine))
          return { kind: 'conflict', fault: 'no newer version of it is known' };
        return service.decisions.take({ ...request, ...(engine !== undefined && { engine }) });
      },
      async withdraw(id, by) {
        const found = (await limited.decisions.list()).some((one) => one.id === id);
        return found ? service.decisions.withdraw(id, by) : undefined;
      },
      candidateOf: (name, engine = engineOf(name)) =>
        mayDecide(name, engine) ? service.decisions.candidateOf(name, engine) : undefined,
    },
    async check(request, signal) {
      const report = await service.check({ ...request, within }, signal);
      return { ...report, containers: report.containers.map(withoutForeign), ...enginesOf(report) };
    },
    async plan(request, signal) {
      const { report, plan } = await service.plan({ ...request, within }, signal);
      const refused = plan.refused.map((one) => ({ ...one, reason: redact(one.reason) }));
      const services = plan.services?.map((one) => ({ ...one, after: one.after.filter((name) => isOwnService(name)) }));
      return {
        report: { ...report, containers: report.containers.map(withoutForeign) },
        plan: { ...plan, refused, ...(services && { services }) },
      };
    },
    async update(request, signal) {
      const session = await service.update({ ...request, within }, signal);
      return { ...session, containers: outcomesOf(session), ...enginesOf(session) };
    },
    async rollBack(names, signal, order = {}) {
      // Without the name, which is hidden in a sentence if others have it, and so would tell that they do.
      if (names.some((name) => !isOwn(name)))
        throw new ServiceError('not-found', 'Cannot roll back: there is no container of this name');
      const engines = [...new Set(names.flatMap((name) => engineOf(name) ?? []))];
      const meant = (order.engines ?? []).length > 0 ? order.engines : engines;
      const session = await service.rollBack(names, signal, { ...order, within, ...(meant && { engines: meant }) });
      return { ...session, containers: outcomesOf(session), ...enginesOf(session) };
    },
  };

  return { service: limited, limitEvent, limitMetrics, redact };

  function limitInventory(all: Inventory): Inventory {
    const containers = all.containers.filter(isWithin);
    const names = new Set(containers.map(({ name }) => name));
    const isKnown = (name: string) => names.has(name);
    const shown = containers.map((one): TrackedContainer => ({
      ...one,
      dependsOn: one.dependsOn.filter(isKnown),
      labelsInEffect: Object.fromEntries(
        Object.entries(one.labelsInEffect).map(([name, text]) => [name, redact(text)]),
      ),
      settings: one.settings.map((setting) => ({ ...setting, value: redact(setting.value) })),
      reason: redact(one.reason),
      ...hideCompose(one, redact),
      ...(one.last && { last: { ...one.last, outcome: hideIn(one.last.outcome, redact) } }),
    }));
    return {
      ...all,
      containers: shown,
      unfinished: all.unfinished.filter(isWithin).map((one) => ({ ...one, reason: redact(one.reason) })),
      images: imagesAmong(all.images, containers),
      updatesAvailable: all.updatesAvailable === undefined ? undefined : countUpdates(containers),
    };
  }

  /** A run without a container of the caller does not exist. Its counts are of the caller's containers. */
  function limitRun(run: HistoryEntry): readonly HistoryEntry[] {
    const ownOutcomes = run.containers.filter(isWithin);
    const containers = ownOutcomes.map((one) => hideIn(one, redact));
    if (containers.length === 0) return [];
    // A failure does not tell whether it is of a container or of a service.
    const failed = new Set(ownOutcomes.map(failureKey));
    const count = (...kinds: readonly ContainerOutcome['outcome'][]) =>
      containers.filter(({ outcome }) => kinds.includes(outcome)).length;
    return [
      {
        ...run,
        containers,
        failures: run.failures
          .filter((one) => failed.has(failureKey(one)))
          .map((one) => ({ ...one, reason: redact(one.reason) })),
        scanned: containers.length,
        updated: count('updated'),
        failed: count('failed', 'rolled_back'),
        restarted: count('restarted'),
        skipped: count('skipped', 'deferred', 'unknown'),
        rolledBack: count('rolled_back'),
        ...enginesOf(run),
      },
    ];
  }

  function stateOf({ error, updatesAvailable, ...state }: EngineState): EngineState {
    const containers = own().filter((one) => one.engine === state.name);
    return {
      ...state,
      containers: containers.length,
      error: error === undefined ? undefined : redact(error),
      updatesAvailable: updatesAvailable === undefined ? undefined : countUpdates(containers),
    };
  }

  function redact(text: string): string {
    const [inventory, history] = [service.inventory(), service.history()];
    if (hiding?.inventory !== inventory || hiding.history !== history) {
      const ownNames = new Set(inventory.containers.filter(isWithin).map(({ name }) => name));
      hiding = { inventory, history, hide: redactionOf(foreignNames(inventory, ownNames)) };
    }
    return hiding.hide(text);
  }

  /** Every container that the process has ever told of, and that is not the caller's. */
  function foreignNames({ containers, unfinished }: Inventory, ownNames: ReadonlySet<string>): ReadonlySet<string> {
    const told = [
      ...containers,
      ...unfinished,
      ...service.unwatched(),
      ...service.history().flatMap((run) => run.containers),
      ...containers.flatMap((one) => one.dependsOn.map((name) => ({ name }))),
    ];
    return new Set(told.flatMap(({ name }) => (ownNames.has(name) ? [] : name)));
  }

  function outcomesOf({ containers }: { readonly containers: readonly ContainerOutcome[] }) {
    return containers.filter(isWithin).map((one) => hideIn(one, redact));
  }

  function withoutForeign<
    Checked extends { readonly reason: string; readonly error?: string | undefined; readonly compose?: ComposeState },
  >(checked: Checked): Checked {
    const { error } = checked;
    return {
      ...checked,
      reason: redact(checked.reason),
      ...(error !== undefined && { error: redact(error) }),
      ...hideCompose(checked, redact),
    };
  }

  function enginesOf({ engines }: { readonly engines?: readonly EngineRun[] | undefined }) {
    if (engines === undefined) return {};
    return {
      engines: engines.map(({ error, ...run }) => ({ ...run, ...(error !== undefined && { error: redact(error) }) })),
    };
  }

  function limitEvent<Event extends ServiceEvent>(event: Event): Event | undefined {
    const { engine } = event;
    switch (event.kind) {
      case 'update_started':
      case 'container_checked':
        return isWithin({ name: event.container, image: event.image })
          ? { ...event, ...('reason' in event && { reason: redact(event.reason) }) }
          : undefined;
      case 'phase_entered':
        return isOwnEntry({ name: event.container, engine, kind: event.entryKind }) ? event : undefined;
      case 'pull_progress':
        return isOwnEntry({ name: event.container, engine }) ? event : undefined;
      case 'compose_file': {
        const { container: name, state } = event;
        return isOwnEntry({ name, engine }) ? { ...event, state: withoutServices(state, redact) } : undefined;
      }
      case 'update_completed':
      case 'update_failed':
      case 'update_deferred':
        return isWithin(event.outcome) ? { ...event, outcome: hideIn(event.outcome, redact) } : undefined;
      case 'image_cleanup': {
        const images = event.images.filter((one) => isWithin({ name: one.containerName, image: one.imageName }));
        return images.length === 0 ? undefined : { ...event, images };
      }
      case 'scan_completed':
        return { ...event, ...countsOf(event) };
      case 'scan_failed':
      case 'engine_unreachable':
        return { ...event, error: redact(event.error) };
      case 'scan_started':
      case 'engine_reachable':
      case 'notes_read':
      case 'results_changed':
        return event;
      case 'scan_skipped':
      case 'containers_selected':
      case 'earlier_updates_settled':
        return undefined;
    }
    return undefined;
  }

  function countsOf({ purpose, runId }: Extract<ServiceEvent, { kind: 'scan_completed' }>) {
    const nothing = { scanned: own().length, updated: 0, failed: 0, restarted: 0, skipped: 0, wentBack: undefined };
    if (purpose === 'check') return { ...nothing, failed: own().filter((one) => one.staleness === 'unknown').length };
    const run = runs().find((one) => one.runId === runId);
    if (run === undefined) return nothing;
    const { updated, failed, restarted, skipped, containers } = run;
    const back = containers.filter(({ outcome }) => outcome === 'went_back').length;
    return { ...nothing, updated, failed, restarted, skipped, ...(back > 0 && { wentBack: back }) };
  }

  function limitMetrics(text: string): string {
    return text
      .split('\n')
      .filter((line) => {
        const [, name] = /[{,]container="([^"]*)"/.exec(line) ?? [];
        const [, image = ''] = /[{,]image="([^"]*)"/.exec(line) ?? [];
        return name === undefined || isWithin({ name, image });
      })
      .join('\n');
  }
}

/** Without a kind: a container. */
type Entry = {
  readonly name: string;
  readonly engine?: string | undefined;
  readonly kind?: EntryKind | undefined;
};

function failureKey(one: Parameters<typeof shownName>[0] & Pick<ContainerOutcome, 'outcome' | 'reason'>): string {
  return [shownName(one), one.outcome, one.reason].join(' ');
}

function summaryOf({ scanned, updated, failed, restarted, skipped }: HistoryEntry) {
  return { scanned, updated, failed, restarted, skipped };
}

function hideIn(outcome: ContainerOutcome, hide: (text: string) => string): ContainerOutcome {
  const { reason, log } = outcome;
  return {
    ...outcome,
    reason: hide(reason),
    ...(log !== undefined && { log: hide(log) }),
    ...hideCompose(outcome, hide),
  };
}

function hideCompose({ compose }: { readonly compose?: ComposeState | undefined }, hide: (text: string) => string) {
  return compose === undefined ? {} : { compose: withoutServices(compose, hide) };
}

/** The services of a project that share a text of its file are containers of others. */
function withoutServices(
  { services: _, detail, ...state }: ComposeState,
  hide: (text: string) => string,
): ComposeState {
  return { ...state, ...(detail !== undefined && { detail: hide(detail) }) };
}

/** The images that these containers run, each with their number. */
function imagesAmong(
  images: readonly TrackedImage[],
  containers: readonly TrackedContainer[],
): readonly TrackedImage[] {
  return images.flatMap((image) => {
    const { name, imageId, engine } = image;
    const running = containers.filter((one) => one.image === name && one.imageId === imageId && one.engine === engine);
    return running.length === 0 ? [] : { ...image, containers: running.length };
  });
}

/** Replaces whole names. Part of a longer name or of a version is left. */
function redactionOf(names: ReadonlySet<string>): (text: string) => string {
  if (names.size === 0) return (text) => text;
  return (text) =>
    text.replaceAll(/(?<![\w.-])[a-zA-Z0-9][\w.-]*/g, (word) => {
      const name = word.replace(/\.+$/, '');
      return names.has(name) ? `another container${word.slice(name.length)}` : word;
    });
}

/** The same result for the same object, because inventories and histories never change. */
function remembered<From extends object, To>(read: () => From, make: (from: From) => To): () => To {
  let from: From | undefined;
  let made: { readonly value: To } | undefined;
  return () => {
    const now = read();
    if (made === undefined || from !== now) [from, made] = [now, { value: make(now) }];
    return made.value;
  };
}
