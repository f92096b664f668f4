import type { OutcomeKind, Session, EngineRun } from '../../../domain/run/session.ts';
import { type CheckReport, type RecoveryReport, exitCodes } from './context.ts';

/** The worst result decides the exit code: failed, then incomplete, then done. */
export function worstCode(codes: Iterable<ResultCode>): ResultCode {
  const found = new Set(codes);
  return fromWorst.find((code) => found.has(code)) ?? exitCodes.done;
}

/** A code for each container of a run. */
export function codesOfSession({ containers, engines = [] }: Session): readonly ResultCode[] {
  return [...containers.map(({ outcome }) => codeOfOutcome[outcome]), ...codesOfEngines(engines)];
}

/** An unreachable engine is a failure. A busy one is not, because the next run includes it. */
export function codesOfEngines(engines: readonly EngineRun[]): readonly ResultCode[] {
  return engines.map(({ result }) => codeOfEngine[result]);
}

const codeOfEngine: Readonly<Record<EngineRun['result'], ResultCode>> = {
  ran: exitCodes.done,
  busy: exitCodes.incomplete,
  unreachable: exitCodes.failed,
  failed: exitCodes.failed,
};

/** A code for each container of a check. */
export function codesOfCheck({ containers, engines = [] }: CheckReport): readonly ResultCode[] {
  const codes = containers.map(({ status }) => (status === 'unknown' ? exitCodes.incomplete : exitCodes.done));
  return [...codes, ...codesOfEngines(engines)];
}

/** A code for each interrupted update. Containers that only look like one have no code. */
export function codesOfRecovery({ transactions, engines = [] }: RecoveryReport): readonly ResultCode[] {
  const codes = transactions.map(({ result, isPending }) => {
    if (result === 'failed') return exitCodes.failed;
    return isPending ? exitCodes.incomplete : exitCodes.done;
  });
  return [...codes, ...codesOfEngines(engines)];
}

export type ResultCode = (typeof fromWorst)[number];

const fromWorst = [exitCodes.failed, exitCodes.incomplete, exitCodes.done] as const;

const codeOfOutcome: Readonly<Record<OutcomeKind, ResultCode>> = {
  updated: exitCodes.done,
  went_back: exitCodes.done,
  fresh: exitCodes.done,
  restarted: exitCodes.done,
  skipped: exitCodes.done,
  deferred: exitCodes.done,
  failed: exitCodes.failed,
  rolled_back: exitCodes.failed,
  unknown: exitCodes.incomplete,
};
