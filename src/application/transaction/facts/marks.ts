import type { CallOutcome } from '../../../domain/outside/engine.ts';
import type { StepOf } from '../../../domain/transaction/member.ts';
import { otherNames } from '../../../domain/check/failed-version.ts';
import {
  namelessTag,
  type TransactionMark,
  transactionMarkTag,
  transactionMarkText,
} from '../../../domain/transaction/transaction-names.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { OpenTransaction } from './open-transaction.ts';

type Context = { readonly outside: Outside; readonly transaction: OpenTransaction };

/** Marks a transaction as open for one old container, with a tag on the new image. */
export async function setMark({ outside, transaction }: Context, { oldId }: StepOf<'mark'>): Promise<CallOutcome> {
  const member = transaction.members.find((one) => one.oldId === oldId);
  if (member === undefined) return { kind: 'refused', status: 0, message: 'it is not part of the update' };
  const { policy = { Name: '', MaximumRetryCount: 0 }, wasRunning, newImageId } = member;
  const order = { oldId, policy, wasRunning, transaction: transaction.id };
  const tag = transactionMarkTag(order, outside.seal?.sign(transactionMarkText(order)));
  const outcome = await outside.engine.tagImage(newImageId, tag);
  if (outcome.kind === 'done' || outcome.kind === 'noop') {
    transaction.marks.set(oldId, tag);
    transaction.markedAtMs.set(oldId, outside.clock.monotonicMs());
  }
  return outcome;
}

/**
 * For other instances, a mark without a container belongs to a dead update after this time. The container is normally
 * created some milliseconds after its mark.
 */
export const strayAfterMs = 2000;

/** An instance may remove a stray mark within this time after its last reading. */
export const settleWithinMs = 1000;

/**
 * Whether the container was created so late after its mark that another instance may have removed the mark and reset
 * the tag. Resolves when no other instance can do so any more.
 */
export async function wasCreatedLate({ outside: { clock }, transaction }: Context, oldId: string): Promise<boolean> {
  const markedAtMs = transaction.markedAtMs.get(oldId) ?? clock.monotonicMs();
  if (clock.monotonicMs() - markedAtMs < strayAfterMs / 2) return false;
  await clock.sleep(settleWithinMs + graceMs);
  return true;
}

/** The longest delay of a call in the engine. */
const graceMs = 500;

/** Removes the mark when the transaction has nothing left to do. */
export async function removeMark({ outside, transaction }: Context, { oldId }: StepOf<'unmark'>): Promise<CallOutcome> {
  const tag = transaction.marks.get(oldId);
  if (tag === undefined) return { kind: 'noop' };
  const outcome = await untag(outside, tag);
  if (outcome.kind === 'done' || outcome.kind === 'noop') transaction.marks.delete(oldId);
  return outcome;
}

/**
 * Gives an image without any other name a name first. Otherwise the engine would remove the image with its last tag, or
 * refuse to remove the tag.
 */
export async function untag({ engine }: Pick<Outside, 'engine'>, tag: TransactionMark['tag']): Promise<CallOutcome> {
  const image = await engine.inspectImage(tag);
  if (image === undefined) return { kind: 'noop' };
  if (otherNames(image, tag).length === 0) {
    const named = await engine.tagImage(image.id, namelessTag);
    if (named.kind === 'refused' || named.kind === 'unknown') return named;
  }
  return engine.removeImage(tag);
}
