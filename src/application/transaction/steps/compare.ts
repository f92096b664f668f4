import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import { differences } from '../../../domain/container/difference/container-difference.ts';
import { leftOutFields } from '../../../domain/container/recipe/host-config.ts';
import { getsFreshVolumes } from '../../../domain/plan/replacement-options.ts';
import { withAutoRemove } from '../../../domain/transaction/auto-remove.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { composeImageIdOf, partsAsTheyWere, replacedByIdAndName } from './recipe-of.ts';
import type { StepContext } from './step-context.ts';
import type { Container } from '../../../domain/container/container.ts';
import type { PreparedMember } from '../facts/prepare.ts';

/** Compares a successor with its old container. An unwanted difference ends the update before the first stop. */
export async function compareCreated(
  context: StepContext,
  { id, member: index }: StepOf<'compare'>,
): Promise<StepOutcome> {
  const { outside, settings, transaction, prepared } = context;
  const parts = prepared?.members[index];
  const created = transaction.lastRead.get(id) ?? (await outside.engine.inspectContainer(id));
  const member = transaction.members[index];
  if (parts?.oldImage === undefined || created === undefined || member === undefined)
    return { kind: 'unknown', message: 'it is gone' };
  const isAutoRemoveReplica = transaction.autoRemoveReplicas.get(member.oldId) === id;
  if (!isAutoRemoveReplica && runsOther(created, parts))
    return {
      kind: 'refused',
      status: 0,
      message: 'the engine created it from another image than the one that was checked',
    };
  const found = differences(
    withAutoRemove(parts.planned.container, !isAutoRemoveReplica && member.autoRemoves),
    created,
    {
      oldImage: parts.oldImage,
      newImage: isAutoRemoveReplica ? parts.oldImage : parts.image,
      reference: (isAutoRemoveReplica ? partsAsTheyWere(parts) : parts).planned.reference,
      replacedIds: replacedByIdAndName(transaction, transaction.successors),
      freshVolumes: !isAutoRemoveReplica && getsFreshVolumes(parts.planned, settings),
      leftOut: leftOutFields(settings),
      composeImageId: composeImageIdOf(parts, isAutoRemoveReplica),
    },
  );
  if (found.length === 0) return { kind: 'done' };
  const list = found.map(({ field, before, after }) => `${field} would be ${after} instead of ${before}`).join('; ');
  return { kind: 'refused', status: 0, message: `the engine created it differently: ${list}` };
}

/** Somebody may move the tag, or pull more of an index, between the proof of the image and the creation. */
function runsOther({ imageId, manifestDigest }: Container, { image, planned: { verified } }: PreparedMember): boolean {
  if (image.configManifest !== undefined && (manifestDigest ?? imageId) !== image.configManifest) return true;
  if (verified === undefined) return false;
  return imageId !== image.id || (manifestDigest !== undefined && manifestDigest !== verified.manifestDigest);
}
