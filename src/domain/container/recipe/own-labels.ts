import type { Container, Image } from '../container.ts';
import { journalPrefix, type Labels } from '../label-names.ts';
import { pinnedPathsLabel, pinnedPaths } from './volumes/mounts.ts';
import type { KnownRequest } from './request/request.ts';

/**
 * Compose re-creates a container whose label names another image id:
 * https://github.com/docker/compose/blob/v2.40.0/pkg/api/labels.go
 */
export const composeImageLabel = 'com.docker.compose.image';

/** The user's labels, compose's labels and the new journal. An earlier journal is left out. */
export function ownLabels(request: KnownRequest): Readonly<Record<string, string>> {
  const { container, oldImage, journal, newImageId } = request;
  const kept = givenLabels(container, oldImage)
    .filter(([name]) => !name.startsWith(journalPrefix))
    .map(([name, value]) => [name, name === composeImageLabel ? newImageId : value] as const);
  const paths = pinnedPaths(container);
  const pinned = paths.length === 0 ? [] : [[pinnedPathsLabel, JSON.stringify(paths)] as const];
  return Object.fromEntries([...kept, ...pinned, ...Object.entries(journal)]);
}

/** The labels that a successor will have, without its journal: the user's own, and those of its image. */
export function labelsToBe(container: Container, oldImage: Image | undefined, image: Image): Labels {
  return { ...image.config.Labels, ...Object.fromEntries(givenLabels(container, oldImage)) };
}

function givenLabels({ settings }: Container, oldImage: Image | undefined): readonly (readonly [string, string])[] {
  const inherited = new Map(Object.entries(oldImage?.config.Labels ?? {}));
  return Object.entries(settings.Config.Labels ?? {}).filter(([name, value]) => inherited.get(name) !== value);
}
