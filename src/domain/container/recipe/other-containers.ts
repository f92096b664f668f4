import type { KnownRequest } from './request/request.ts';

/** The containers that are replaced together with this one: see `KnownRequest`. */
type Replaced = Pick<KnownRequest, 'container' | 'replacedIds'>;

type Mode = 'NetworkMode' | 'IpcMode' | 'PidMode' | 'UTSMode';

/** A namespace of another container (`container:<id>`), or of its successor if that container is replaced too. */
export function sharedNamespace(field: Mode): (request: Replaced) => string | undefined {
  return ({ container, replacedIds }) => {
    const mode = container.settings.HostConfig[field];
    return mode?.replace(/^container:(.+)$/s, (_, id: string) => `container:${replacedIds.get(id) ?? id}`);
  };
}

/**
 * `id:ro`: ids become the successor's. A name stays: it means the old container during the creation, and its volumes
 * are the same.
 */
export function volumesFromFor({ container, replacedIds }: Replaced): readonly string[] | null | undefined {
  return container.settings.HostConfig.VolumesFrom?.map((text) => {
    const [reference = '', ...mode] = text.split(':');
    return [successorOf(reference, replacedIds), ...mode].join(':');
  });
}

/** An inspection shows `/db:/web/alias` in random order. The engine expects `db:alias`. */
export function linksFor({ container, replacedIds }: Replaced): readonly string[] | null | undefined {
  return container.settings.HostConfig.Links?.map((text) => {
    const { target, alias } = parseLink(text);
    return `${replacedIds.get(target) ?? target}:${alias}`;
  }).toSorted();
}

export function parseLink(text: string): { readonly target: string; readonly alias: string } {
  const [source = '', path = source] = text.split(':');
  return { target: source.replace(/^\//, ''), alias: path.replace(/^.*\//s, '') };
}

/** The engine stores what the user wrote, which may be the beginning of an id. A name stays. */
function successorOf(reference: string, replacedIds: ReadonlyMap<string, string>): string {
  const isName = replacedIds.has(reference) && !/^[0-9a-f]{64}$/.test(reference);
  if (isName || !/^[0-9a-f]{4,64}$/.test(reference)) return reference;
  for (const [id, successor] of replacedIds) if (id.startsWith(reference)) return successor;
  return reference;
}
