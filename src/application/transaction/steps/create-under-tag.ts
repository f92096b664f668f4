import type { Image } from '../../../domain/container/container.ts';
import type { ContainerRecipe } from '../../../domain/container/recipe/request/request.ts';
import type { PreparedMember } from '../facts/prepare.ts';
import type { StepContext } from './step-context.ts';

/**
 * Creates a container while the tag points at the wanted image, because the container stores the reference as text. A
 * container of the old image also gets its tag for a moment, wherever the tag points by now.
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
    // The old container's image was never behind another tag.
    const before = tagged ?? (planned.formerReference === undefined ? imageId : undefined);
    // On a second try, the first one has already moved the tag.
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
  /** True if the tag is restored after the creation. */
  readonly keepsTag: boolean;
};
