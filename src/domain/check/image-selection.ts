import type { ContainerReference } from './container-reference.ts';
import { familiarReference, formatReference, matchesReference } from '../image/image-reference.ts';
import { anyOf, namePattern } from '../text/name-pattern.ts';
import type { ServiceSettings } from '../settings/effective-settings.ts';

/** Why containers of an image are not watched; undefined when they are. The text follows the container's name. */
export type ImageRule = (read: ContainerReference) => string | undefined;

/** Rule from the options that select containers by image; undefined without such options. */
export function createImageRule(
  settings: Pick<ServiceSettings, 'monitorImageNames' | 'skipImageNames'>,
): ImageRule | undefined {
  const { monitorImageNames, skipImageNames } = settings;
  if (monitorImageNames.length + skipImageNames.length === 0) return undefined;
  const isSkipped = imagePattern(skipImageNames);
  const isMonitored = monitorImageNames.length === 0 ? () => true : imagePattern(monitorImageNames);
  return (read) => {
    if (isSkipped(read)) return 'runs an image of skip-image-names';
    return isMonitored(read) ? undefined : 'runs an image that is not among monitor-image-names';
  };
}

/**
 * Matches images by name, with or without a tag, or by a pattern for the whole name with its tag. The name may be
 * short, full, or as the container has it.
 */
function imagePattern(texts: readonly string[]): (read: ContainerReference) => boolean {
  const matches = anyOf(texts.map(namePattern));
  return (read) => {
    if (read.kind === 'unknown') return matches(read.text);
    const { text, reference } = read;
    const names = [familiarReference(reference), formatReference(reference), text];
    return names.some(matches) || texts.some((each) => matchesReference(each, reference));
  };
}
