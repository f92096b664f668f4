import type { Given } from '../given/given-options.ts';
import type { MessageLevel, NotificationSettings } from '../../domain/notification/message.ts';
import type { Fault } from '../declaration/fault.ts';
import { optionEntries, type OptionKey, type OptionValues } from '../table/options.ts';
import { readNamedFile } from '../given/secrets.ts';
import { readLegacyNotifications } from './legacy-urls.ts';
import { timeZoneOf } from '../schedule/local-time-zone.ts';
import { readDailyTime, readTimeSpan } from '../schedule/times.ts';

type Notes = { readonly faults: Fault[]; readonly warnings: string[] };

/** Combines the options of notifications. */
export function makeNotificationSettings(given: Given, { faults, warnings }: Notes): NotificationSettings {
  const { values, sourceOf } = given;
  const isGiven = (key: OptionKey) => sourceOf(key) !== key;
  const legacy = readLegacyNotifications(given);
  for (const message of legacy.problems) faults.push({ kind: 'value', message });
  warnings.push(...legacy.warnings);
  const urls = [...values.notificationUrl, ...legacy.urls];
  const style = styleOf(given);
  const timeZone = timeZoneOf(values);
  return {
    urls,
    legacyUrls: legacy.urls,
    legacySecrets: [values.emailServerPassword, values.slackHookUrl, values.msteamsHook, values.gotifyToken].filter(
      (secret) => secret !== undefined,
    ),
    style,
    ...levelsOf(values),
    delayMs: values.emailDelayMs > 0 ? values.emailDelayMs : values.notificationsDelayMs,
    hostname: values.notificationsHostname,
    template: templateOf(given, faults),
    report: values.notificationReport,
    splitByContainer: values.notificationSplitByContainer,
    titleTag: values.notificationTitleTag ?? values.emailSubjectTag ?? '',
    logStdout: values.notificationLogStdout,
    skipTitle: values.notificationSkipTitle,
    startupMessage: !values.noStartupMessage,
    repeat: isGiven('notificationRepeat') ? values.notificationRepeat : style === 'watchtower',
    digest: values.notificationDigest === undefined ? undefined : readDailyTime(values.notificationDigest, timeZone),
    quietHours:
      values.notificationQuietHours === undefined ? undefined : readTimeSpan(values.notificationQuietHours, timeZone),
    retryMs: values.notificationRetryMs,
    timeZone,
  };
}

/** Watchtower's style if Watchtower variables or templates are used, because filters match its texts. */
function styleOf({ values, sourceOf }: Given): NotificationSettings['style'] {
  if (values.notificationStyle !== 'auto') return values.notificationStyle;
  const asked: readonly OptionKey[] = [
    'notificationTemplate',
    'notificationTemplateFile',
    'notificationReport',
    'notifications',
  ];
  if (asked.some((key) => sourceOf(key) !== key)) return 'watchtower';
  const isFamily = optionEntries.some(
    ([key, { group }]) => group === 'notifications' && sourceOf(key).startsWith('WATCHTOWER_'),
  );
  return isFamily ? 'watchtower' : 'upkeep';
}

function levelsOf({ notificationsLevel, notificationTargetLevels }: OptionValues) {
  const byName = notificationTargetLevels.map((item) => {
    const at = item.lastIndexOf('=');
    return [item.slice(0, at), levelNamed(item.slice(at + 1))] as const;
  });
  return { level: levelNamed(notificationsLevel), levelOf: Object.fromEntries(byName) };
}

function levelNamed(word: string): MessageLevel {
  return levels[word.toLowerCase()] ?? 'info';
}

/** Levels of the Watchtower family without messages are mapped to the next level with messages. */
const levels: Readonly<Record<string, MessageLevel>> = {
  panic: 'error',
  fatal: 'error',
  error: 'error',
  warn: 'warn',
  warning: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'debug',
};

/** A file takes precedence over the text. */
function templateOf({ values, sourceOf }: Given, faults: Fault[]): string | undefined {
  const { notificationTemplate: text, notificationTemplateFile, previewTemplate } = values;
  const path = previewTemplate ?? notificationTemplateFile;
  if (path === undefined) return text;
  const key = previewTemplate === undefined ? 'notificationTemplateFile' : 'previewTemplate';
  const file = readNamedFile(sourceOf(key), path);
  if (file.kind === 'value') return file.value.toString();
  faults.push(file.fault);
  return undefined;
}
