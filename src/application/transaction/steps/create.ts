import type { StepOutcome } from '../../../domain/transaction/memory.ts';
import { readJournal } from '../../../domain/transaction/journal.ts';
import type { StepOf } from '../../../domain/transaction/member.ts';
import { successorName } from '../../../domain/transaction/transaction-names.ts';
import type { Member } from '../../../domain/transaction/facts.ts';
import { setMark, wasCreatedLate } from '../facts/marks.ts';
import { recipeOf } from './recipe-of.ts';
import { nothingPrepared, type StepContext } from './step-context.ts';
import type { Image } from '../../../domain/container/container.ts';
import type { ContainerRecipe } from '../../../domain/container/container-settings.ts';
import type { PreparedMember } from '../facts/prepare.ts';

export async function createSuccessor(context: StepContext, { member: index }: StepOf<'create'>): Promise<StepOutcome> {
  const { transaction, prepared } = context;
  const member = transaction.members[index];
  const parts = prepared?.members[index];
  if (member === undefined || parts === undefined || prepared === undefined) return nothingPrepared;
  const { image, planned } = parts;
  const replaced = transaction.successors;
  const recipe = recipeOf(context, { prepared, parts, member, role: 'successor', replaced });
  const order = { image, parts, keepsTag: planned.cause === 'linked' };
  const outcome = await createUnderTag(context, order, successorName(member.name), recipe);
  if (outcome.kind === 'done') {
    transaction.successors.set(member.oldId, outcome.id);
    if (await wasCreatedLate(context, member.oldId)) return beginAnew(context, { ...order, member });
  }
  if (outcome.kind === 'refused' && outcome.status === 409) {
    const busy = `another update of "${member.name}" is in progress`;
    const holder = await holderOfLock(context, member);
    if (holder === 'unclear') return { ...outcome, message: `${busy} (${outcome.message})` };
    if (holder === 'stranger') return { ...outcome, message: inTheWay(member) };
    transaction.tagsBefore.delete(member.oldId);
    return { kind: 'declined', message: busy, deferred: true };
  }
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

type CreateUnderTagOptions = {
  readonly image: Image;
  readonly parts: PreparedMember;
  /** True if the tag is restored after the creation. */
  readonly keepsTag: boolean;
};

/**
 * Creates a container while the tag points at the wanted image, because the container stores the reference as text. For
 * a container of the old image, the tag is moved back for a moment.
 */
export async function createUnderTag(
  { outside: { engine }, transaction: { tagsBefore } }: StepContext,
  { image, parts: { planned, tag }, keepsTag }: CreateUnderTagOptions,
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

/** Sets the mark and the tag again for a successor that another instance had not seen when it removed them. */
async function beginAnew(
  { outside, transaction }: StepContext,
  { image, parts: { tag }, keepsTag, member: { oldId } }: CreateUnderTagOptions & { readonly member: Member },
): Promise<StepOutcome> {
  const marked = await setMark({ outside, transaction }, { kind: 'mark', oldId });
  if (marked.kind !== 'done' || tag === undefined || keepsTag) return marked;
  return outside.engine.tagImage(image.id, tag);
}

const inTheWay = ({ name }: Member) =>
  `"${successorName(name)}" exists, and no update of "${name}" has made it; remove it, unless somebody needs it`;

/**
 * `updater`: another updater got the name first, and the tag is its own. `unclear`: nobody was seen, or an update of
 * another container or by another version of Upkeep has made it. Docker reserves a name before it shows the container,
 * so this waits for an invisible holder.
 */
async function holderOfLock(
  { outside: { engine, clock } }: StepContext,
  { name, oldId }: Member,
): Promise<'updater' | 'stranger' | 'unclear'> {
  let holder = await engine.inspectContainer(successorName(name));
  for (let looks = 1; holder === undefined && looks < mostLooks; looks += 1) {
    await clock.sleep(betweenLooksMs);
    holder = await engine.inspectContainer(successorName(name));
  }
  if (holder === undefined) return 'unclear';
  const reading = readJournal(holder.settings.Config.Labels ?? {});
  if (reading.kind === 'none') return 'stranger';
  return reading.kind === 'journal' && reading.journal.oldId === oldId ? 'updater' : 'unclear';
}

const betweenLooksMs = 200;

const mostLooks = 10;
