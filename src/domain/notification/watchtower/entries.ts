import { shortId } from '../../container/container.ts';
import { type ContainerOutcome, entryKeyOf } from '../../run/session.ts';
import type { MessageLevel } from '../message.ts';
import type { RunFacts } from '../run-facts.ts';
import { formatMoment } from '../template/time/format.ts';
import { type Category, categoryOf, isCooling, latestOf } from './category.ts';
import { cooldownFields, reasonWithLog, type RunTime } from './report.ts';

/** One element of `.Entries` in templates of the Watchtower family. */
export type Entry = {
  readonly message: string;
  readonly level: MessageLevel;
  /** Keys and values of the family's log lines, which users' templates read. */
  readonly data: Readonly<Record<string, string | number>>;
  readonly atMs: number;
};

/** The log lines of the family for a run, in order, with a line for each skipped or failed container. */
export function entriesOf(facts: RunFacts, timeZone: string): readonly Entry[] {
  const at = { startedAtMs: facts.startedAtMs, timeZone };
  const entries = facts.containers.flatMap((container) =>
    [
      cooldownEntry(container, categoryOf(container, facts.purpose), at) ?? [],
      entriesOfContainer(container, facts),
    ].flat(),
  );
  for (const { imageId, imageName, containerName, atMs } of facts.removedImages) {
    const data = { image_id: shortId(imageId), image_name: imageName, container_name: containerName };
    entries.push({ message: 'Removing image', level: 'info', data, atMs });
  }
  if (facts.error !== undefined) {
    const data = { error: facts.error };
    entries.push({ message: 'Update session failed', level: 'error', data, atMs: facts.endedAtMs });
  }
  return withoutRepeats(entries.toSorted((one, other) => one.atMs - other.atMs));
}

/** The family's line about the cooldown of an updated, failed or waiting container. */
function cooldownEntry(container: ContainerOutcome, category: Category, at: RunTime): Entry | undefined {
  const { image, cooldown } = container;
  if (cooldown === undefined || (category !== 'Updated' && category !== 'Failed' && !isCooling(container)))
    return undefined;
  const { CooldownAge, CooldownDelay, CooldownRemaining, CooldownEligibleAt } = cooldownFields(container, at);
  const about = { image, cooldown: CooldownDelay, image_age: CooldownAge };
  const line = { level: 'info', atMs: at.startedAtMs } as const;
  if (!isCooling(container)) return { ...line, message: oldEnough, data: about };
  const eligible_at = formatMoment(CooldownEligibleAt, '2006-01-02T15:04:05Z07:00');
  const data = { ...about, eligible_in: CooldownRemaining, eligible_at };
  return { ...line, message: tooYoung, data };
}

function entriesOfContainer(container: ContainerOutcome, facts: RunFacts): Entry[] {
  const { name, image } = container;
  const reason = reasonWithLog(container);
  const { began, ended } = timesOf(container, facts);
  const id = shortId(container.containerId ?? '');
  const old = { container: name, ...(id !== '' && { id }) };
  const newId = shortId(container.newContainerId ?? '');
  const successor = { ...old, ...(newId !== '' && { new_id: newId }) };
  const info = (message: string, data: Entry['data'], atMs: number): Entry => ({ message, level: 'info', data, atMs });
  const found = () =>
    info('Found new image', { container: name, image, new_id: shortId(latestOf(container)) }, facts.startedAtMs);
  switch (categoryOf(container, facts.purpose)) {
    case 'Updated':
      return [found(), info('Stopping container', old, began), info('Started new container', successor, ended)];
    case 'Restarted':
      return [info('Stopping linked container', old, began), info('Started linked container', successor, ended)];
    case 'Stale':
      return [found()];
    case 'Failed':
      return [
        {
          message: 'Updated container state to failed',
          level: 'error',
          data: { ...(id !== '' && { container_id: id }), name, error: reason },
          atMs: ended,
        },
      ];
    case 'Skipped':
      // The cooldown has its own line.
      if (isCooling(container)) return [];
      return [
        { message: 'Skipped container', level: 'warn', data: { container: name, image, error: reason }, atMs: ended },
      ];
    case 'Fresh':
      return [];
  }
}

function timesOf(
  container: ContainerOutcome,
  { steps, startedAtMs, endedAtMs }: RunFacts,
): { began: number; ended: number } {
  const key = entryKeyOf(container);
  const at = (kind: 'started' | 'ended') => steps.find((step) => step.kind === kind && step.key === key)?.atMs;
  return { began: at('started') ?? startedAtMs, ended: at('ended') ?? endedAtMs };
}

/** The family reports an image of several containers once. */
function withoutRepeats(entries: readonly Entry[]): readonly Entry[] {
  const seen = new Set<string>();
  return entries.filter(({ message, data }) => {
    const names = sameBy.get(message);
    if (names === undefined) return true;
    const key = [message, ...names.map((name) => data[name])].join(' ');
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

const tooYoung = 'Image is within cooldown period - not eligible for update';
const oldEnough = 'Image age exceeds cooldown - eligible for update';

const sameBy: ReadonlyMap<string, readonly string[]> = new Map([
  ['Found new image', ['image', 'new_id']],
  ['Removing image', ['image_id']],
  [tooYoung, ['image']],
  [oldEnough, ['image']],
]);
