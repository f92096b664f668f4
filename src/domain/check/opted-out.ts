import type { Labels } from '../container/label-names.ts';
import { readContainerReference } from './container-reference.ts';
import type { ContainerSummary } from '../container/container.ts';
import { createImageRule } from './image-selection.ts';
import { carriesAny } from '../container/label-pair.ts';
import { effectiveSettings } from '../settings/effective-settings.ts';
import { readLabels } from '../settings/labels.ts';
import { anyOf, namePattern } from '../text/name-pattern.ts';
import type { ServiceSettings } from '../settings/settings.ts';

type OptOutSettings = Pick<
  ServiceSettings,
  'disableContainers' | 'skipImageNames' | 'disableContainersByLabel' | 'monitorOnly' | 'labelTakesPrecedence'
>;

/** `image` is the reference that the container was created from. */
type Candidate = Pick<ContainerSummary, 'name' | 'labels' | 'image' | 'imageId'> & {
  readonly imageLabels?: Labels | undefined;
};

/**
 * Why a container must not be changed even for the update of another one. Undefined when it may be. A container outside
 * of the selection (another scope, not named) may be: otherwise it would stay broken.
 */
export function whyOptedOut(
  { name, labels, imageLabels, image: text, imageId }: Candidate,
  settings: OptOutSettings,
): string | undefined {
  const { wishes } = readLabels(labels, imageLabels);
  if (wishes.enable === false) return 'is disabled by its label';
  if (anyOf(settings.disableContainers.map(namePattern))(name)) return 'is disabled by disable-containers';
  if (carriesAny(labels, settings.disableContainersByLabel)) return 'is disabled by disable-containers-by-label';
  const isSkipped = createImageRule({ skipImageNames: settings.skipImageNames, monitorImageNames: [] });
  const reference = readContainerReference({ text, originalImage: wishes.originalImage, imageId, image: undefined });
  return isSkipped?.(reference) ?? (effectiveSettings(settings, wishes).monitorOnly ? 'is monitored only' : undefined);
}
