import type { ContainerOutcome } from './session.ts';

/**
 * Facts of an interruption: the time of the stop request, and the engine's timestamps of the end and the next start.
 */
export type StopTimes = {
  /** By the engine's clock. */
  readonly stopSentAtMs: number | undefined;
  readonly endedAt: string | undefined;
  readonly startedAt: string | undefined;
};

/**
 * The downtime of a container: from the stop request, or its earlier exit, to the next start. The time of stopping is
 * given separately. Empty when the start or the begin is not known.
 */
export function downtimeOf({
  stopSentAtMs = NaN,
  endedAt = '',
  startedAt = '',
}: StopTimes): Pick<ContainerOutcome, 'downtimeMs' | 'stoppingMs'> {
  const [endedAtMs, startedAtMs] = [Date.parse(endedAt), Date.parse(startedAt)];
  const begins = [stopSentAtMs, endedAtMs].filter((ms) => !Number.isNaN(ms));
  const beganAtMs = Math.min(...begins);
  if (begins.length === 0 || !(startedAtMs >= beganAtMs)) return {};
  const downtimeMs = startedAtMs - beganAtMs;
  const isWhole = begins.length === 2 && endedAtMs <= startedAtMs;
  return isWhole ? { downtimeMs, stoppingMs: endedAtMs - beganAtMs } : { downtimeMs };
}
