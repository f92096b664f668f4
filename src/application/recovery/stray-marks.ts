import { policyWhileUnproven, samePolicy } from '../../domain/transaction/policy.ts';
import { restartPolicyOf } from '../../domain/container/container.ts';
import { describeError } from '../../domain/errors.ts';
import type { TransactionMark } from '../../domain/transaction/transaction-mark.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { parseKeptName, parseTransactionName } from '../../domain/transaction/transaction-names.ts';
import { followedTag } from '../transaction/facts/facts.ts';
import { settleWithinMs, strayAfterMs, untag } from '../transaction/facts/marks.ts';

type Stray = {
  readonly marks: readonly TransactionMark[];
  /** Reads again, after the pause, which marks are stray. */
  readonly readAgain: () => Promise<readonly TransactionMark[]>;
  readonly liveRestore: boolean;
};

/**
 * Removes marks without any other remains: the update died before it had created a container, or a person has removed
 * the successor. The tag and the policy that the update had changed are restored. A mark that another instance has just
 * set stays.
 */
export async function settleStrayMarks(outside: Outside, stray: Stray, signal?: AbortSignal): Promise<void> {
  if (stray.marks.length === 0) return;
  try {
    await outside.clock.sleep(strayAfterMs, signal);
    const before = new Set(stray.marks.map(({ tag }) => tag));
    const readAtMs = outside.clock.monotonicMs();
    for (const mark of await stray.readAgain()) {
      if (!before.has(mark.tag) || signal?.aborted) continue;
      await settle(outside, mark, { ...stray, untilMs: readAtMs + settleWithinMs });
    }
  } catch (error) {
    if (!signal?.aborted) outside.log.warn('Marks of interrupted updates stay', { error: describeError(error) });
  }
}

type Settling = Pick<Stray, 'liveRestore'> & {
  /** By the monotonic clock. After this time the mark may have a container, so only the next start settles it. */
  readonly untilMs: number;
};

async function settle(outside: Outside, mark: TransactionMark, { liveRestore, untilMs }: Settling): Promise<void> {
  const { engine, clock, log } = outside;
  const isLate = () => clock.monotonicMs() > untilMs;
  const old = await engine.inspectContainer(mark.oldId);
  const isInPlace =
    old !== undefined && parseTransactionName(old.name) === undefined && parseKeptName(old.name) === undefined;
  if (isInPlace) {
    const waiting = policyWhileUnproven(mark.policy, liveRestore);
    const isOurs = !samePolicy(waiting, mark.policy) && samePolicy(restartPolicyOf(old), waiting);
    if (isOurs && !isLate()) await engine.updateRestartPolicy(old.id, mark.policy);
    const reference = followedTag(old);
    const mayHaveMoved = reference !== '' && mark.imageId !== old.imageId;
    const tagged = mayHaveMoved ? (await engine.inspectImage(reference))?.id : undefined;
    if (tagged === mark.imageId && !isLate()) await engine.tagImage(old.imageId, reference);
  }
  if (isLate()) return;
  const outcome = await untag(outside, mark.tag);
  log.debug('The mark of an interrupted update was removed', { mark: mark.tag, outcome });
}
