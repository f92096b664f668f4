import type { Application } from '../../../application/application.ts';

/** Results of the use cases, derived from `Application`. */
export type CheckReport = Awaited<ReturnType<Application['check']>>;
export type CheckedContainer = CheckReport['containers'][number];
export type UnfinishedContainer = CheckReport['unfinished'][number];
export type PlanReport = Awaited<ReturnType<Application['plan']>>;
export type RehearsalReport = Awaited<ReturnType<Application['rehearse']>>;
export type RecoveryReport = Awaited<ReturnType<Application['recover']>>;
