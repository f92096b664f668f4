import type { MessageLevel, Target } from './message.ts';
import type { NotificationSettings } from './notification-settings.ts';

/** Targets for messages about a container; undefined: all; empty: none. */
export type Recipients = readonly string[] | undefined;

/** Reads the value of a container's label: names of targets separated by commas, or `off`. */
export function readRecipients(text: string): Recipients {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return undefined;
  return names.some((name) => /^(?:off|none|false)$/i.test(name)) ? [] : names;
}

/** Whether messages about a container with that label go to the target. An unknown name counts like no label. */
export function isFor(
  target: Pick<Target, 'name'>,
  recipients: Recipients,
  all: readonly Pick<Target, 'name'>[],
): boolean {
  if (recipients === undefined || recipients.length === 0) return recipients === undefined;
  const known = recipients.filter((name) => all.some((one) => sameName(one.name, name)));
  return known.length === 0 || known.some((name) => sameName(target.name, name));
}

/** Whether the target raises an alarm if a run does not report to it. */
export function watchesRuns({ service, wantsRunStart }: Pick<Target, 'service' | 'wantsRunStart'>): boolean {
  return wantsRunStart === true || service === 'kuma';
}

/** The least severe level that is sent to the target. */
export function leastLevelOf(
  { name }: Pick<Target, 'name'>,
  { level, levelOf }: Pick<NotificationSettings, 'level' | 'levelOf'>,
): MessageLevel {
  return Object.entries(levelOf).find(([of]) => sameName(of, name))?.[1] ?? level;
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
