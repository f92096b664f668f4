import { judgeFailure } from '../../domain/check/failed-check.ts';
import { failedVersionsIn } from '../../domain/check/failed-version.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import { type CheckSubject, unknownVerdict, type Verdict } from '../../domain/check/verdict.ts';
import type { ImageSummary } from '../../domain/container/container.ts';
import { type ImageIndex, labelsOfImage } from '../../domain/container/image-index.ts';
import { sameRepository, tryParseImageReference } from '../../domain/reference/image-reference.ts';
import { effectiveSettings } from '../../domain/settings/effective-settings.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { quoted } from '../../domain/text/printable.ts';
import { ownJournal } from '../../domain/transaction/journal.ts';
import { stopCode } from '../async/stopped.ts';
import type { Listing } from '../engine/list-all.ts';
import type { ContainerReferences } from './select/container-references.ts';

/** The facts about a container that its verdict needs, or a verdict without a registry request. */
export function subjectOf(
  { container, wishes }: WatchedContainer,
  { references, images, failedVersions }: Known,
  settings: ServiceSettings & {
    readonly applyCooldown: boolean;
    readonly retryFailed: boolean;
    readonly ignoresMonitorOnly: boolean;
  },
): CheckSubject | Verdict {
  const { id, name, imageId } = container;
  const image = images.byId(imageId);
  const read = references.get(id);
  const inForce = effectiveSettings(settings, wishes);
  // The container's own label names the image to move to, whatever runs now.
  const isNamed = read?.kind === 'known' && read.isNamedByLabel === true;
  const isFromRegistry = wishes.fromRegistry ?? (isNamed || wasPulled(container, images, read) || undefined);
  const fault = faultOfLabels(wishes, inForce);
  if (fault !== undefined) return unknownVerdict(fault, { image });
  // Its own settings may forbid the update, and cannot be distinguished from the image's.
  if (image?.isConfigUnknown) return unknownVerdict(unknownConfig(image), { image });
  switch (read?.kind) {
    case 'known':
      return {
        imageId,
        image,
        reference: read.reference,
        isNamedByLabel: read.isNamedByLabel === true,
        inForce,
        ...(isFromRegistry !== undefined && { isFromRegistry }),
        ...(!settings.applyCooldown && { ignoresCooldown: true }),
        ...(settings.ignoresMonitorOnly && { ignoresMonitorOnly: true }),
        failedVersions: failedVersionsIn(failedVersions, name),
        retryFailed: settings.retryFailed,
      };
    case 'unknown':
      return unknownVerdict(read.reason, { image });
    case 'failed':
      return judgeFailure({ image }, read.error);
    case undefined:
      return unknownVerdict('The check failed', { image });
  }
}

/** Whether an update of ours has pulled the image that runs from the repository of the container's reference. */
function wasPulled(
  { labels, imageId }: WatchedContainer['container'],
  images: ImageIndex,
  read: ReturnType<ContainerReferences['get']>,
): boolean {
  const journal = ownJournal(labels, labelsOfImage(images.byId(imageId)));
  if (read?.kind !== 'known' || journal?.isPulled !== true || journal.newImageId !== imageId) return false;
  const reference = tryParseImageReference(journal.reference);
  return reference !== undefined && sameRepository(reference, read.reference);
}

function unknownConfig({ configFault }: ImageSummary): string {
  const unread = configFault === undefined ? '' : `, and it cannot be read from the registry (${configFault})`;
  return `The engine does not know the configuration of the image that runs${unread}, so the labels of the container cannot be distinguished from those of the image: re-create the container from its compose file or command`;
}

type Known = Pick<Listing, 'images' | 'failedVersions'> & { readonly references: ContainerReferences };

/** Why the labels of a container hold its updates back: its owner meant a restriction, and it cannot be read. */
export function faultOfLabels(
  wishes: WatchedContainer['wishes'],
  { tagPolicy, tagInclude, tagExclude }: Pick<ServiceSettings, 'tagPolicy' | 'tagInclude' | 'tagExclude'>,
): string | undefined {
  const named = { policy: tagPolicy, 'tag-include': tagInclude, 'tag-exclude': tagExclude };
  for (const [name, rule] of Object.entries(named))
    if (rule.kind === 'unreadable')
      return `Cannot read the label ${name} with ${quoted(rule.text, 100)}: ${rule.fault}`;
  return wishes.faults[0];
}

/** The verdict on a container whose questions were not answered before the end of the check. */
export function unanswered(
  { container }: WatchedContainer,
  images: ImageIndex,
  signal: AbortSignal | undefined,
): Verdict {
  const subject = { image: images.byId(container.imageId) };
  const late = signal !== undefined && stopCode(signal) === 'timeout';
  return unknownVerdict(
    late ? 'The check did not end in time' : 'The check was cancelled',
    subject,
    late ? 'check timed out' : 'check cancelled',
  );
}
