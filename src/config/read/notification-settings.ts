import type { Given } from './command-line.ts';
import type { MessageLevel, NotificationSettings } from '../../domain/notification/message.ts';
import type { Fault } from '../table/option.ts';
import { optionEntries, type OptionKey, type OptionValues } from '../table/options.ts';
import { readNamedFile } from './secrets.ts';
import { timeZoneOf, readDailyTime, readTimeSpan } from '../table/times.ts';
import { notificationOptions } from '../table/notifications.ts';

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

/** The URLs for the deprecated options, one for each kind, in the order of `--notifications`. */
type LegacyNotifications = {
  /** Secrets. */
  readonly urls: readonly string[];
  /** The reason why a kind cannot be used; without secrets. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
};

/** The URLs for `--notifications email,slack,msteams,gotify` and their options. */
function readLegacyNotifications(given: Given): LegacyNotifications {
  const { values, sourceOf } = given;
  const kinds = values.notifications.map((kind) => kind.toLowerCase()).filter((kind) => kind !== 'shoutrrr');
  const read = [...new Set(kinds)].map((kind) => ({ kind, ...urlOf(kind, given) }));
  const urls = read.flatMap(({ url }) => url ?? []);
  const hint = `${sourceOf('notifications')} is deprecated: "upkeep notify upgrade" prints what to use instead`;
  return {
    urls,
    problems: read.flatMap(({ problem }) => problem ?? []),
    warnings: [...(kinds.length > 0 ? [hint] : []), ...read.flatMap(({ warning }) => warning ?? [])],
  };
}

type Read = { readonly url?: string; readonly problem?: string; readonly warning?: string };

function urlOf(kind: string, given: Given): Read {
  const convert = Object.hasOwn(conversions, kind) ? conversions[kind] : undefined;
  if (convert !== undefined) return convert(given);
  const known = [...Object.keys(conversions), 'shoutrrr'].join(', ');
  // A target's URL may stand here by mistake.
  const isWord = /^[a-z-]{1,20}$/.test(kind);
  const shown = isWord ? ` "${kind}"` : '';
  const remedy = isWord ? '' : '; --notification-url takes URLs';
  return { problem: `Cannot use ${given.sourceOf('notifications')}${shown}: expected some of ${known}${remedy}` };
}

const conversions: Readonly<Record<string, (given: Given) => Read>> = { email, slack, msteams: teams, gotify };

/** The colour of Watchtower's own conversion. */
const colour = '#406170';

function email(given: Given): Read {
  const { values } = given;
  const { emailFrom: from, emailTo: to, emailServer: server } = values;
  if (from === undefined || to === undefined || server === undefined)
    return missing('email', ['emailFrom', 'emailTo', 'emailServer'], given);
  const { emailServerUser: user = '', emailServerPassword: password } = values;
  const login = user === '' ? '' : `${encode(user)}${password === undefined ? '' : `:${encode(password)}`}@`;
  const query = new URLSearchParams({
    auth: user === '' ? 'None' : 'Plain',
    fromaddress: from,
    fromname: 'Watchtower',
    toaddresses: to,
    // Watchtower turns TLS off for this option. Upkeep only turns the verification off: the password is not sent in
    // the clear.
    ...(values.emailServerTlsSkipVerify && { skiptlsverify: 'Yes' }),
  });
  return { url: `smtp://${login}${hostOf(server)}:${values.emailServerPort}/?${query.toString()}` };
}

function slack(given: Given): Read {
  const { slackHookUrl: hook, slackIdentifier: name = 'watchtower', slackIconUrl, slackIconEmoji } = given.values;
  if (hook === undefined) return missing('slack', ['slackHookUrl'], given);
  const url = parseUrl(hook);
  if (url === undefined) return notAnAddress('slackHookUrl', given);
  const parts = url.pathname.split('/').filter((part) => part !== '');
  if (/(?:^|\.)discord(?:app)?\.com$/.test(url.hostname)) {
    const [, , id, token] = parts;
    if (id === undefined || token === undefined) return notAnAddress('slackHookUrl', given);
    const avatar = slackIconUrl === undefined ? {} : { avatar: slackIconUrl };
    const query = new URLSearchParams({ color: '0x406170', splitlines: 'Yes', username: name, ...avatar });
    return { url: `discord://${token}@${id}?${query.toString()}` };
  }
  const icon = slackIconUrl ?? slackIconEmoji;
  if (url.hostname === 'hooks.slack.com') {
    const token = parts.slice(1).join('-');
    const query = new URLSearchParams({ botname: name, color: colour, ...(icon !== undefined && { icon }) });
    return { url: `slack://hook:${token}@webhook?${query.toString()}` };
  }
  return otherHook(url, parts, name) ?? notAnAddress('slackHookUrl', given);
}

/** Mattermost and Rocket.Chat accept Slack's format, each at its own address. */
function otherHook(url: URL, parts: readonly string[], name: string): Read | undefined {
  const at = parts.indexOf('hooks');
  const tokens = at === -1 ? [] : parts.slice(at + 1);
  const disabled = url.protocol === 'http:' ? '?disabletls=Yes' : '';
  if (tokens.length === 1)
    return {
      url: `mattermost://${encode(name)}@${url.host}/${[...parts.slice(0, at), ...tokens].join('/')}${disabled}`,
    };
  if (tokens.length === 2) return { url: `rocketchat://${encode(name)}@${url.host}/${tokens.join('/')}` };
  return undefined;
}

function teams(given: Given): Read {
  const { msteamsHook: host } = given.values;
  if (host === undefined) return missing('msteams', ['msteamsHook'], given);
  if (parseUrl(host)?.protocol !== 'https:') return notAnAddress('msteamsHook', given);
  return { url: `teams://?${new URLSearchParams({ host, color: colour }).toString()}` };
}

function gotify(given: Given): Read {
  const { gotifyUrl, gotifyToken: token, gotifyTlsSkipVerify } = given.values;
  if (gotifyUrl === undefined || token === undefined) return missing('gotify', ['gotifyUrl', 'gotifyToken'], given);
  const url = parseUrl(gotifyUrl);
  if (url === undefined) return notAnAddress('gotifyUrl', given);
  const isPlain = url.protocol === 'http:';
  const query = new URLSearchParams({
    ...(isPlain && { disabletls: 'Yes' }),
    ...(gotifyTlsSkipVerify && { insecureskipverify: 'Yes' }),
  }).toString();
  const path = url.pathname.replace(/\/+$/, '');
  const address = `gotify://${url.host}${path}/${encode(token)}${query === '' ? '' : `?${query}`}`;
  const warning = `${given.sourceOf('gotifyUrl')} is an http:// address: the token goes over the network in the clear`;
  return { url: address, ...(isPlain && { warning }) };
}

type Key = keyof typeof notificationOptions;

function missing(kind: string, keys: readonly Key[], { values, sourceOf }: Given): Read {
  const absent = keys.filter((key) => values[key] === undefined).map((key) => `--${notificationOptions[key].flag}`);
  const verb = absent.length === 1 ? 'is' : 'are';
  return { problem: `Cannot use ${sourceOf('notifications')} "${kind}": ${absent.join(', ')} ${verb} missing` };
}

/** The whole value may be a secret, so it is not shown. */
function notAnAddress(key: Key, { sourceOf }: Given): Read {
  return { problem: `Cannot use ${sourceOf(key)}: its value is not an address of the service` };
}

function parseUrl(text: string): URL | undefined {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url : undefined;
}

/** An IPv6 address is put into brackets. */
function hostOf(server: string): string {
  const host = server.trim();
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** Also encodes characters that `encodeURIComponent` leaves but a user part must not contain. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}
