import type { EngineEvent } from '../../../domain/outside/engine.ts';
import type { Container } from '../../../domain/container/container.ts';
import { describeError } from '../../../domain/text/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { StepOutcome } from '../../../domain/transaction/memory.ts';
import { exitOf, type ProcessExit } from '../../../domain/health.ts';
import type { OpenTransaction } from './open-transaction.ts';

/** The successor whose process ended first in its group. */
export type FirstToEnd = {
  readonly id: string;
  readonly oldId: string;
  readonly name: string;
  /** A clause about the end. Its subject is `it`, or the person who caused it. */
  readonly reason: string;
  /** True if it ended without a stop or kill from outside. */
  readonly ownFault: boolean;
  readonly isGone: boolean;
};

/**
 * Finds the container that ended first. Containers in the network of another one fail with it, and which failure is
 * seen first is random. Undefined if no successor has ended, or if the engine reports no times.
 */
export async function firstToEnd(
  outside: Outside,
  { members, successors }: Pick<OpenTransaction, 'members' | 'successors'>,
): Promise<FirstToEnd | undefined> {
  const suspects = members.flatMap((member) => {
    const id = successors.get(member.oldId);
    return id === undefined ? [] : [{ ...member, id }];
  });
  const events = await eventsOf(
    outside,
    suspects.map(({ id }) => id),
  );
  let first: (FirstToEnd & { readonly atMs: number }) | undefined;
  for (const { id, oldId, name, desiredEndState, autoRemoves } of suspects) {
    const container = await outside.engine.inspectContainer(id);
    const end = exitOf(id, container, events);
    if (end === undefined || (first !== undefined && first.atMs <= end.atMs)) continue;
    if (desiredEndState !== 'running' && end.exitCode === 0) continue;
    const isGone = container === undefined;
    const reason = end.wasRequested
      ? describeRequestedEnd(name, container, autoRemoves)
      : `${wordsOf(end)}${whereTo(isGone, autoRemoves)}`;
    first = { id, oldId, name, reason, ownFault: !end.wasRequested, isGone, atMs: end.atMs };
  }
  return first;
}

function wordsOf({ outOfMemory, exitCode, error }: ProcessExit): string {
  if (outOfMemory) return 'it ran out of memory';
  if (exitCode === undefined) return 'it ended';
  return `it exited with code ${exitCode}${error === '' ? '' : ` (${error})`}`;
}

function whereTo(isGone: boolean, autoRemoves: boolean): string {
  // It may still be visible for some milliseconds.
  if (autoRemoves) return ', and the engine removed it (--rm)';
  return isGone ? ', and somebody removed it then' : '';
}

function describeRequestedEnd(name: string, container: Container | undefined, autoRemoves: boolean): string {
  if (container !== undefined) return `somebody stopped the new "${name}"`;
  return `somebody ${autoRemoves ? 'stopped or removed' : 'removed'} the new "${name}"`;
}

/** If the engine's events cannot be read, only inspections count. */
async function eventsOf({ engine, log }: Outside, ids: readonly string[]): Promise<readonly EngineEvent[]> {
  if (ids.length === 0) return [];
  try {
    const { nowMs } = await engine.info();
    return await engine.pastEvents({
      ids,
      sinceMs: nowMs - longestAgoMs,
      untilMs: nowMs + (ids.length > 1 ? settlingMs : alreadyNoticedMs),
    });
  } catch (error) {
    log.debug('The events of the successors cannot be read', { error: describeError(error) });
    return [];
  }
}

/** Longer than any health gate. The containers belong to this transaction, so they have no older events. */
const longestAgoMs = 2 * 3_600_000;

/** An engine notices an exit some milliseconds later, and two exits in any order. */
const settlingMs = 250;

/** One exit has been noticed already. The end of a requested stop is reported some milliseconds later. */
const alreadyNoticedMs = 50;

/** The outcome of the step in which a successor has ended. */
export function outcomeOfEnd(
  { id, reason, ownFault }: Pick<FirstToEnd, 'id' | 'reason' | 'ownFault'>,
  wasSeenWell: boolean,
): StepOutcome {
  return ownFault
    ? { kind: 'fault', id, message: reason, wasSeenWell }
    : { kind: 'refused', status: 404, message: reason };
}
