import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canaryUrls } from '../../../../test/support/notify/notify-canaries.ts';
import { startRig, type Received } from '../../../../test/support/notify/notify-rig.ts';
import { escapeMarkdown } from '../../../domain/notification/upkeep-composer.ts';
import { services } from '../services/table.ts';
import { markups, wordsFor, writtenFor, readMarked, type MarkupName } from './markup.ts';

/** Words as registries, logs and names may have them. */
const hostile: readonly string[] = [
  '**bold** __bold__ ***both***',
  '*bold* _italic_ ~strike~ ~~strike~~',
  'a*b*c snake_case_name __init__ _private',
  '`code` ```block``` ``two``',
  '[Sign in](https://evil.example/login)',
  '![logo](https://evil.example/x.png)',
  '[Sign in][1] [1]: https://evil.example',
  '<https://evil.example|Sign in> <http://evil.example>',
  '<a href="https://evil.example">Sign in</a> <img src=x onerror=alert(1)>',
  '</pre></b><script>alert(1)</script>',
  '@everyone @here @channel @all @room @jo',
  '<!channel> <!here> <!everyone> <@U0123> <#C0123> <!subteam^S1>',
  '<@123456> <@!123456> <@&654321> <users/all> <at user_id="all">all</at>',
  '@**all** @_**jo** @*group* #**stream**',
  '> a quote',
  '>>> a long quote',
  '# a heading',
  '-# small words',
  '||spoiler|| |table|row|',
  '1. a number, - a list, + a list',
  '--- === ***',
  '&lt;b&gt; &#42;x&#42; &amp;',
  '&commat;all &#64;channel &#x40;here &commat;jo',
  String.raw`\*escaped\* \\ \[x\](https://evil.example)`,
  '$$ x $$ {{ .Env }} ${HOME}',
  'manifest unknown: nginx:1.27@sha256:00ff for https://r.example.com/v2/a_b/~c?x=1&y=_2',
  '<t:1700000000:R> <time:2026-01-01T00:00Z> :smile:',
];

/** Characters that a service would take for a mark in a text that is sent to it. */
type Live = (sent: string) => string | undefined;

const first =
  (...patterns: readonly RegExp[]): Live =>
  (sent) =>
    patterns.map((pattern) => pattern.exec(sent)?.[0]).find((found) => found !== undefined);

/** An address is read before marks are, and has none of its own. */
const addresses = /https?:\/\/[\w.-]+(?:\/[\w.%/?=&;:+,~-]*)?/g;
const escapes = /\\[!-/:-@[-`{-~]/g;
const links = /\](?=[([:])/;
const people = /(?<![a-z\d])@(?=\w|\*|_)/i;
const tags = /<(?=[a-z!?/@#])/i;
const lineMarks = /^[ \t]*(?:>|&gt;|#|-#)/m;

const unmarked = first(/(?!)/);
/** Marks with a backslash count no more. */
const besideEscapes =
  (...more: readonly RegExp[]): Live =>
  (sent) =>
    first(
      /[*~`]|(?<![a-z\d])_|_(?![a-z\d])/i,
      links,
      lineMarks,
      ...more,
    )(sent.replaceAll(addresses, 'address').replaceAll(escapes, '\u200b'));
