import type { Application } from '../../../application/application.ts';
import type { ContainerOutcome } from '../../../domain/run/session.ts';

/** Results of the use cases, derived from `Application`. */
export type CheckReport = Awaited<ReturnType<Application['check']>>;
export type CheckedContainer = CheckReport['containers'][number] & CheckedVersions;
export type UnfinishedContainer = CheckReport['unfinished'][number];
export type PlanReport = Awaited<ReturnType<Application['plan']>>;
export type RehearsalReport = Awaited<ReturnType<Application['rehearse']>>;
export type RecoveryReport = Awaited<ReturnType<Application['recover']>>;

/** Versions as people name them, where the check knows them. */
export type CheckedVersions = {
  readonly version?: string;
  readonly latestVersion?: string;
  /** Reference of the newer image. */
  readonly candidate?: string;
  /** When the newer image was built, milliseconds since the epoch. */
  readonly releasedAtMs?: number;
};

export type VersionedOutcome = ContainerOutcome & { readonly from?: string; readonly to?: string };
