import type { Container } from '../../domain/container/container.ts';
import { parseLink } from '../../domain/container/recipe/other-containers.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';

/** The aliases of a container's legacy links, and the name of each link's target; `''` if that is not known. */
type LinkTargets = ReadonlyMap<string, string>;

export function linksOf({ settings }: Pick<Container, 'settings'>): LinkTargets {
  const links = (settings.HostConfig.Links ?? []).map(parseLink);
  return new Map(links.map(({ alias, target }) => [alias, target]));
}

/**
 * A clause about a container that came back without its links; empty if it has them. Docker resolves link targets when
 * Docker itself starts. If the name of a target is free or belongs to another container then, the link is lost until
 * the next start of the engine.
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
 * Ids and aliases by the ids of the old containers, also for their successors, because the targets have other names
 * during a transaction.
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
