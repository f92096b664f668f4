import { discord } from './discord.ts';
import { googlechat, lark, mattermost, rocketchat, wecom } from './team-chats.ts';
import { matrix } from './matrix.ts';
import { signal } from './signal.ts';
import { slack } from './slack.ts';
import { teams } from './teams.ts';
import { telegram } from './telegram.ts';
import { zulip } from './zulip.ts';
import { smtp } from './smtp.ts';
import { opsgenie, pagerduty } from './on-call.ts';
import { generic, logger, mqtt } from './plain.ts';
import { bark, ifttt, join, pushbullet, twilio } from './push.ts';
import { gotify } from './gotify.ts';
import { notifiarr } from './notifiarr.ts';
import { ntfy } from './ntfy.ts';
import { pushover } from './pushover.ts';
import { apprise, healthchecks, kuma, webhook } from './relays.ts';
import type { Service } from '../service/service.ts';

/** Every service, in the order of the documentation: the most common first. */
export const services: readonly Service[] = [
  ...[discord, telegram, smtp, gotify, ntfy, slack, pushover, generic],
  ...[teams, matrix, mattermost, signal, googlechat, rocketchat, mqtt, logger],
  ...[bark, ifttt, join, lark, notifiarr, opsgenie, pagerduty, pushbullet, twilio, wecom, zulip],
  ...[healthchecks, kuma, webhook, apprise],
];

/** By its scheme, which is in lower case. */
export function serviceOf(scheme: string): Service | undefined {
  return services.find(({ schemes }) => schemes.includes(scheme));
}
