import { isDailyTime, isTimeSpan } from '../schedule/times.ts';
import type { Option, OptionOf } from '../declaration/option.ts';

const commands = ['run', 'notify'] as const;

/**
 * Options of notifications. Most of them belong to the Watchtower family and have the same meaning, so that a setup can
 * be moved unchanged. Most values are, or may contain, secrets.
 */
export const notificationOptions = {
  notificationUrl: {
    ...shared('notification-url', 'Notification targets, as Shoutrrr URLs', 'ops=discord://token@id'),
    kind: 'list',
    separators: 'url',
    default: [],
    secret: true,
    mayNameFile: true,
  } satisfies OptionOf<'list'>,
  notificationStyle: {
    ...shared('notification-style', 'Wording of the messages', 'upkeep'),
    kind: 'choice',
    choices: ['auto', 'watchtower', 'upkeep'],
    default: 'auto',
    defaultMeaning: 'watchtower with a template, a report or a WATCHTOWER_NOTIFICATION variable, else upkeep',
  },
  notificationsLevel: {
    ...shared('notifications-level', 'Minimum severity of messages', 'error'),
    kind: 'choice',
    choices: ['panic', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    aliases: { warning: 'warn' },
    default: 'info',
  },
  notificationTargetLevels: {
    ...shared(
      'notification-target-levels',
      'Minimum severity by name of the target, instead of --notifications-level',
      'ops=error',
    ),
    kind: 'list',
    separators: 'comma or space',
    accepts: {
      test: (text) => /^[^=]+=(?:error|warn|warning|info|debug)$/i.test(text),
      expected: 'names with one of error, warn, info, debug, such as ops=error',
    },
    default: [],
  } satisfies OptionOf<'list'>,
  notificationsDelayMs: delay('notifications-delay', 'Delay before a message is sent'),
  notificationsHostname: text('notifications-hostname', 'Host name in the title', 'nas'),
  notificationTemplate: text(
    'notification-template',
    'Template of messages, as a Go template or the name of a template',
    '{{range .}}{{.Message}}{{end}}',
  ),
  notificationTemplateFile: text('notification-template-file', 'File with the template', '/etc/upkeep/message.tmpl'),
  previewTemplate: {
    group: 'notifications',
    kind: 'text',
    flag: 'template',
    placeholder: 'FILE',
    default: undefined,
    defaultMeaning: '--notification-template-file',
    meaning: 'File with a template for "notify preview"',
    example: 'message.tmpl',
    commands: ['notify'],
  },
  notificationReport: flag('notification-report', 'Pass the report of the session to the template'),
  notificationSplitByContainer: flag('notification-split-by-container', 'Send one message for each container'),
  notificationTitleTag: text('notification-title-tag', 'A prefix of the title', 'home'),
  notificationSkipTitle: flag('notification-skip-title', 'Send no title'),
  notificationLogStdout: flag('notification-log-stdout', 'Write logger:// messages to standard output'),
  noStartupMessage: flag('no-startup-message', 'Send no message at the start'),
  notificationRepeat: {
    ...flag('notification-repeat', 'Repeat the same finding in each run'),
    defaultMeaning: 'only in the style of Watchtower',
  },
  notificationDigest: {
    ...text('notification-digest', 'Send one message a day at this time; failures are sent at once', '08:00'),
    accepts: { test: isDailyTime, expected: 'a time of the day such as 08:00' },
  },
  notificationQuietHours: {
    ...text(
      'notification-quiet-hours',
      'Time span in which only failures are sent; other messages are sent after it',
      '22:00-07:00',
    ),
    accepts: { test: isTimeSpan, expected: 'two different times of the day such as 22:00-07:00' },
  },
  notificationRetryMs: {
    ...shared('notification-retry', 'Delay before a message is sent again; doubled after each attempt', '1m'),
    kind: 'duration',
    default: 30_000,
    minMs: 10,
    maxMs: 1_800_000,
  },

  notifications: {
    ...shared('notifications', 'Kinds of notifications: email, slack, msteams, gotify', 'email'),
    short: 'n',
    kind: 'list',
    separators: 'comma or space',
    default: [],
    deprecated: 'use --notification-url',
  } satisfies OptionOf<'list'>,
  emailFrom: old(text('notification-email-from', 'Sender of mails', 'upkeep@example.com')),
  emailTo: old(text('notification-email-to', 'Recipient of mails', 'me@example.com')),
  emailDelayMs: {
    ...delay('notification-email-delay', 'Delay before a mail is sent'),
    deprecated: 'use --notifications-delay',
  },
  emailServer: old(text('notification-email-server', 'Mail server', 'mail.example.com')),
  emailServerPort: {
    ...shared('notification-email-server-port', 'Port of the mail server', '587'),
    kind: 'integer',
    default: 25,
    min: 1,
    max: 65_535,
    deprecated: 'use --notification-url',
  },
  emailServerTlsSkipVerify: old(
    flag('notification-email-server-tls-skip-verify', 'Accept any certificate of the mail server'),
  ),
  emailServerUser: old(text('notification-email-server-user', 'User name at the mail server', 'upkeep')),
  emailServerPassword: old(
    secret('notification-email-server-password', 'Password at the mail server', '/run/secrets/mail-password'),
  ),
  emailSubjectTag: {
    ...text('notification-email-subjecttag', 'A prefix of the subject', 'home'),
    deprecated: 'use --notification-title-tag',
  },
  slackHookUrl: old(secret('notification-slack-hook-url', 'Webhook of Slack or Discord', '/run/secrets/slack-hook')),
  slackIdentifier: old(text('notification-slack-identifier', 'Sender at Slack', 'upkeep')),
  slackChannel: old(text('notification-slack-channel', 'Channel at Slack', 'updates')),
  slackIconEmoji: old(text('notification-slack-icon-emoji', 'Icon at Slack, by its code', ':whale:')),
  slackIconUrl: old(text('notification-slack-icon-url', 'Icon at Slack, by its address', 'https://example.com/i.png')),
  msteamsHook: {
    ...old(secret('notification-msteams-hook', 'Webhook of Teams', '/run/secrets/teams-hook')),
    env: ['NOTIFICATION_MSTEAMS_HOOK_URL'],
  },
  gotifyUrl: old(text('notification-gotify-url', 'Gotify server', 'https://gotify.example.com')),
  gotifyToken: old(secret('notification-gotify-token', 'Token at Gotify', '/run/secrets/gotify-token')),
  gotifyTlsSkipVerify: old(flag('notification-gotify-tls-skip-verify', 'Accept any certificate of the Gotify server')),
} as const satisfies Readonly<Record<string, Option>>;

function shared(name: string, meaning: string, example: string) {
  const env = [name.toUpperCase().replaceAll('-', '_')];
  return { group: 'notifications', flag: name, env, meaning, example, commands } as const;
}

function text(name: string, meaning: string, example: string): OptionOf<'text'> {
  return { ...shared(name, meaning, example), kind: 'text', default: undefined };
}

function secret(name: string, meaning: string, example: string): OptionOf<'text'> {
  return { ...text(name, meaning, example), secret: true, mayNameFile: true };
}

function flag(name: string, meaning: string): OptionOf<'boolean'> {
  return { ...shared(name, meaning, 'true'), kind: 'boolean', default: false };
}

function delay(name: string, meaning: string) {
  return {
    ...shared(name, meaning, '10s'),
    kind: 'duration',
    default: 0,
    minMs: 0,
    maxMs: 86_400_000,
  } as const satisfies OptionOf<'duration'>;
}

function old<O extends Option>(option: O): O {
  return { ...option, deprecated: 'use --notification-url' };
}
