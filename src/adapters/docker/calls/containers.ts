import type { ContainerFilter } from '../../../domain/outside/engine.ts';
import type { Container, ContainerSummary } from '../../../domain/container/container.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { capabilitiesOf, namePattern } from './capabilities.ts';
import type { Client } from '../transport/client.ts';
import { readList } from './lists.ts';
import { completeContainer, withHealth } from './podman.ts';
import { readInspected } from './reads.ts';
import { readContainer, readContainerSummary } from './translate.ts';
import { isDefined, pathSegment } from '../transport/json-fields.ts';

/** The engine filters first and so sends less. The result is filtered again, because engines match differently. */
export async function listContainers(
  client: Client,
  filter: ContainerFilter = {},
  signal?: AbortSignal,
): Promise<readonly ContainerSummary[]> {
  const { ids, namePrefix, label } = filter;
  // An engine reads an empty list of ids as every container.
  if (ids?.length === 0) return [];
  const filters = {
    ...(ids !== undefined && ids.length <= maxSentIds && { id: ids }),
    ...(namePrefix !== undefined && { name: [namePattern(namePrefix)] }),
    ...(label !== undefined && { label: [label] }),
  };
  const query = { all: '1', filters: JSON.stringify(filters) };
  const list = { thing: 'container', path: '/containers/json', query, signal } as const;
  const answer = await readList(client, list);
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  const entries = dockerWords ? answer : await withHealth(client, list, answer);
  return entries.map(readContainerSummary).filter(isDefined).filter(matching(filter));
}

/** More ids make a URL that proxies refuse (from 8 kB). The whole list is then read and filtered here. */
const maxSentIds = 100;

export async function inspectContainer(
  client: Client,
  idOrName: string,
  signal?: AbortSignal,
): Promise<Container | undefined> {
  const answer = await readInspected(client, {
    doing: `inspect the container ${quoted(idOrName)}`,
    path: `${containerPath(idOrName)}/json`,
    signal,
  });
  if (answer === undefined) return undefined;
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  if (dockerWords) return readContainer(answer);
  const whole = await completeContainer(client, answer, signal);
  return whole && readContainer(whole.inspected, whole.obstacle);
}

export function containerPath(idOrName: string): string {
  return `/containers/${pathSegment(idOrName)}`;
}

function matching({ ids, namePrefix, label }: ContainerFilter): (container: ContainerSummary) => boolean {
  const wanted = ids && new Set(ids);
  return ({ id, name, labels }) =>
    (wanted === undefined || wanted.has(id)) &&
    name.startsWith(namePrefix ?? '') &&
    (label === undefined || hasLabel(labels, label));
}

/** `label` is a name, or a name and a value after the first `=`. */
function hasLabel(labels: ContainerSummary['labels'], label: string): boolean {
  const equals = label.indexOf('=');
  if (equals === -1) return Object.hasOwn(labels, label);
  const name = label.slice(0, equals);
  return Object.hasOwn(labels, name) && labels[name] === label.slice(equals + 1);
}
