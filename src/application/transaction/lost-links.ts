import type { Container } from '../../domain/container/container.ts';
import { parseLink } from '../../domain/container/recipe/host-config.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';

/** The aliases of a container's legacy links, and the name of each link's target; `''` if that is not known. */
type LinkTargets = ReadonlyMap<string, string>;

export function linksOf({ settings }: Pick<Container, 'settings'>): LinkTargets {
  const links = (settings.HostConfig.Links ?? []).map(parseLink);
  return new Map(links.map(({ alias, target }) => [alias, target]));
}

/**
 * A clause about a restored container that has lost links; empty if it has all of them. Docker resolves link targets
 * when Docker itself starts. If the name of a target is then free or belongs to another container, the link is lost
 * until the next start of the engine.
 */
export async function describeLostLinks(
  { engine }: Pick<Outside, 'engine'>,
  oldId: string,
  wanted: LinkTargets | undefined,
): Promise<string> {
  if (wanted === undefined || wanted.size === 0) return '';
  const container = await engine.inspectContainer(oldId).catch(() => undefined);
  if (container === undefined) return '';
  const has = linksOf(container);
  const lost = [...wanted].filter(([alias, target]) => !has.has(alias) || (target !== '' && has.get(alias) !== target));
  if (lost.length === 0) return '';
  const which = lost.map(([alias]) => quoted(alias)).join(', ');
  const links = lost.length === 1 ? `its link ${which}` : `its links ${which}`;
  return `; "${container.name}" has lost ${links}, because the engine ended meanwhile: restart the engine, or re-create the container`;
}

/**
 * The aliases of each successor's links, by the id of the old container. The names of the targets stay empty, because
 * targets have other names during a transaction.
 */
export async function linksOfSuccessors(
  { engine }: Pick<Outside, 'engine'>,
  successors: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, LinkTargets>> {
  const found = new Map<string, LinkTargets>();
  for (const [oldId, id] of successors) {
    const successor = await engine.inspectContainer(id).catch(() => undefined);
    if (successor === undefined) continue;
    found.set(oldId, new Map([...linksOf(successor).keys()].map((alias) => [alias, ''])));
  }
  return found;
}
