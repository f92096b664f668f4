import { readComposeIdentity } from '../container/compose-identity.ts';
import { quoted } from '../text/printable.ts';
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
  return `the compose file may still name ${written}: write ${quoted(reference, 300)} there, or the next docker compose up goes back`;
}
