import { describe, expect, test } from 'vitest';
import { loadConfiguration } from '../read/load.ts';
import { localTimeZone, isDailyTime, isTimeSpan, readDailyTime, readTimeSpan } from '../table/times.ts';

describe('times of the day', () => {
  test.each(['0:00', '08:00', '23:59', ' 8:30 '])('%j is one', (text) => expect(isDailyTime(text)).toBe(true));
  test.each(['', '24:00', '8', '08:60', '8:5', '-1:00', '08:00:00'])('%j is none', (text) =>
    expect(isDailyTime(text)).toBe(false),
  );
  test.each(['22:00-07:00', '8:00 - 9:00', '12:00–13:00'])('%j is a span', (text) =>
    expect(isTimeSpan(text)).toBe(true),
  );
  test.each(['', '22:00', '22:00-22:00', '22:00-25:00', '1:00-2:00-3:00'])('%j is no span', (text) =>
    expect(isTimeSpan(text)).toBe(false),
  );

  test('are those of the time zone, also when the clocks are changed', () => {
    const next = readDailyTime('08:00', 'Europe/Berlin');
    expect(next?.(Date.UTC(2026, 2, 28, 7))).toBe(Date.UTC(2026, 2, 29, 6));
    expect(next?.(Date.UTC(2026, 2, 28, 6))).toBe(Date.UTC(2026, 2, 28, 7));
    const span = readTimeSpan('22:00-07:00', 'UTC');
    expect(span?.from(0)).toBe(22 * 3_600_000);
    expect(span?.until(0)).toBe(7 * 3_600_000);
  });
});

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  [':Asia/Kolkata', 'Asia/Kolkata'],
  ['/usr/share/zoneinfo/Asia/Kolkata', 'Asia/Kolkata'],
  [':/etc/localtime', localTimeZone()],
])('with TZ=%s, messages and their times are in the zone %s', (TZ, zone) => {
  const { timeZone, digest } = load(['--notification-digest', '07:00'], { TZ }).settings.notifications;
  expect([timeZone, digest?.(0)]).toEqual([zone, readDailyTime('07:00', zone)?.(0)]);
});

describe('the style', () => {
  test.each([
    [[], { UPKEEP_NOTIFICATION_URL: 'a://b' }, 'upkeep'],
    [[], { WATCHTOWER_NOTIFICATION_URL: 'a://b' }, 'watchtower'],
    [['--notification-url', 'a://b'], {}, 'upkeep'],
    [['--notification-report'], {}, 'watchtower'],
    [['--notification-template', '{{.}}'], {}, 'watchtower'],
    [['--notification-style', 'upkeep'], { WATCHTOWER_NOTIFICATION_URL: 'a://b' }, 'upkeep'],
    [['--notification-style', 'watchtower'], {}, 'watchtower'],
  ])('with %j and %j is %s, and findings are repeated in that of Watchtower', (argv, environment, style) => {
    const { notifications } = load(argv, environment).settings;
    expect(notifications).toMatchObject({ style, repeat: style === 'watchtower' });
  });
});

