import type { EngineEvent } from '../../../domain/outside/engine-reader.ts';
import type { Container } from '../../../domain/container/container.ts';
import { describeError } from '../../../domain/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import { endOf, type ProcessEnd } from '../../../domain/health/process-end.ts';
import type { OpenTransaction } from './facts.ts';

/** The successor whose process ended before that of all others in its group. */
export type FirstToEnd = {
  readonly id: string;
  readonly oldId: string;
  readonly name: string;
  /** A clause about it. Its subject is `it` or the person that acted on it. */
  readonly reason: string;
  /** True if it ended by itself, without a stop or kill from outside. */
  readonly ownFault: boolean;
  readonly isGone: boolean;
};

/**
 * Finds the container that ended first. Containers in the namespace of another fail with it, and chance
 * decides which failure shows first. Undefined if no successor's process has ended, or if the engine does
 * not say when.
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
    const end = endOf(id, container, events);
    if (end === undefined || (first !== undefined && first.atMs <= end.atMs)) continue;
    if (desiredEndState === 'completed' && end.exitCode === 0) continue;
    const isGone = container === undefined;
    const reason = end.wasAsked
      ? whoAsked(name, container, autoRemoves)
      : `${wordsOf(end)}${whereTo(isGone, autoRemoves)}`;
    first = { id, oldId, name, reason, ownFault: !end.wasAsked, isGone, atMs: end.atMs };
  }
  return first;
}

function wordsOf({ outOfMemory, exitCode, error }: ProcessEnd): string {
  if (outOfMemory) return 'it ran out of memory';
  if (exitCode === undefined) return 'it ended';
  return `it exited with code ${exitCode}${error === '' ? '' : ` (${error})`}`;
}

function whereTo(isGone: boolean, autoRemoves: boolean): string {
  // It may still be seen for some milliseconds.
  if (autoRemoves) return ', and the engine removed it (--rm)';
  return isGone ? ', and somebody removed it then' : '';
}

function whoAsked(name: string, container: Container | undefined, autoRemoves: boolean): string {
  if (container !== undefined) return `somebody stopped the new "${name}"`;
  return `somebody ${autoRemoves ? 'stopped or removed' : 'removed'} the new "${name}"`;
}

/** An engine that does not tell leaves the inspections. */
async function eventsOf({ engine, log }: Outside, ids: readonly string[]): Promise<readonly EngineEvent[]> {
  if (ids.length === 0) return [];
  try {
    const { nowMs } = await engine.info();
    return await engine.pastEvents({
      ids,
      sinceMs: nowMs - longestAgoMs,
      untilMs: nowMs + (ids.length > 1 ? settlingMs : alreadyToldMs),
    });
  } catch (error) {
    log.debug('the engine does not tell what has happened', { error: describeError(error) });
    return [];
  }
}

/** Longer than any health gate: the containers are of this transaction, so that nothing older can be among it. */
const longestAgoMs = 2 * 3_600_000;

/** An engine learns of the end of a process some milliseconds after it, and of those of two in any order. */
const settlingMs = 250;

/** Of one alone it has learned already; that somebody's stop is done, it tells some milliseconds later. */
const alreadyToldMs = 50;
