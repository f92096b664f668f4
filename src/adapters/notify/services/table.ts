import { discord } from './chat/discord.ts';
import { googlechat } from './chat/googlechat.ts';
import { lark } from './chat/lark.ts';
import { matrix } from './chat/matrix.ts';
import { mattermost } from './chat/mattermost.ts';
import { rocketchat } from './chat/rocketchat.ts';
import { signal } from './chat/signal.ts';
import { slack } from './chat/slack.ts';
import { teams } from './chat/teams.ts';
import { telegram } from './chat/telegram.ts';
import { wecom } from './chat/wecom.ts';
import { zulip } from './chat/zulip.ts';
import { smtp } from './mail/smtp.ts';
import { opsgenie } from './on-call/opsgenie.ts';
import { pagerduty } from './on-call/pagerduty.ts';
import { generic } from './plain/generic.ts';
import { logger } from './plain/logger.ts';
import { mqtt } from './plain/mqtt.ts';
import { bark } from './push/bark.ts';
import { gotify } from './push/gotify.ts';
import { ifttt } from './push/ifttt.ts';
import { join } from './push/join.ts';
import { notifiarr } from './push/notifiarr.ts';
import { ntfy } from './push/ntfy.ts';
import { pushbullet } from './push/pushbullet.ts';
import { pushover } from './push/pushover.ts';
import { twilio } from './push/twilio.ts';
import { apprise } from './relay/apprise.ts';
import { healthchecks } from './relay/healthchecks.ts';
import { kuma } from './relay/kuma.ts';
import { webhook } from './relay/webhook.ts';
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
