import { discord } from './chat/discord.ts';
import { googlechat } from './chat/googlechat.ts';
import { matrix } from './chat/matrix.ts';
import { mattermost } from './chat/mattermost.ts';
import { rocketchat } from './chat/rocketchat.ts';
import { signal } from './chat/signal.ts';
import { slack } from './chat/slack.ts';
import { teams } from './chat/teams.ts';
import { telegram } from './chat/telegram.ts';
import { smtp } from './mail/smtp.ts';
import { generic } from './plain/generic.ts';
import { logger } from './plain/logger.ts';
import { gotify } from './push/gotify.ts';
import { ntfy } from './push/ntfy.ts';
import { pushover } from './push/pushover.ts';
import type { Service } from './service.ts';

/** Every service, in the order of the documentation: those that most people use first. */
export const services: readonly Service[] = [
  ...[discord, telegram, gotify, ntfy, slack, pushover, smtp, generic],
  ...[teams, matrix, mattermost, signal, googlechat, rocketchat, logger],
];

/** By its scheme, which is in lower case. */
export function serviceOf(scheme: string): Service | undefined {
  return services.find(({ schemes }) => schemes.includes(scheme));
}
