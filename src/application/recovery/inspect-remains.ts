import type { Container, ContainerSummary } from '../../domain/container/container.ts';
import type { UnconfirmedContainer } from '../../domain/recovery/judge-remains.ts';
import type { JournaledContainer } from '../../domain/recovery/remains.ts';
import { readJournal } from '../../domain/transaction/journal.ts';
import { containerOwnLabels } from '../../domain/container/label-names.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import { objectErrorOrThrow } from '../engine/object-error.ts';

/**
 * Reads a container's own journal. A journal in the image's labels does not count: an image that was committed from an
 * updated container has one. A container that cannot be inspected stays unrepaired.
 */
export async function readCarrier(
  outside: Outside,
  { id, name }: ContainerSummary,
): Promise<JournaledContainer | UnconfirmedContainer | undefined> {
  const container = await inspectAlone(outside, id);
  if (container === undefined || typeof container === 'string')
    return container === undefined ? undefined : { name, reason: `cannot be inspected: ${container}` };
  const reading = readJournal(containerOwnLabels(container.settings.Config.Labels ?? {}, container.imageLabels ?? {}));
  return reading.kind === 'journal' ? { container, journal: reading.journal } : undefined;
}

/** Inspects old containers. Kept ones are not in `containers`, but they still exist. */
export async function inspectOlds(
  outside: Outside,
  carriers: readonly JournaledContainer[],
): Promise<{ readonly olds: ReadonlyMap<string, Container>; readonly unreadable: ReadonlySet<string> }> {
  const named = [...new Set(carriers.map(({ journal }) => journal.oldId))];
  const read = await mapConcurrently(named, inspectionsAtOnce, async (id) => ({
    id,
    old: await inspectAlone(outside, id),
  }));
  const olds = read.flatMap(({ id, old }) =>
    old === undefined || typeof old === 'string' ? [] : [[id, old] as const],
  );
  const unreadable = read.flatMap(({ id, old }) => (typeof old === 'string' ? [id] : []));
  return { olds: new Map(olds), unreadable: new Set(unreadable) };
}

/** The engine's error as text, when it answers but not about this container. */
async function inspectAlone({ engine }: Outside, id: string): Promise<Container | string | undefined> {
  try {
    return await engine.inspectContainer(id);
  } catch (error) {
    return (await objectErrorOrThrow(engine, error, undefined)).message;
  }
}
