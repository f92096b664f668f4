import type { StepKind } from '../step.ts';

/** `inVain`: how often a step may succeed without a change of the facts. `failures`: how often it may fail. */
export const limits: { readonly [K in StepKind]: { readonly inVain: number; readonly failures: number } } = {
  mark: { inVain: 2, failures: 3 },
  unmark: { inVain: 2, failures: 5 },
  create: { inVain: 2, failures: 3 },
  autoRemoveReplica: { inVain: 2, failures: 8 },
  connect: { inVain: 3, failures: 3 },
  copyFiles: { inVain: 2, failures: 3 },
  compare: { inVain: 2, failures: 3 },
  rename: { inVain: 3, failures: 8 },
  policy: { inVain: 3, failures: 5 },
  hook: { inVain: 2, failures: 3 },
  stop: { inVain: 3, failures: 8 },
  start: { inVain: 2, failures: 8 },
  gate: { inVain: 2, failures: 8 },
  waitOutPendingStop: { inVain: 2, failures: 8 },
  tag: { inVain: 2, failures: 3 },
  remove: { inVain: 3, failures: 5 },
  keep: { inVain: 3, failures: 5 },
  leave: { inVain: 2, failures: 3 },
};

/** 0.1, 0.2, 0.4 … 5 s: eight attempts take about 20 s, long enough for an engine that has just booted. */
export function backoffMs(attempt: number): number {
  return Math.min(5000, 50 * 2 ** attempt);
}

/** Longest wait for an engine that cannot be reached. After it, the next start of Upkeep finishes the transaction. */
export const reconnectLimitMs = 600_000;

/** Longest wait for an engine that answers with errors: a container that it cannot show must not block all others. */
export const refusalLimitMs = 60_000;

/**
 * Longest wait for an engine that cannot be reached after a stop signal, in all well below the ten seconds until Docker
 * kills a container that it stops: https://docs.docker.com/reference/cli/docker/container/stop/
 */
export const stoppingLimitMs = 5_000;

export const stoppingPauseMs = 1_000;
