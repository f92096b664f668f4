import type { Composer } from '../../domain/notification/run-facts.ts';
import type { NotificationSettings } from '../../domain/notification/settings.ts';
import { createWatchtowerComposer } from '../../domain/notification/watchtower/texts.ts';
import { createPlainComposer } from './plain-composer.ts';

export type ComposerParts = {
  readonly hostname: string;
  /** An IANA name, of times in messages. */
  readonly timeZone: string;
  /** Hears of a template that could not be rendered; the message goes out in the default text. */
  readonly onTemplateFailure: (reason: string) => void;
};

/** Puts facts into words, in the style of the settings. */
export function createComposer(settings: NotificationSettings, parts: ComposerParts): Composer {
  if (settings.style === 'upkeep') return createPlainComposer(settings, parts.hostname);
  return createWatchtowerComposer({ ...settings, ...parts });
}
