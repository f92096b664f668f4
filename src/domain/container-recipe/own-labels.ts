import { journalPrefix } from '../label-names.ts';
import { pinnedPathsLabel, pinnedPaths } from './mounts.ts';
import type { KnownRequest } from './request.ts';

/** Compose re-creates a container that carries another image's id here: https://github.com/docker/compose/blob/v2.40.0/pkg/api/labels.go */
export const composeImageLabel = 'com.docker.compose.image';

/** The user's labels, compose's and the new journal; an earlier journal is history. */
export function ownLabels(request: KnownRequest): Readonly<Record<string, string>> {
  const { container, oldImage, journal, newImageId } = request;
  const inherited = new Map(Object.entries(oldImage.config.Labels ?? {}));
  const kept = Object.entries(container.settings.Config.Labels ?? {})
    .filter(([name, value]) => !name.startsWith(journalPrefix) && inherited.get(name) !== value)
    .map(([name, value]) => [name, name === composeImageLabel ? newImageId : value] as const);
  const paths = pinnedPaths(container);
  const pinned = paths.length === 0 ? [] : [[pinnedPathsLabel, JSON.stringify(paths)] as const];
  return Object.fromEntries([...kept, ...pinned, ...Object.entries(journal)]);
}
