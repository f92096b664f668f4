import type { Application } from '../../../src/application/application.ts';
import type { CheckedContainer } from '../../../src/interfaces/json/entries.ts';
import type {
  CheckReport,
  PlanReport,
  RecoveryReport,
  RehearsalReport,
} from '../../../src/interfaces/cli/context/context.ts';
import type { ServiceEvent, ServiceStatus } from '../../../src/domain/run/event.ts';
import type { ContainerOutcome, Session } from '../../../src/domain/run/session.ts';
import { digestOf, idOf } from './builders.ts';

/** A service with given answers; it records its requests. */
export type FakeApplication = Application & {
  readonly publish: (event: ServiceEvent) => void;
  /** The use cases that were called, in order, with their requests. */
  readonly asked: readonly (readonly [string, unknown])[];
  readonly listeners: () => number;
};

export type FakeAnswers = {
  readonly check?: (application: FakeApplication, signal?: AbortSignal) => Promise<CheckReport> | CheckReport;
  readonly plan?: () => PlanReport;
  readonly rehearsals?: RehearsalReport['rehearsals'];
  readonly update?: (application: FakeApplication, signal?: AbortSignal) => Promise<Session> | Session;
  readonly recover?: () => RecoveryReport;
  readonly containerNames?: () => readonly string[];
  readonly keptCopies?: Awaited<ReturnType<Application['keptCopies']>>;
};

export function createFakeApplication(answers: FakeAnswers = {}): FakeApplication {
  const asked: (readonly [string, unknown])[] = [];
  const listeners = new Set<(event: ServiceEvent) => void>();
  const { check = () => checkReport([]), update = () => session([]) } = answers;
  const { plan = () => ({ report: checkReport([]), plan: { transactions: [], refused: [], restarts: [] } }) } = answers;
  const { recover = () => ({ transactions: [] }) } = answers;
  const application: FakeApplication = {
    check: async (request, signal) => {
      asked.push(['check', request]);
      return check(application, signal);
    },
    plan: async (request) => {
      asked.push(['plan', request]);
      return plan();
    },
    rehearse: async (request) => {
      asked.push(['rehearse', request]);
      return { ...plan(), rehearsals: answers.rehearsals ?? [] };
    },
    update: async (request, signal) => {
      asked.push(['update', request]);
      return update(application, signal);
    },
    rollBack: async (names, signal, order) => {
      asked.push(['rollBack', order?.data === undefined ? names : { names, data: order.data }]);
      return update(application, signal);
    },
    recover: async (_, order) => {
      asked.push(['recover', order?.dataChoice]);
      return recover();
    },
    finishUpdate: async (transaction) => {
      asked.push(['finishUpdate', transaction]);
      return recover();
    },
    keptCopies: () => Promise.resolve(answers.keptCopies ?? []),
    removeKeptCopies: async (names) => {
      asked.push(['removeKeptCopies', names]);
      return (answers.keptCopies ?? []).filter(({ container }) => names.includes(container));
    },
    updatesItself: () => true,
    keepUpdating: () => Promise.resolve(),
    follow: () => Promise.resolve(),
    unwatched: () => [],
    inventory: () => ({
      revision: 0,
      known: false,
      scope: '',
      containers: [],
      unfinished: [],
      images: [],
      updatesAvailable: 0,
    }),
    engineVersion: () => undefined,
    inventoryFailure: () => undefined,
    missingPermissions: () => undefined,
    history: () => [],
    refreshHistory: () => Promise.resolve(),
    status: () => idleStatus,
    eventLog: {
      since: () => [],
      lastId: () => 0,
      subscribe: () => () => undefined,
      subscribeToSteps: () => () => undefined,
    },
    decisions: noDecisions,
    notesOf: () => undefined,
    readNotes: () => Promise.resolve(),
    containerNames: async () => {
      asked.push(['containerNames', undefined]);
      return answers.containerNames?.() ?? [];
    },
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    publish: (event) => {
      for (const listener of listeners) listener(event);
    },
    asked,
    listeners: () => listeners.size,
  };
  return application;
}

export const idleStatus: ServiceStatus = {
  lastRun: undefined,
  nextRunAtMs: undefined,
  running: false,
  repairing: false,
  updatesAvailable: 0,
};

export const noDecisions: Application['decisions'] = {
  candidateOf: () => undefined,
  list: () => Promise.resolve([]),
  take: () => Promise.resolve({ kind: 'conflict', fault: 'no newer version of it is known' }),
  withdraw: () => Promise.resolve(undefined),
};

export function checkReport(containers: readonly CheckedContainer[], parts: Partial<CheckReport> = {}): CheckReport {
  const nothing = { unmatched: [], unwatched: [], unfinished: [], obsoleteFailures: [] };
  return { containers, ...nothing, startedAtMs: Date.UTC(2026, 0, 1), durationMs: 1500, ...parts };
}

/** Up to date by default. */
export function checkedContainer(name: string, parts: Partial<CheckedContainer> = {}): CheckedContainer {
  return {
    id: idOf(`container ${name}`),
    name,
    image: `${name}:1`,
    reference: `${name}:1`,
    successorReference: `${name}:1`,
    imageId: digestOf(`image ${name}`),
    digest: digestOf(`manifest ${name}`),
    status: 'fresh',
    reason: 'Runs the newest image of its tag',
    updateAvailable: false,
    latestDigest: digestOf(`manifest ${name}`),
    latestImageId: undefined,
    pullDigest: digestOf(`manifest ${name}`),
    eligibleAtMs: undefined,
    error: undefined,
    failedVersion: undefined,
    ...parts,
  };
}

export function session(containers: readonly ContainerOutcome[]): Session {
  return { runId: 'run-1', trigger: 'command', startedAtMs: Date.UTC(2026, 0, 1), durationMs: 12_345, containers };
}

/** Up to date by default. */
export function containerOutcome(name: string, parts: Partial<ContainerOutcome> = {}): ContainerOutcome {
  const image = digestOf(`image ${name}`);
  const digest = digestOf(`manifest ${name}`);
  return {
    name,
    image: `${name}:1`,
    outcome: 'fresh',
    reason: '',
    oldImageId: image,
    newImageId: image,
    oldDigest: digest,
    newDigest: digest,
    ...parts,
  };
}
