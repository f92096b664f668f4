import { addTo } from '../text/plain-data.ts';
import type { Staleness } from '../check/verdict.ts';
import type { Hold } from '../decision/decisions.ts';
import type { Digest } from '../image/image-reference.ts';
import type { ContainerOutcome } from '../run/session.ts';
import { labelValuesOf, type ServiceSettings } from '../settings/effective-settings.ts';
import { strongComponents } from './graph/strong-components.ts';
import { quoted } from '../text/printable.ts';
import type { CanaryGroup, UpdatePlan } from './update-plan.ts';
import type { PlannedMember, PlannedTransaction } from './planned-transaction.ts';

/**
 * Adds canaries to a plan: if three or more stale containers get the same new image, or if one of several has the
 * label. A canary is updated before the rest of its group. The waits cannot form a cycle, because groups and
 * dependencies both follow the order of the plan.
 */
export function withCanaries(plan: UpdatePlan, { canary }: Pick<ServiceSettings, 'canary'>): UpdatePlan {
  const groups = canary ? groupsIn(plan.transactions) : [];
  if (groups.length === 0) return plan;
  const grouped = new Set(groups.flatMap(({ transactions }) => transactions));
  const rank = (transaction: PlannedTransaction) => (grouped.has(transaction.id) ? rankOf(transaction) : ranks.other);
  const byRank = plan.transactions.toSorted((one, other) => rank(one) - rank(other));
  const byId = new Map(byRank.map((transaction) => [transaction.id, transaction]));
  const order = strongComponents([...byId.keys()], (id) => byId.get(id)?.after ?? []).flat();
  const placeOf = new Map(order.map((id, index) => [id, index]));
  const place = (id: string) => placeOf.get(id) ?? 0;
  return {
    ...plan,
    transactions: order.flatMap((id) => byId.get(id) ?? []),
    canaries: groups.map(({ image, transactions }) => ({
      image,
      transactions: transactions.toSorted((one, other) => place(one) - place(other)),
    })),
  };
}

/**
 * Why stale containers wait, by id: another container of a group with a canary has the same new version marked as
 * failed. Otherwise each run would try a version that is known to be bad in yet another container.
 */
export function failedInAnother(
  checked: readonly CheckedVersion[],
  { canary }: Pick<ServiceSettings, 'canary'>,
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  if (!canary) return reasons;
  const hasFailed = ({ status, hold }: CheckedVersion) =>
    status === 'held' && (hold === 'failed' || hold === 'went-back');
  const going = checked.filter((one) => one.status === 'stale' || hasFailed(one));
  const byVersion = new Map<string, CheckedVersion[]>();
  for (const one of going) {
    const version = one.pullDigest ?? one.latestDigest;
    if (version !== undefined) addTo(byVersion, version, one);
  }
  for (const group of byVersion.values()) {
    const failed = group.find(hasFailed);
    const isGroup = group.length >= fewestForCanary || group.some(({ isCanary }) => isCanary);
    if (failed === undefined || !isGroup) continue;
    for (const { id, status } of group)
      if (status === 'stale') reasons.set(id, `The new version failed in ${quoted(failed.name)}`);
  }
  return reasons;
}

/** Equal texts mean the same new image: its id or digest, else the reference that the engine resolves. */
export function newImageOf({ imageId, digest, reference }: PlannedMember): string {
  return imageId ?? digest ?? reference;
}

/** The verdict on a container, with the fields about its new version. */
export type CheckedVersion = {
  readonly id: string;
  readonly name: string;
  readonly status: Staleness;
  readonly hold?: Hold | undefined;
  /** It has the label. */
  readonly isCanary?: true;
  readonly pullDigest: Digest | undefined;
  readonly latestDigest: Digest | undefined;
};

/** `untested`: the new image was not started, so the next transaction of the group becomes the canary. */
export type CanaryVerdict = 'passed' | 'failed' | 'untested';

/** The result of one transaction for the images that its stale members got. */
export function judgeCanary(
  { members }: PlannedTransaction,
  outcomes: readonly Pick<ContainerOutcome, 'outcome' | 'phases'>[],
): CanaryVerdict {
  const hasFailed = outcomes.some(
    ({ outcome, phases }) => outcome === 'rolled_back' || (outcome === 'failed' && phases?.starting !== undefined),
  );
  if (hasFailed) return 'failed';
  if (outcomes.every(({ outcome }) => outcome === 'fresh')) return 'passed';
  const isDone = outcomes.every(({ outcome }) => outcome === 'updated' || outcome === 'restarted');
  return isDone && members.some(provesItself) ? 'passed' : 'untested';
}

function groupsIn(transactions: readonly PlannedTransaction[]): readonly CanaryGroup[] {
  const byImage = new Map<string, { ids: Set<string>; members: PlannedMember[] }>();
  for (const { id, members } of transactions)
    for (const member of members.filter(({ cause }) => cause === 'stale')) {
      const image = newImageOf(member);
      const group = byImage.get(image) ?? { ids: new Set(), members: [] };
      group.ids.add(id);
      group.members.push(member);
      byImage.set(image, group);
    }
  return [...byImage]
    .filter(([, { ids, members }]) => ids.size > 1 && members.some(provesItself) && wantsCanary(members))
    .map(([image, { ids }]) => ({ image, transactions: [...ids] }));
}

function wantsCanary(members: readonly PlannedMember[]): boolean {
  return members.length >= fewestForCanary || members.some(isLabelled);
}

/** A group of two gets a canary only by label. */
const fewestForCanary = 3;

const ranks = { labelled: 0, other: 1, unproven: 2 } as const;

function rankOf({ members }: PlannedTransaction): number {
  if (!members.some(provesItself)) return ranks.unproven;
  return members.some((member) => provesItself(member) && isLabelled(member)) ? ranks.labelled : ranks.other;
}

function isLabelled({ container }: PlannedMember): boolean {
  return labelValuesOf(container).canary === true;
}

/** A container that stays stopped proves nothing about its image. */
function provesItself({ cause, desiredEndState }: PlannedMember): boolean {
  return cause === 'stale' && desiredEndState !== 'stopped';
}
