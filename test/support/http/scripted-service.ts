import type { MissingPermissions } from '../../../src/domain/outside/permission.ts';
import type { ServiceStatus, ServiceEvent } from '../../../src/domain/run/event.ts';
import { createEventLog } from '../../../src/application/events/history.ts';
import type { CheckedContainer } from '../../../src/application/check/checked-container.ts';
import { ServiceError } from '../../../src/domain/text/errors.ts';
import type { ContainerOutcome, Session } from '../../../src/domain/run/session.ts';
import type { Inventory, TrackedContainer, TrackedImage } from '../../../src/domain/inventory.ts';
import type { HistoryEntry, Service } from '../../../src/interfaces/http/service/parts.ts';
import { digestOf, idOf } from '../scene/builders.ts';
import { silentLog } from '../test-log.ts';
import { checkReport, idleStatus, noDecisions } from '../scene/fake-application.ts';

/** A service for tests of the HTTP interface alone; the test scripts its results and their timing. */
export type ScriptedService = Service & {
  readonly script: {
    /** Known, without a newer image, unless the test sets it. */
    inventory: Pick<Inventory, 'revision' | 'containers' | 'images'> & Partial<Inventory>;
    history: readonly HistoryEntry[];
    status: ServiceStatus;
    /** If set, rejects instead. */
    failure: Error | undefined;
    readyFailure: Error | undefined;
    inventoryFailure: ServiceError | undefined;
    missingPermissions: MissingPermissions | undefined;
    checked: readonly CheckedContainer[];
    outcomes: readonly ContainerOutcome[];
    /** An update ends after this promise; undefined: at once. */
    updateEnds: Promise<unknown> | undefined;
    /** The same for a check and for a ping. */
    checkEnds: Promise<unknown> | undefined;
  };
  readonly asked: {
    readonly kind: 'check' | 'update';
    readonly images: readonly string[];
    readonly containers: readonly string[];
  }[];
  /** The number of updates that were requested to stop. */
  readonly aborted: unknown[];
  readonly announce: (event: ServiceEvent) => void;
};

const emptyInventory = { known: true, scope: '', unfinished: [], updatesAvailable: 0 };

/** The last events that are kept for clients that reconnect. */
const maxEvents = 50;

export function createScriptedService(): ScriptedService {
  const eventLog = createEventLog(silentLog, maxEvents);
  const waiting: (() => void)[] = [];
  let taken = false;
  let runs = 0;
  const asked: ScriptedService['asked'] = [];
  const aborted: unknown[] = [];
  const script: ScriptedService['script'] = {
    inventory: { revision: 1, containers: [], images: [] },
    history: [],
    status: idleStatus,
    failure: undefined,
    readyFailure: undefined,
    inventoryFailure: undefined,
    missingPermissions: undefined,
    checked: [],
    outcomes: [],
    updateEnds: undefined,
    checkEnds: undefined,
  };

  async function enter(isFull: boolean, signal: AbortSignal | undefined): Promise<void> {
    if (!taken) {
      taken = true;
      return;
    }
    if (isFull) throw new ServiceError('busy', 'Cannot update: another update is already running');
    await new Promise<void>((resolve, reject) => {
      const turn = (): void => {
        taken = true;
        resolve();
      };
      waiting.push(turn);
      signal?.addEventListener('abort', () => {
        waiting.splice(waiting.indexOf(turn), 1);
        reject(new ServiceError('cancelled', 'Cannot update: it was cancelled', { cause: signal.reason }));
      });
    });
  }

  return {
    decisions: noDecisions,
    script,
    asked,
    aborted,
    async update({ images, containers, trigger, onBegin }, signal) {
      asked.push({ kind: 'update', images, containers });
      await enter(images.length === 0 && containers.length === 0, signal);
      try {
        const runId = `run-${(runs += 1)}`;
        onBegin?.(runId);
        signal?.addEventListener('abort', () => aborted.push(signal.reason));
        await script.updateEnds;
        if (script.failure !== undefined) throw script.failure;
        const session: Session = {
          runId,
          trigger,
          startedAtMs: Date.now(),
          durationMs: 1250,
          containers: script.outcomes,
        };
        return session;
      } finally {
        taken = false;
        waiting.shift()?.();
      }
    },
    async plan(request) {
      const report = await this.check(request);
      return { report, plan: { transactions: [], refused: [], restarts: [] } };
    },
    rollBack(containers, signal, order) {
      return this.update({ images: [], containers, trigger: 'http', ...order }, signal);
    },
    notesOf: () => undefined,
    containerNames: async () => script.inventory.containers.map(({ name }) => name),
    async check({ images, containers }, signal) {
      asked.push({ kind: 'check', images, containers });
      const stopped = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
      if (script.checkEnds !== undefined) await Promise.race([script.checkEnds, stopped]);
      if (script.failure !== undefined) throw script.failure;
      return checkReport(script.checked, { startedAtMs: 0, durationMs: 0 });
    },
    inventory: () => ({ ...emptyInventory, ...script.inventory }),
    unwatched: () => [],
    engineVersion: () => '27.3.1',
    inventoryFailure: () => script.inventoryFailure,
    missingPermissions: () => script.missingPermissions,
    history: () => script.history,
    refreshHistory: () => Promise.resolve(),
    status: () => script.status,
    async ready() {
      await script.checkEnds;
      if (script.readyFailure !== undefined) throw script.readyFailure;
    },
    eventLog,
    announce: eventLog.onEvent,
  };
}

export function watchedContainer(name: string, parts: Partial<TrackedContainer> = {}): TrackedContainer {
  return {
    name,
    image: `${name}:1`,
    imageId: digestOf(`image ${name}`),
    digest: digestOf(`manifest ${name}`),
    running: true,
    self: false,
    monitorOnly: false,
    noPull: false,
    enabled: true,
    stale: false,
    scope: '',
    id: idOf(`container ${name}`),
    createdAtMs: Date.UTC(2026, 0, 1, 12, 30, 0, 250),
    status: 'running',
    health: 'none',
    staleness: undefined,
    updateAvailable: false,
    latestDigest: '',
    checkedAtMs: undefined,
    reason: '',
    dependsOn: [],
    labelsInEffect: {},
    settings: [],
    canRollBack: false,
    ...parts,
  };
}

export function trackedImage(name: string, parts: Partial<TrackedImage> = {}): TrackedImage {
  return { name, imageId: digestOf(`image ${name}`), digest: digestOf(`manifest ${name}`), containers: 1, ...parts };
}

export function historyEntry(timestampMs: number, parts: Partial<HistoryEntry> = {}): HistoryEntry {
  const counts = {
    scanned: 3,
    updated: 1,
    failed: 0,
    restarted: 0,
    skipped: 0,
    rolledBack: 0,
    failures: [],
    containers: [],
  };
  return { timestampMs, ...counts, runId: `run-at-${timestampMs}`, trigger: 'schedule', durationMs: 1200, ...parts };
}
