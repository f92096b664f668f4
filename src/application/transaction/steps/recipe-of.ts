import { recipeFor } from '../../../domain/container/recipe/container-recipe.ts';
import { composeImageLabel } from '../../../domain/container/recipe/config.ts';
import { leftOutFields } from '../../../domain/container/recipe/host-config.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import { getsFreshVolumes } from '../../../domain/plan/replacement.ts';
import {
  withAutoRemove,
  sealLabel,
  sealedText,
  writeJournal,
  type Journal,
} from '../../../domain/transaction/journal.ts';
import type { Member } from '../../../domain/transaction/facts.ts';
import type { OpenTransaction } from '../facts/open-transaction.ts';
import type { PreparedMember, PreparedTransaction } from '../facts/prepare.ts';
import type { StepContext } from './step-context.ts';
import { engineReference, tryParseImageReference } from '../../../domain/image/image-reference.ts';

type RecipeParts = {
  readonly prepared: PreparedTransaction;
  readonly parts: PreparedMember;
  readonly member: Member;
  readonly role: Journal['role'];
  /** The ids of replacements, by the ids of the containers that this one depends on. */
  readonly replaced: ReadonlyMap<string, string>;
};

export function recipeOf(
  { outside, settings, transaction }: StepContext,
  { prepared, parts, member, role, replaced }: RecipeParts,
): ReturnType<typeof recipeFor> {
  const isAutoRemoveReplica = role === 'standin';
  return recipeFor({
    container: withAutoRemove(parts.planned.container, !isAutoRemoveReplica && member.autoRemoves),
    oldImage: parts.oldImage,
    image: parts.planned.reference,
    newImageId: isAutoRemoveReplica ? member.oldImageId : parts.image.id,
    composeImageId: composeImageIdOf(parts, isAutoRemoveReplica),
    journal: sealed(outside, {
      ...member,
      ...(!prepared.info.abilities.changesRestartPolicies && { hasFixedPolicy: true }),
      policy: member.policy ?? { Name: '', MaximumRetryCount: 0 },
      role,
      transaction: transaction.id,
      oldDigest: parts.oldDigest,
      owner: outside.instance.owner,
      ownerContainer: prepared.ownContainer,
      members: transaction.members.map(({ name, oldId }) => ({ name, oldId })),
    }),
    apiVersion: prepared.info.apiVersion,
    engineName: prepared.info.name,
    enginePlatform: prepared.info.platform,
    networks: prepared.networks,
    replacedIds: replacedByIdAndName(transaction, replaced),
    freshVolumes: !isAutoRemoveReplica && getsFreshVolumes(parts.planned, settings),
    policyFromStart: !prepared.info.abilities.changesRestartPolicies,
    leftOut: leftOutFields(settings),
  });
}

/** The value of compose's label for the image. A replica keeps that of the old container. */
export function composeImageIdOf(parts: PreparedMember, isAutoRemoveReplica: boolean): string | undefined {
  const { settings } = parts.planned.container;
  return isAutoRemoveReplica ? settings.Config.Labels?.[composeImageLabel] : parts.composeImageId;
}

function sealed({ seal }: Outside, journal: Journal): Record<string, string> {
  const labels = writeJournal(journal);
  return seal === undefined ? labels : { ...labels, [sealLabel]: seal.sign(sealedText(journal)) };
}

/** The engine names the targets of legacy links by name, and all other targets by id. */
export function replacedByIdAndName(
  { members }: OpenTransaction,
  byOldId: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const replaced = new Map(byOldId);
  for (const { name, oldId } of members) {
    const id = byOldId.get(oldId);
    if (id !== undefined) replaced.set(name, id);
  }
  return replaced;
}

/**
 * The member with the old container's own reference, if its successor gets another tag. Used for a replica of the old
 * container.
 */
export function partsAsTheyWere(parts: PreparedMember): PreparedMember {
  const { formerReference, ...planned } = parts.planned;
  const reference = formerReference === undefined ? undefined : tryParseImageReference(formerReference);
  if (formerReference === undefined || reference === undefined) return parts;
  return { ...parts, planned: { ...planned, reference: formerReference }, tag: engineReference(reference) };
}

/** The stored member with the old container's own reference. */
export function memberAsItWas(member: Member): Member {
  const { formerReference, ...same } = member;
  return formerReference === undefined ? member : { ...same, reference: formerReference };
}