const simple: Live = (sent) =>
  first(
    ...[/(?<![a-z\d])[*_~`]+\S/i, /\S[*_~`]+(?![a-z\d])/i, /`/, /\|\|/],
    ...[links, people, tags, lineMarks],
  )(sent.replaceAll(addresses, 'address'));

const live: Readonly<Record<MarkupName, Live>> = {
  discord: besideEscapes(people, tags, /\|\|/),
  notifiarr: besideEscapes(people, tags, /\|\|/),
  mattermost: (sent) => first(/&#?\w+;/)(sent) ?? besideEscapes(people, tags)(sent),
  gotify: besideEscapes(tags),
  ntfy: besideEscapes(tags),
  apprise: (sent) => besideEscapes(/</, /&(?!lt;|amp;)/)(sent.replaceAll(/~/g, '')),
  telegram: first(/<(?!b>|\/b>)/, people),
  slack: (sent) =>
    first(...[/</, />/, /(?<![a-z\d])[*_~`]+\S/i, /\S[*_~`]+(?![a-z\d])/i, lineMarks])(
      sent.replaceAll(addresses, 'address'),
    ),
  googlechat: simple,
  rocketchat: simple,
  lark: simple,
  wecom: first(people, tags),
  zulip: (sent) => first(/[*`~[\]<>@$|]|&(?!#\d+;)/, lineMarks)(sent.replaceAll(addresses, 'address')),
  teams: first(links, tags),
  ifttt: first(tags),
  opsgenie: first(tags),
  ...{ smtp: unmarked, pushover: unmarked, generic: unmarked, matrix: unmarked, signal: unmarked, mqtt: unmarked },
  ...{ logger: unmarked, bark: unmarked, join: unmarked, pagerduty: unmarked, pushbullet: unmarked },
  ...{ twilio: unmarked, healthchecks: unmarked, kuma: unmarked, webhook: unmarked },
};

type Seen = (sent: string) => string;

const withoutBackslashes: Seen = (sent) => sent.replaceAll(escapes, (pair) => pair.slice(1));
const withoutEntities: Seen = (sent) =>
  sent.replaceAll(/&(?:#(\d+)|(lt|gt|amp));/g, (_, code: string | undefined, name: 'lt' | 'gt' | 'amp') =>
    code === undefined ? { lt: '<', gt: '>', amp: '&' }[name] : String.fromCodePoint(Number(code)),
  );

/** How the service shows it. */
const shows: Partial<Record<MarkupName, Seen>> = {
  ...{ discord: withoutBackslashes, notifiarr: withoutBackslashes, mattermost: withoutBackslashes },
  ...{ gotify: withoutBackslashes, ntfy: withoutBackslashes },
  apprise: (sent) => withoutEntities(withoutBackslashes(sent)),
  ...{ telegram: withoutEntities, slack: withoutEntities, zulip: withoutEntities },
};

/** The words as a person reads them: an invisible space is not seen, and some letters look the same. */
function seen(name: MarkupName, sent: string): string {
  const shown = (shows[name] ?? ((same) => same))(sent.replaceAll('\u200b', ''));
  return shown.replaceAll(/[∗ˍ∼ˋǀ]/g, (letter) => '*_~`|'['∗ˍ∼ˋǀ'.indexOf(letter)] ?? letter);
}

const names = Object.keys(markups) as MarkupName[];

test('every service has a row, with the page that describes its markup', () => {
  expect(names.toSorted()).toEqual(services.map(({ schemes }) => schemes[0]).toSorted());
  for (const name of names) expect(markups[name].described).toMatch(/^https:\/\//);
});

describe.each(names)('the words of strangers for %s', (name) => {
  test.each(hostile)('are no marks, and are seen as they are: %s', (words) => {
    for (const text of [words, `web: ${words}`, `${words}.`, `a\n${words}\nb`]) {
      const sent = wordsFor(name, text);
      expect(live[name](sent)).toBeUndefined();
      expect(seen(name, sent)).toBe(text);
    }
  });

  test('are no marks either in a title, or beside own marks', () => {
    for (const words of hostile) {
      const message = { title: words, text: words, markdown: `**${escapeMarkdown(words)}**: ${escapeMarkdown(words)}` };
      const { title, text } = writtenFor(name, message);
      const { title: apart } = { title: wordsFor, ...(markups[name] as { title?: (one: string) => string }) };
      if (apart === wordsFor) expect(live[name](title)).toBeUndefined();
      expect(live[name](text.replace(/^\*\*((?:\\.|[^\\])*?)\*\*/, '$1'))).toBeUndefined();
    }
  });

  test('stay marks in the own template of the owner', () => {
    for (const text of hostile) expect(writtenFor(name, { title: '', text, isFromTemplate: true }).text).toBe(text);
  });
});

test('what looks like an address, and is none for Mattermost, mentions nobody there', () => {
  for (const words of ['https://_x/&commat;all', 'xhttps://x/&#64;channel', 'https://x_y/@a&#108;l'])
    expect(live.mattermost(wordsFor('mattermost', words))).toBeUndefined();
});

/** All texts of a request. */
function textsOf({ body, headers, url }: Received): string {
  const type = headers['content-type'] ?? '';
  if (type.includes('json')) return flat(JSON.parse(body)).join('\n');
  if (type.includes('form')) return [...new URLSearchParams(body).values()].join('\n');
  return `${body}\n${[...new URL(url).searchParams.values()].join('\n')}`;
}

function flat(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(flat) : [];
}

const marked = [
  'discord',
  'slack',
  'googlechat',
  'rocketchat',
  'mattermost',
  'zulip',
  'notifiarr',
  'telegram',
] as const;

test.each(marked)('what %s really gets has no mark of a stranger, with each kind of message', async (name) => {
  const answer = '{"ok":true,"code":0,"errcode":0,"status":1,"active":true}';
  const rig = await startRig(({ url }) => ({ body: url.startsWith('https://hooks.slack') ? 'ok' : answer }));
  const { url } = canaryUrls[name]!;
  for (const words of hostile) {
    const one = { title: '', text: words, level: 'info', atMs: 0 } as const;
    await rig.send(url, { title: '', text: words, lines: [one] });
    await rig.send(url, { title: '', text: words });
    await rig.send(url, { title: words, text: 'x' });
  }
  const asked = rig.received.filter((request) => !request.url.endsWith('/register'));
  expect(asked).toHaveLength(3 * hostile.length);
  for (const request of asked) {
    // Telegram reads no marks in a text without a mode.
    if (name === 'telegram' && !request.body.includes('parse_mode')) continue;
    // A bold title is an own mark.
    const sent = textsOf(request).replaceAll(/^\*(.*)\*(?=\nx$)/gm, '$1');
    const isTopic = name === 'zulip' && sent.endsWith('\nx');
    if (!isTopic) expect(live[name](sent.replace(/^@c$/m, ''))).toBeUndefined();
  }
});

test('readMarked() reads again what was escaped, whatever the words', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const words = text.replaceAll(/[\r\n]/g, '');
      const [line] = readMarked(`- **${escapeMarkdown(words)}**${escapeMarkdown(words)}`);
      const spans = [
        { kind: 'bold', words },
        { kind: 'words', words },
      ].filter((span) => span.words !== '');
      if (words !== '') expect(line).toEqual({ kind: 'item', spans });
    }),
  );
});
