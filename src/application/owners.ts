import { isAlive } from '../domain/container.ts';
import type { Outside } from '../domain/outside.ts';

/** Longer than any transaction takes: the longest stop and the longest health check together. */
export const longestTransactionMs = 2 * 3_600_000;

export type Owner = { readonly owner: string; readonly ownerContainer: string; readonly ageMs: number };

/** Why a transaction is not to be touched from here; undefined when nobody else is at it. */
export async function whyNotOurs(
  outside: Outside,
  { owner, ownerContainer, ageMs }: Owner,
): Promise<string | undefined> {
  if (owner === '') return undefined;
  const state = outside.instance.ownerState(owner);
  if (state === 'alive') return 'another instance of Upkeep is at it';
  if (state !== 'unknown' || ageMs < 0 || ageMs >= longestTransactionMs) return undefined;
  if (ownerContainer === '')
    return 'another instance of Upkeep may be at it; it is taken over when it is two hours old';
  return (await runsInAnother(outside, ownerContainer)) ? 'another instance of Upkeep is at it' : undefined;
}

/** The engine itself tells of an owner that ran in one of its containers. */
async function runsInAnother({ engine, instance }: Outside, id: string): Promise<boolean> {
  if (id === instance.containerId) return false;
  const container = await engine.inspectContainer(id);
  return container !== undefined && isAlive(container.state.status);
}
