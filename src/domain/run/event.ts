import type { ContainerOutcome, EntryKind, Session, SessionSummary, Trigger, UpdatePhase } from './session.ts';
import type { RecoveredTransaction } from './recovery-report.ts';
import type { TaskProgress } from '../swarm/swarm-service.ts';

/**
 * Everything that the service publishes. Log, live table, metrics, history and streams listen; updating code knows none
 * of them.
 */
export type ServiceEvent = OneEvent & {
  /** The engine of the event, if the process works on several. */
  readonly engine?: string;
};

type OneEvent =
  | {
      readonly kind: 'scan_started';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      readonly trigger: Trigger;
      readonly atMs: number;
    }
  /** A full update was skipped, because another one was running. */
  | { readonly kind: 'scan_skipped'; readonly trigger: Trigger; readonly reason: string; readonly atMs: number }
  | {
      readonly kind: 'containers_selected';
      readonly runId: string;
      /** By `entryKeyOf`. */
      readonly names: readonly string[];
      /** The notification targets of a container's label, by `entryKeyOf`. */
      readonly recipients?: Readonly<Record<string, readonly string[]>>;
    }
  | {
      readonly kind: 'container_checked';
      readonly runId: string;
      readonly container: string;
      readonly entryKind?: EntryKind;
      /** In short form. */
      readonly image: string;
      readonly status: string;
      readonly reason: string;
      readonly checked?: CheckedFacts;
    }
  | {
      readonly kind: 'pull_progress';
      readonly runId: string;
      readonly container: string;
      readonly progress: PullProgress;
    }
  | {
      readonly kind: 'update_started';
      readonly runId: string;
      readonly container: string;
      readonly entryKind?: EntryKind;
      readonly image: string;
      /** The reference before an update to another tag. */
      readonly formerImage?: string;
      readonly from: string;
      readonly to: string;
      /** The container returns to its previous version on request. */
      readonly isRollback?: true;
      readonly atMs: number;
    }
  | {
      readonly kind: 'phase_entered';
      readonly runId: string;
      readonly container: string;
      readonly entryKind?: EntryKind;
      readonly phase: UpdatePhase;
      /** For a service of a swarm. Published again for each further running task. */
      readonly tasks?: TaskProgress;
    }
  | {
      /** `update_deferred`: it was begun and then deferred before any change. This is not a failure. */
      readonly kind: 'update_completed' | 'update_failed' | 'update_deferred';
      readonly runId: string;
      readonly outcome: ContainerOutcome;
      readonly atMs: number;
    }
  /** Results of earlier updates, each reported once: of interrupted updates, and of our own by a helper. */
  | { readonly kind: 'earlier_updates_settled'; readonly transactions: readonly RecoveredTransaction[] }
  | {
      readonly kind: 'image_cleanup';
      readonly runId: string;
      readonly images: readonly RemovedImage[];
      readonly atMs: number;
    }
  /** After a check, `failed` counts the containers that could not be checked. */
  | ({
      readonly kind: 'scan_completed';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      /** Containers that went back on request; absent without any. */
      readonly wentBack?: number;
      /** The whole run; undefined for a check. */
      readonly session: Session | undefined;
      readonly atMs: number;
    } & SessionSummary)
  | {
      readonly kind: 'scan_failed';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      readonly error: string;
      readonly atMs: number;
    }
  /** One of several engines does not answer. Its last containers stay listed. */
  | { readonly kind: 'engine_unreachable'; readonly error: string; readonly atMs: number }
  | { readonly kind: 'engine_reachable'; readonly atMs: number };

/** The kind of reason of a verdict, its times and its versions. Absent values are unknown. */
export type CheckedFacts = {
  readonly hold?: string;
  readonly eligibleAtMs?: number;
  readonly retryAtMs?: number;
  readonly latestDigest?: string;
  /** The digest that an update would apply, if it is not the newest one. */
  readonly candidateDigest?: string;
  /** The name of the newer image in short form, and the difference of its tag: `digest` means the same tag. */
  readonly candidate?: string;
  readonly candidateKind?: string;
  readonly version?: string;
  readonly latestVersion?: string;
  readonly change?: string;
};

/** A check changes nothing, an update may replace containers. Both begin with the same listing. */
export type ScanPurpose = 'check' | 'update';

export type RemovedImage = {
  readonly imageId: string;
  readonly imageName: string;
  readonly containerId: string;
  readonly containerName: string;
};

export type PullProgress = {
  readonly layersDone: number;
  readonly layers: number;
  readonly bytes: number;
  readonly totalBytes: number;
};

/** From 0 to 100, rounded down. Undefined until the size is known. */
export function percentOf({ bytes, totalBytes }: Pick<PullProgress, 'bytes' | 'totalBytes'>): number | undefined {
  return totalBytes > 0 ? Math.min(100, Math.floor((100 * bytes) / totalBytes)) : undefined;
}
