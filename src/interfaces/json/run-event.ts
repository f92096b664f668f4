import type { RunFacts } from '../../domain/notification/run-facts.ts';
import { summarise } from '../../domain/run/session.ts';
import { outcomeEntry } from './entries.ts';
import { toTimestamp } from './timestamps.ts';

/** A webhook's data of a run, with the field names of the HTTP API; only containers with news, at most 100. */
export function runEventData(facts: RunFacts) {
  const { runId, trigger, startedAtMs, endedAtMs, containers, news, error } = facts;
  const durationMs = Math.max(0, endedAtMs - startedAtMs);
  const told = containers.filter(({ name }) => news.has(name)).slice(0, mostContainers);
  return {
    run_id: runId,
    trigger,
    started_at: toTimestamp(startedAtMs),
    duration_ms: durationMs,
    summary: summarise({ runId, trigger, startedAtMs, durationMs, containers }),
    containers: told.map((container) => outcomeEntry(container)),
    ...(error !== undefined && { error }),
  };
}

/** A message must not fill the outbox. */
const mostContainers = 100;
