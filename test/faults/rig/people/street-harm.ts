import { isFailedVersionTag } from '../../../../src/domain/check/known-versions.ts';
import { isTransactionMarkTag } from '../../../../src/domain/transaction/transaction-names.ts';
import { bystanders } from '../forgery/forgery.ts';

/** State of an engine that a forger must not change. */
export type StreetView = {
  readonly containers: readonly StreetContainer[];
  /** Image ids by tag. */
  readonly tags: Readonly<Record<string, string>>;
  readonly imageIds: readonly string[];
};

export type StreetContainer = {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly startedAt: string;
  readonly policy: string;
};

/** Images of the honest update: its tag moves, and tags mark it as open, or a version as failed. */
export type HonestImages = { readonly tag: string; readonly ids: ReadonlySet<string> };

export function harmBetween(before: StreetView, now: StreetView, honest: HonestImages): string[] {
  const lines = ({ tags }: StreetView) =>
    Object.entries(tags)
      .filter(
        ([tag, id]) =>
          tag !== honest.tag && !((isFailedVersionTag(tag) || isTransactionMarkTag(tag)) && honest.ids.has(id)),
      )
      .map(([tag, id]) => `${tag} is ${id}`);
  const [were, are] = [lines(before), lines(now)];
  return [
    ...bystanders.flatMap((name) => differences(name, before, now)),
    ...are.filter((line) => !were.includes(line)).map((line) => `a tag: ${line}`),
    ...were.filter((line) => !are.includes(line)).map((line) => `a tag no more: ${line}`),
    ...before.imageIds.filter((id) => !now.imageIds.includes(id) && !honest.ids.has(id)).map((id) => `lost: ${id}`),
  ];
}

function differences(name: string, before: StreetView, now: StreetView): string[] {
  const old = before.containers.find((container) => container.name === name);
  const same = now.containers.find(({ id }) => id === old?.id);
  if (old === undefined) return [];
  if (same === undefined) return [`"${name}" was removed`];
  return [
    ...(same.name === name ? [] : [`"${name}" was renamed to ${same.name}`]),
    ...(same.status === old.status ? [] : [`"${name}" is ${same.status}`]),
    ...(same.startedAt === old.startedAt ? [] : [`"${name}" was started`]),
    ...(same.policy === old.policy ? [] : [`the policy of "${name}" is ${same.policy}`]),
  ];
}
