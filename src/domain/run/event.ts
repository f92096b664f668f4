import type { RecoveredTransaction } from './recovery-report.ts';
import { type UpdatePhase } from './session.ts';
import type { ContainerOutcome, Session, Trigger } from './session.ts';
import type { TaskProgress } from '../swarm/swarm-service.ts';

/** Everything the service announces. Log, live table, metrics, history and streams listen; updating code knows none of them. */
export type ServiceEvent = OneEvent & {
  /** Of the event, in a process that works on several. */
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
  /** A full update found another one running, and gave way. */
  | { readonly kind: 'scan_skipped'; readonly trigger: Trigger; readonly reason: string; readonly atMs: number }
  | {
      readonly kind: 'containers_selected';
      readonly runId: string;
      readonly names: readonly string[];
      /** By name, the targets of notifications that hear of a container; of those whose label says so. */
      readonly recipients?: Readonly<Record<string, readonly string[]>>;
    }
  | {
      readonly kind: 'container_checked';
      readonly runId: string;
      readonly container: string;
      /** As people write it. */
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
      readonly image: string;
      /** Of an update to another tag: the reference before it. */
      readonly formerImage?: string;
      readonly from: string;
      readonly to: string;
      readonly atMs: number;
    }
  | {
      readonly kind: 'phase_entered';
      readonly runId: string;
      readonly container: string;
      readonly phase: UpdatePhase;
      /** Of a service of a swarm, which is said again whenever more of them run. */
      readonly tasks?: TaskProgress;
    }
  | {
      readonly kind: 'update_completed';
      readonly runId: string;
      readonly outcome: ContainerOutcome;
      readonly atMs: number;
    }
  | {
      readonly kind: 'update_failed';
      readonly runId: string;
      readonly outcome: ContainerOutcome;
      readonly atMs: number;
    }
  /** It was begun and put off before anything was touched, which is no failure. */
  | {
      readonly kind: 'update_deferred';
      readonly runId: string;
      readonly outcome: ContainerOutcome;
      readonly atMs: number;
    }
  /** What became of earlier updates, each told once: of those that were interrupted, and of our own by a helper. */
  | { readonly kind: 'earlier_updates_settled'; readonly transactions: readonly RecoveredTransaction[] }
  | {
      readonly kind: 'image_cleanup';
      readonly runId: string;
      readonly images: readonly RemovedImage[];
      readonly atMs: number;
    }
  | {
      readonly kind: 'scan_completed';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      readonly scanned: number;
      readonly updated: number;
      /** In a check: containers that could not be checked. */
      readonly failed: number;
      readonly restarted: number;
      readonly skipped: number;
      /** The whole run; undefined for a check. */
      readonly session: Session | undefined;
      readonly atMs: number;
    }
  | {
      readonly kind: 'scan_failed';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      readonly error: string;
      readonly atMs: number;
    }
  /** One of several engines does not answer; its last containers stay listed. */
  | { readonly kind: 'engine_unreachable'; readonly error: string; readonly atMs: number }
  | { readonly kind: 'engine_reachable'; readonly atMs: number };

/** The kind of reason of a verdict, and the versions it is about; absent values are not known. */
export type CheckedFacts = {
  readonly hold?: string;
  /** What the newer image goes by, as people write it, and how its tag differs from the container's: `digest` is the same tag. */
  readonly candidate?: string;
  readonly candidateKind?: string;
  readonly version?: string;
  readonly latestVersion?: string;
  readonly change?: string;
};

/** A check only asks; an update may replace containers. Both begin with the same look at all of them. */
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
