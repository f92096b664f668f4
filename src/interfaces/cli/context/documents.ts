import { formatDuration } from '../../../domain/text/duration.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { type Session, summarise } from '../../../domain/run/session.ts';
import { checkedEntry, enginesField, outcomeEntry, unfinishedField } from '../../json/entries.ts';
import { replyFields } from '../../json/timestamps.ts';
import type { CheckReport, PlanReport, RehearsalReport } from './context.ts';

/** Output of `--json`: one document with the field names of the HTTP interface. */
export type Document = Readonly<Record<string, unknown>>;

export function checkDocument(report: CheckReport): Document {
  const endedAtMs = report.startedAtMs + report.durationMs;
  return {
    containers: report.containers.map((container) => checkedEntry(container, endedAtMs)),
    count: report.containers.length,
    ...unfinishedField(report.unfinished),
    not_possible: report.notPossible,
    ...enginesField(report),
    ...closing(report),
  };
}

export function sessionDocument(session: Session): Document {
  return {
    run_id: session.runId,
    summary: summarise(session),
    containers: session.containers.map(outcomeEntry),
    ...enginesField(session),
    ...closing(session),
  };
}

/** The report of the check, and the resulting plan. `after` counts transactions from 1. */
export function planDocument({ report, plan }: PlanReport): Document {
  const numbers = new Map(plan.transactions.map(({ id }, index) => [id, index + 1]));
  const transactions = plan.transactions.map(({ members, after }, index) => ({
    number: index + 1,
    after: after.flatMap((id) => numbers.get(id) ?? []),
    members: members.map(({ container, cause, reference, formerReference, digest, desiredEndState }) => ({
      name: container.name,
      image: formerReference ?? reference,
      to_image: formerReference && reference,
      cause,
      image_id: container.imageId,
      latest_digest: digest ?? '',
      afterwards: desiredEndState,
    })),
  }));
  return {
    dry_run: true,
    transactions,
    restarts: plan.restarts.map(({ container, because }) => ({
      name: container.name,
      after: because.map(({ name }) => name),
    })),
    refused: plan.refused.map(({ name, reason }) => ({ name, reason })),
    ...checkDocument(report),
  };
}

/** The same, with the results of the rehearsal. */
export function rehearsalDocument(report: RehearsalReport): Document {
  const verified = report.rehearsals.map(({ containers, faithful, reason }) => ({ containers, faithful, reason }));
  return { ...planDocument(report), verified };
}

export function failureDocument(error: unknown, nowMs: number): Document {
  return {
    error: describeError(error),
    code: error instanceof ServiceError ? error.code : 'internal',
    remedy: error instanceof ServiceError ? error.remedy : undefined,
    ...replyFields(nowMs),
  };
}

function closing({ startedAtMs, durationMs }: { readonly startedAtMs: number; readonly durationMs: number }): Document {
  return {
    timing: { duration_ms: Math.round(durationMs), duration: formatDuration(durationMs) },
    ...replyFields(startedAtMs + durationMs),
  };
}
