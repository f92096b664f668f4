import { readComposeIdentity } from '../container/compose-identity.ts';
import { quoted } from '../text/printable.ts';
import type { PlannedMember } from './update-plan.ts';

/** A reminder for who has updated a container of Compose to another tag; empty where there is nothing to remember. */
export function composeFileRemark({ container, reference, formerReference, imageId }: PlannedMember): string {
  const identity = readComposeIdentity(container.settings.Config.Labels ?? {});
  // A rollback goes to an image by its id, and to the tag that the file may have had all the time.
  if (formerReference === undefined || identity === undefined || imageId !== undefined) return '';
  const written = quoted(formerReference, 300);
  return `the compose file may still name ${written}: write ${quoted(reference, 300)} there, or the next docker compose up goes back`;
}
