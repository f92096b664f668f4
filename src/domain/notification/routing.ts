import type { MessageLevel, Target } from './message.ts';
import type { NotificationSettings } from './settings.ts';

/** Targets of a container's messages; undefined: all; empty: none. */
export type Recipients = readonly string[] | undefined;

/** From the value of a container's label: names of targets, separated by commas, or `off`. */
export function readRecipients(text: string): Recipients {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return undefined;
  return names.some((name) => /^(?:off|none|false)$/i.test(name)) ? [] : names;
}

/** Whether news of a container with that label goes to the target. A name that is no target's counts like no label. */
export function isFor(
  target: Pick<Target, 'name'>,
  recipients: Recipients,
  all: readonly Pick<Target, 'name'>[],
): boolean {
  if (recipients === undefined || recipients.length === 0) return recipients === undefined;
  const known = recipients.filter((name) => all.some((one) => sameName(one.name, name)));
  return known.length === 0 || known.some((name) => sameName(target.name, name));
}

/** Whether silence means to it that something is wrong, so that it hears of each run, news or not. */
export function watchesRuns({ service, hearsStart }: Pick<Target, 'service' | 'hearsStart'>): boolean {
  return hearsStart === true || service === 'kuma';
}

/** The least severe that the target is told. */
export function leastLevelOf(
  { name }: Pick<Target, 'name'>,
  { level, levelOf }: Pick<NotificationSettings, 'level' | 'levelOf'>,
): MessageLevel {
  return Object.entries(levelOf).find(([of]) => sameName(of, name))?.[1] ?? level;
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
