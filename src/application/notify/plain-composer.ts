import type { MessageLevel, MessageLine } from '../../domain/notification/message.ts';
import { gravest, isAtLeast } from '../../domain/notification/outbox/merge.ts';
import type { Composer } from '../../domain/notification/run-facts.ts';
import type { NotificationSettings } from '../../domain/notification/settings.ts';
import type { ContainerOutcome, OutcomeKind } from '../../domain/session.ts';

/** Puts facts into words, as the settings ask for it. */
export function createPlainComposer(settings: NotificationSettings, host: string): Composer {
  const tag = settings.titleTag === '' ? '' : `[${settings.titleTag}] `;
  const title = settings.skipTitle ? '' : `${tag}Upkeep on ${host}`;
  const draft = (lines: readonly MessageLine[]) => ({
    title,
    text: lines.map(({ text }) => text).join('\n'),
    level: gravest(lines.map(({ level }) => level)),
    lines,
  });
  return {
    start: ({ version, schedule, atMs }) =>
      draft([{ level: 'info', text: `Upkeep ${version} has started. ${schedule}`, atMs }]),
    run({ containers, news, error, endedAtMs }, least) {
      const failure: MessageLine[] = error === undefined ? [] : [{ level: 'error', text: error, atMs: endedAtMs }];
      const told = containers.filter(({ name }) => news.has(name));
      const lines = [...failure, ...told.map((one) => lineOf(one, endedAtMs))].filter(({ level }) =>
        isAtLeast(level, least),
      );
      return lines.length === 0 ? undefined : draft(lines);
    },
  };
}

function lineOf({ name, image, outcome, reason }: ContainerOutcome, atMs: number): MessageLine {
  return { level: levels[outcome], text: `${name} (${image}): ${outcome}${reason === '' ? '' : `: ${reason}`}`, atMs };
}

const levels: Readonly<Record<OutcomeKind, MessageLevel>> = {
  updated: 'info',
  restarted: 'info',
  fresh: 'debug',
  skipped: 'info',
  deferred: 'info',
  unknown: 'warn',
  failed: 'error',
  rolled_back: 'error',
};
