import type { CallOutcome } from '../../domain/outside/engine.ts';
import { describeError } from '../../domain/text/errors.ts';
import { type FailedVersion, failedVersionTag, otherNames } from '../../domain/check/failed-version.ts';
import type { OpenTransaction } from './facts/open-transaction.ts';
import type { Outside } from '../../domain/outside/outside.ts';

export type Failure = {
  readonly name: string;
  /** The image to which the container was rolled back. */
  readonly oldImageId: string;
  readonly failedImageId: string;
};

/** `failedImages`: the failed image by the id of the old container. */
export function failuresOf(
  { members }: Pick<OpenTransaction, 'members'>,
  failedImages: ReadonlyMap<string, string>,
): readonly Failure[] {
  return members.flatMap(({ name, oldId, oldImageId }) => {
    const failedImageId = failedImages.get(oldId);
    return failedImageId === undefined ? [] : [{ name, oldImageId, failedImageId }];
  });
}

/**
 * Stores failed versions in the engine, so that they are not tried again. A failure to do so costs one more attempt at
 * most, so it is never an error.
 */
export async function rememberFailures(
  outside: Outside,
  failures: readonly Failure[],
  askedBy?: string,
): Promise<void> {
  for (const { name, oldImageId, failedImageId } of failures) {
    const tag = failedVersionTag(name, failedImageId, outside.clock.nowMs(), askedBy);
    if (tag === undefined || oldImageId === '') continue;
    const outcome = await outside.engine.tagImage(oldImageId, tag);
    if (isDone(outcome)) continue;
    outside.log.warn('A failed version cannot be stored: it will be tried again', {
      container: name,
      error: outcome.message,
    });
  }
}

/** Removes stored failures. A tag that is the only reference to an image stays: only the clean-up removes images. */
export async function forgetFailures(outside: Outside, versions: readonly FailedVersion[]): Promise<void> {
  for (const { tag } of versions) {
    try {
      const image = await outside.engine.inspectImage(tag);
      if (image === undefined || otherNames(image, tag).length === 0) continue;
      const outcome = await outside.engine.removeImage(tag);
      if (!isDone(outcome)) outside.log.debug('A failed version cannot be forgotten', { tag, error: outcome.message });
    } catch (error) {
      outside.log.warn('A failed version cannot be forgotten', { tag, error: describeError(error) });
    }
  }
}

function isDone(outcome: CallOutcome): outcome is Extract<CallOutcome, { kind: 'done' | 'noop' }> {
  return outcome.kind === 'done' || outcome.kind === 'noop';
}