describe('options of old', () => {
  const email = {
    WATCHTOWER_NOTIFICATION_EMAIL_FROM: 'w@x.test',
    WATCHTOWER_NOTIFICATION_EMAIL_TO: 'a@x.test,b@x.test',
    WATCHTOWER_NOTIFICATION_EMAIL_SERVER: 'mail.test',
  };

  test.each<[string, Readonly<Record<string, string>>, string]>([
    [
      'email',
      email,
      'smtp://mail.test:25/?auth=None&fromaddress=w%40x.test&fromname=Watchtower&toaddresses=a%40x.test%2Cb%40x.test',
    ],
    [
      'email',
      {
        ...email,
        WATCHTOWER_NOTIFICATION_EMAIL_SERVER: 'fd00::1',
        WATCHTOWER_NOTIFICATION_EMAIL_SERVER_USER: 'me@x.test',
        WATCHTOWER_NOTIFICATION_EMAIL_SERVER_PASSWORD: 'p:w/#?%',
        WATCHTOWER_NOTIFICATION_EMAIL_SERVER_PORT: '587',
        WATCHTOWER_NOTIFICATION_EMAIL_SERVER_TLS_SKIP_VERIFY: 'true',
      },
      'smtp://me%40x.test:p%3Aw%2F%23%3F%25@[fd00::1]:587/?auth=Plain&fromaddress=w%40x.test&fromname=Watchtower&toaddresses=a%40x.test%2Cb%40x.test&skiptlsverify=Yes',
    ],
    [
      'slack',
      { WATCHTOWER_NOTIFICATION_SLACK_HOOK_URL: 'https://hooks.slack.com/services/TAAA/BBBB/CCCC' },
      'slack://hook:TAAA-BBBB-CCCC@webhook?botname=watchtower&color=%23406170',
    ],
    [
      'slack',
      {
        WATCHTOWER_NOTIFICATION_SLACK_HOOK_URL: 'https://discord.com/api/webhooks/12/tok-en/slack',
        WATCHTOWER_NOTIFICATION_SLACK_ICON_URL: 'https://x.test/i.png',
      },
      'discord://tok-en@12?color=0x406170&splitlines=Yes&username=watchtower&avatar=https%3A%2F%2Fx.test%2Fi.png',
    ],
    [
      'slack',
      { WATCHTOWER_NOTIFICATION_SLACK_HOOK_URL: 'https://chat.test:8443/hooks/abc' },
      'mattermost://watchtower@chat.test:8443/abc',
    ],
    [
      'msteams',
      { WATCHTOWER_NOTIFICATION_MSTEAMS_HOOK_URL: 'https://p.logic.azure.com/workflows/1?sig=2' },
      'teams://?host=https%3A%2F%2Fp.logic.azure.com%2Fworkflows%2F1%3Fsig%3D2&color=%23406170',
    ],
    [
      'gotify',
      { WATCHTOWER_NOTIFICATION_GOTIFY_URL: 'https://x.test/sub', WATCHTOWER_NOTIFICATION_GOTIFY_TOKEN: 'Atok' },
      'gotify://x.test/sub/Atok',
    ],
    [
      'gotify',
      {
        WATCHTOWER_NOTIFICATION_GOTIFY_URL: 'http://x.test:8080/',
        WATCHTOWER_NOTIFICATION_GOTIFY_TOKEN: 'Atok',
        WATCHTOWER_NOTIFICATION_GOTIFY_TLS_SKIP_VERIFY: 'true',
      },
      'gotify://x.test:8080/Atok?disabletls=Yes&insecureskipverify=Yes',
    ],
  ])('%s with %j', (kind, environment, url) => {
    const loaded = load([], { ...environment, WATCHTOWER_NOTIFICATIONS: kind });
    expect(loaded.settings.notifications).toMatchObject({ urls: [url], legacyUrls: [url], style: 'watchtower' });
    expect(loaded.warnings).toContainEqual(
      expect.stringContaining('"upkeep notify upgrade" prints what to use instead'),
    );
  });

  test('leave the values of a URL whole', () => {
    const url = 'pagerduty://KEY?contexts=link:https://l.example.com,image:https://i.example.com';
    expect(load(['--notification-url', url]).settings.notifications.urls).toEqual([url]);
  });

  test('come after URLs, in their order, and each kind once', () => {
    const environment = {
      ...email,
      WATCHTOWER_NOTIFICATION_GOTIFY_URL: 'https://g.test',
      WATCHTOWER_NOTIFICATION_GOTIFY_TOKEN: 'A',
    };
    const { urls } = load(['-n', 'gotify,shoutrrr', '-n', 'email Gotify', '--notification-url', 'a://b'], environment)
      .settings.notifications;
    expect(urls.map((url) => url.split(':')[0])).toEqual(['a', 'gotify', 'smtp']);
  });

  test.each([
    [
      ['-n', 'email'],
      {},
      'Cannot use -n "email": --notification-email-from, --notification-email-to, --notification-email-server are missing',
    ],
    [['-n', 'pager'], {}, 'Cannot use -n "pager": expected some of email, slack, msteams, gotify, shoutrrr'],
    [
      ['-n', 'slack', '--notification-slack-hook-url', 'https://hunter2.test/x'],
      {},
      'Cannot use --notification-slack-hook-url: its value is not an address of the service',
    ],
    [
      ['-n', 'msteams', '--notification-msteams-hook', 'http://hunter2.test'],
      {},
      'Cannot use --notification-msteams-hook: its value is not an address of the service',
    ],
  ])('%j stops the start, and tells no secret', (argv, environment, message) => {
    const loaded = loadConfiguration(['run', ...argv], environment);
    expect(loaded).toEqual({ kind: 'faults', exitCode: 1, message });
  });
});

function load(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const loaded = loadConfiguration(['run', ...argv], environment);
  if (loaded.kind !== 'command') throw new Error(JSON.stringify(loaded));
  return loaded;
}
