import { engineReference, tryParseImageReference } from '../../../domain/reference/image-reference.ts';
import type { Member } from '../../../domain/transaction/facts.ts';
import type { PreparedMember } from '../facts/prepare.ts';

/**
 * The same member with the old container's own reference, if its successor gets another tag. Used for a replica of the
 * old container.
 */
export function partsAsTheyWere(parts: PreparedMember): PreparedMember {
  const { formerReference, ...planned } = parts.planned;
  const reference = formerReference === undefined ? undefined : tryParseImageReference(formerReference);
  if (formerReference === undefined || reference === undefined) return parts;
  return { ...parts, planned: { ...planned, reference: formerReference }, tag: engineReference(reference) };
}

/** The same for the stored part of a member. */
export function memberAsItWas(member: Member): Member {
  const { formerReference, ...same } = member;
  return formerReference === undefined ? member : { ...same, reference: formerReference };
}
