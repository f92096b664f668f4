import { readComposeIdentity } from '../container/lookup.ts';
import type { Container } from '../container/container.ts';
import { composeImageLabel } from '../container/recipe/config.ts';
import { quoted } from '../text/printable.ts';
import { ownJournal } from '../transaction/journal.ts';
import type { PlannedMember } from './planned-transaction.ts';

/**
 * A reminder to change the compose file after an update of a container to another tag. Empty if the file need not
 * change.
 */
export function composeFileRemark({ container, reference, formerReference, imageId }: PlannedMember): string {
  const identity = readComposeIdentity(container.settings.Config.Labels ?? {});
  // A rollback uses an image id, and may return to the tag in the file.
  if (formerReference === undefined || identity === undefined || imageId !== undefined) return '';
  const written = quoted(formerReference, 300);
  return `the compose file may still name ${written}: write ${quoted(reference, 300)} there, or a change of its service there goes back`;
}

/**
 * The reference in the compose file of a container whose successor gets another tag, or got one in an earlier update.
 * Undefined for a container without compose's label, and when the successor has the tag of the file.
 */
export function composeReferenceOf(
  { reference, formerReference }: Pick<PlannedMember, 'reference' | 'formerReference'>,
  { settings, imageLabels }: Container,
): string | undefined {
  const labels = settings.Config.Labels ?? {};
  if (!Object.hasOwn(labels, composeImageLabel)) return undefined;
  const written = ownJournal(labels, imageLabels)?.composeReference ?? formerReference;
  return written === reference ? undefined : written;
}
