import { describeError } from '../domain/errors.ts';
import { type FailedVersion, failedVersionTag, otherNames } from '../domain/failed-version.ts';
import type { CallOutcome, Outside } from '../domain/outside.ts';

export type Failure = {
  readonly name: string;
  /** The image that the container went back to. */
  readonly oldImageId: string;
  readonly failedImageId: string;
};

/**
 * Remembers in the engine that a version failed, so that it is not tried again. What cannot be
 * remembered costs one more failed try, so it is never an error.
 */
export async function rememberFailures(outside: Outside, failures: readonly Failure[]): Promise<void> {
  for (const { name, oldImageId, failedImageId } of failures) {
    const tag = failedVersionTag(name, failedImageId, outside.clock.nowMs());
    if (tag === undefined || oldImageId === '') continue;
    complainUnless(
      outside,
      await outside.engine.tagImage(oldImageId, tag),
      'A failed version cannot be remembered',
      tag,
    );
  }
}

/**
 * Forgets failures. The tag is left where it is all that keeps an image in the engine: images are
 * removed by the clean-up only.
 */
export async function forgetFailures(outside: Outside, versions: readonly FailedVersion[]): Promise<void> {
  try {
    for (const { tag } of versions) {
      const image = await outside.engine.inspectImage(tag);
      if (image === undefined || otherNames(image, tag).length === 0) continue;
      complainUnless(outside, await outside.engine.removeImage(tag), 'A failed version cannot be forgotten', tag);
    }
  } catch (error) {
    outside.log.warn('Failed versions cannot be forgotten', { error: describeError(error) });
  }
}

function complainUnless({ log }: Outside, outcome: CallOutcome, what: string, tag: string): void {
  if (outcome.kind === 'refused' || outcome.kind === 'unknown') log.debug(what, { tag, error: outcome.message });
}
