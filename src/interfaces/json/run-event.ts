import type { RunFacts } from '../../domain/notification/run-facts.ts';
import { entryKeyOf, summarise } from '../../domain/run/session.ts';
import { outcomeEntry } from './entries.ts';
import { toTimestamp } from './timestamps.ts';

/** The data of a run in a webhook, with the names of the HTTP API. It lists at most 100 containers, only those with news. */
export function runEventData(facts: RunFacts) {
  const { runId, trigger, startedAtMs, endedAtMs, containers, news, error } = facts;
  const durationMs = Math.max(0, endedAtMs - startedAtMs);
  const listed = containers.filter((one) => news.has(entryKeyOf(one))).slice(0, maxContainers);
  return {
    run_id: runId,
    trigger,
    started_at: toTimestamp(startedAtMs),
    duration_ms: durationMs,
    summary: summarise({ runId, trigger, startedAtMs, durationMs, containers }),
    containers: listed.map((container) => outcomeEntry(container)),
    error,
  };
}

/** A message must not fill the outbox. */
const maxContainers = 100;
