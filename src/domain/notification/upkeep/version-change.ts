import { shortId } from '../../container/container.ts';
import type { ContainerOutcome } from '../../run/session.ts';
import type { RunFacts } from '../run-facts.ts';
import { versionOf } from './links.ts';

/**
 * `1.27.2 → 1.27.3`, or the ids of the images if they have no versions or the same one. Empty when nothing is known.
 */
export function versionChange(
  { oldImageId, newImageId }: ContainerOutcome,
  imageLabels: RunFacts['imageLabels'],
): string {
  if (oldImageId === newImageId || newImageId === '') return '';
  const [before, after] = [versionOf(imageLabels.get(oldImageId)), versionOf(imageLabels.get(newImageId))];
  const [oldId, newId] = [shortId(oldImageId), shortId(newImageId)];
  if (before !== undefined && after !== undefined && before !== after) return `${before} → ${after}`;
  return `${withId(before, oldId)} → ${withId(after, newId)}`;
}

function withId(version: string | undefined, id: string): string {
  return version === undefined ? id : `${version} (${id})`;
}
