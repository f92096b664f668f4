import type { Image } from '../../../domain/container/container.ts';
import type { ContainerRecipe } from '../../../domain/container/recipe/request/recipe.ts';
import type { PreparedMember } from '../facts/prepare.ts';
import type { StepContext } from './step-context.ts';

/**
 * The tag must point at the wanted image when the successor is created, because the container carries
 * that reference as it is written. What is made of the old image gets that
 * for a moment, wherever the tag points by now.
 */
export async function createUnderTag(
  { outside: { engine }, transaction: { tagsBefore } }: StepContext,
  { image, parts: { planned, tag }, keepsTag }: TaggedOrder,
  name: string,
  recipe: ContainerRecipe,
) {
  if (tag === undefined) return engine.createContainer(name, recipe);
  const tagged = (await engine.inspectImage(planned.reference))?.id;
  if (tagged !== image.id) {
    const { id: oldId, imageId } = planned.container;
    // Another tag than the old container's was never on its image.
    const before = tagged ?? (planned.formerReference === undefined ? imageId : undefined);
    // A second try finds the tag moved by the first.
    if (!keepsTag && before !== undefined && !tagsBefore.has(oldId)) tagsBefore.set(oldId, before);
    const outcome = await engine.tagImage(image.id, tag);
    if (outcome.kind === 'refused' || outcome.kind === 'unknown') return outcome;
  }
  const created = await engine.createContainer(name, recipe);
  if (keepsTag && tagged !== undefined && tagged !== image.id) await engine.tagImage(tagged, tag);
  return created;
}

export type TaggedOrder = {
  readonly image: Image;
  readonly parts: PreparedMember;
  /** DesiredEndState the tag is what it was. */
  readonly keepsTag: boolean;
};
