import type { Composer } from '../../domain/notification/run-facts.ts';
import type { NotificationSettings } from '../../domain/notification/settings.ts';
import { createUpkeepComposer } from '../../domain/notification/upkeep/texts.ts';
import { createWatchtowerComposer } from '../../domain/notification/watchtower/texts.ts';

export type ComposerParts = {
  readonly hostname: string;
  /** An IANA name, of times in messages. */
  readonly timeZone: string;
  /** Hears of a template that could not be rendered; the message goes out in the default text. */
  readonly onTemplateFailure: (reason: string) => void;
};

/** Puts facts into words, in the style of the settings; a template has the data of the Watchtower family in both. */
export function createComposer(settings: NotificationSettings, parts: ComposerParts): Composer {
  const isOurs = settings.style === 'upkeep';
  if (isOurs && settings.template === undefined) return createUpkeepComposer({ ...settings, ...parts });
  return createWatchtowerComposer({ ...settings, ...parts, product: isOurs ? 'Upkeep' : 'Watchtower updates' });
}
