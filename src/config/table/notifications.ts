import { isDailyTime, isTimeSpan } from './times.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from './option.ts';

/**
 * Options of notifications. Most of them belong to the Watchtower family and have the same meaning, so that a setup can
 * be moved unchanged. Most values are, or may contain, secrets.
 */
export const notificationOptions = optionTable({ group: 'notifications', commands: ['run', 'notify'] }, {
  notificationUrl: {
    flag: 'notification-url',
    meaning: 'Notification targets, as Shoutrrr URLs',
    example: 'ops=discord://token@id',
    kind: 'list',
    separators: 'url',
    secret: true,
    mayNameFile: true,
  },
  notificationStyle: {
    flag: 'notification-style',
    meaning: 'Wording of the messages',
    example: 'upkeep',
    kind: 'choice',
    choices: ['auto', 'watchtower', 'upkeep'],
    default: 'auto',
    defaultMeaning: 'watchtower with a template, a report or a WATCHTOWER_NOTIFICATION variable, else upkeep',
  },
  notificationsLevel: {
    flag: 'notifications-level',
    meaning: 'Minimum severity of messages',
    example: 'error',
    kind: 'choice',
    choices: ['panic', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'],
    aliases: { warning: 'warn' },
    default: 'info',
  },
  notificationTargetLevels: {
    flag: 'notification-target-levels',
    meaning: 'Minimum severity by name of the target, instead of --notifications-level',
    example: 'ops=error',
    kind: 'list',
    separators: 'comma or space',
    accepts: {
      test: (text) => /^[^=]+=(?:error|warn|warning|info|debug)$/i.test(text),
      expected: 'names with one of error, warn, info, debug, such as ops=error',
    },
  },
  notificationsDelayMs: delay('notifications-delay', 'Delay before a message is sent'),
  notificationsHostname: text('notifications-hostname', 'Host name in the title', 'nas'),
  notificationTemplate: {
    ...text(
      'notification-template',
      'Template of messages, as a Go template or the name of a template',
      '{{range .}}{{.Message}}{{end}}',
    ),
    keepsQuotes: true,
  },
  notificationTemplateFile: text('notification-template-file', 'File with the template', '/etc/upkeep/message.tmpl'),
  previewTemplate: {
    kind: 'text',
    flag: 'template',
    env: [],
    placeholder: 'FILE',
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
      'Time in which only failures are sent; other messages follow after it',
      '22:00-07:00',
    ),
    accepts: { test: isTimeSpan, expected: 'two different times of the day such as 22:00-07:00' },
  },
  notificationRetryMs: {
    flag: 'notification-retry',
    meaning: 'Delay before a message is sent again; doubled after each attempt',
    example: '1m',
    kind: 'duration',
    default: 30_000,
    minMs: 10,
    maxMs: 1_800_000,
  },

  notifications: {
    flag: 'notifications',
    meaning: 'Kinds of notifications: email, slack, msteams, gotify',
    example: 'email',
    short: 'n',
    kind: 'list',
    separators: 'comma or space',
    deprecated: 'use --notification-url',
  },
  emailFrom: old(text('notification-email-from', 'Sender of mails', 'upkeep@example.com')),
  emailTo: old(text('notification-email-to', 'Recipient of mails', 'me@example.com')),
  emailDelayMs: {
    ...delay('notification-email-delay', 'Delay before a mail is sent'),
    deprecated: 'use --notifications-delay',
  },
  emailServer: old(text('notification-email-server', 'Mail server', 'mail.example.com')),
  emailServerPort: {
    flag: 'notification-email-server-port',
    meaning: 'Port of the mail server',
    example: '587',
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
} as const satisfies OptionParts);

function text(flag: string, meaning: string, example: string) {
  return { kind: 'text', flag, meaning, example } as const;
}

function secret(flag: string, meaning: string, example: string) {
  return { ...text(flag, meaning, example), secret: true, mayNameFile: true } as const;
}

function flag(name: string, meaning: string) {
  return { kind: 'boolean', flag: name, meaning } as const;
}

function delay(flag: string, meaning: string) {
  return { kind: 'duration', flag, meaning, example: '10s', default: 0, minMs: 0, maxMs: 86_400_000 } as const;
}

function old<const Parts extends object>(option: Parts) {
  return { ...option, deprecated: 'use --notification-url' } as const;
}
