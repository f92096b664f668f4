import type { Application } from '../../application/application.ts';
import type { ContainerStatus, HealthStatus } from '../../domain/container.ts';
import type { ServiceEvent } from '../../domain/event.ts';
import type { SessionSummary, Trigger } from '../../domain/session.ts';

/** What the HTTP interface needs of the application. */
export type Service = Pick<Application, 'check' | 'update'> & {
  /** From memory: costs no engine call. */
  readonly inventory: () => InventoryView;
  /** Ascending, at most 500. */
  readonly history: () => readonly HistoryEntry[];
  readonly status: () => ServiceStatus;
  readonly eventLog: EventLog;
  /** Asks the engine for a sign of life; throws a `ServiceError` when there is none. */
  readonly ready: (signal: AbortSignal) => Promise<void>;
};

export type InventoryView = {
  /** Grows with every change. */
  readonly revision: number;
  readonly containers: readonly WatchedContainer[];
  readonly images: readonly TrackedImage[];
};

export type WatchedContainer = {
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  readonly digest: string;
  readonly running: boolean;
  readonly self: boolean;
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  readonly enabled: boolean;
  readonly stale: boolean;
  readonly scope: string;
  readonly id: string;
  readonly createdAtMs: number;
  readonly status: ContainerStatus;
  readonly health: HealthStatus;
  readonly updateAvailable: boolean;
  readonly latestDigest: string;
  /** Undefined: not yet. */
  readonly checkedAtMs: number | undefined;
  readonly reason: string;
  readonly dependsOn: readonly string[];
  readonly labelsInEffect: Readonly<Record<string, string>>;
};

export type TrackedImage = {
  readonly name: string;
  readonly imageId: string;
  readonly digest: string;
  readonly containers: number;
};

export type HistoryEntry = SessionSummary & {
  readonly timestampMs: number;
  readonly runId: string;
  readonly trigger: Trigger;
  readonly durationMs: number;
  readonly rolledBack: number;
};

export type ServiceStatus = {
  readonly lastRun: { readonly atMs: number; readonly summary: SessionSummary } | undefined;
  readonly nextRunAtMs: number | undefined;
  readonly running: boolean;
  readonly updatesAvailable: number;
};

export type EventLog = {
  /** Those after the id that are still kept, oldest first. */
  readonly since: (id: number) => readonly LoggedEvent[];
  readonly subscribe: (listener: (logged: LoggedEvent) => void) => () => void;
  /** 0 before the first. */
  readonly lastId: () => number;
};

export type LoggedEvent = { readonly id: number; readonly event: ServiceEvent; readonly atMs: number };
