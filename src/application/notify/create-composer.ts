import type { Composer } from '../../domain/notification/run-facts.ts';
import type { NotificationSettings } from '../../domain/notification/message.ts';
import { createUpkeepComposer } from '../../domain/notification/upkeep-composer.ts';
import { createWatchtowerComposer, type WatchtowerTextOptions } from '../../domain/notification/watchtower-composer.ts';

export type ComposerParts = Pick<WatchtowerTextOptions, 'hostname' | 'timeZone' | 'onTemplateFailure'>;

/** Writes messages in the style of the settings. Templates get the data of the Watchtower family in every style. */
export function createComposer(settings: NotificationSettings, parts: ComposerParts): Composer {
  const isOurs = settings.style === 'upkeep';
  if (isOurs && settings.template === undefined) return createUpkeepComposer({ ...settings, ...parts });
  return createWatchtowerComposer({ ...settings, ...parts, product: isOurs ? 'Upkeep' : 'Watchtower updates' });
}
