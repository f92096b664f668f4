import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../test/support/http/http-server.ts';
import { canaryUrls } from '../../../test/support/notify/notify-canaries.ts';
import { startRig, type Received } from '../../../test/support/notify/notify-rig.ts';
import { escapeMarkdown } from '../../domain/notification/upkeep-composer.ts';
import { services } from './services/table.ts';

/** Services without HTTP have tests of their own. */
const others = ['smtp', 'mqtt', 'logger'];
const spoken = services.filter(({ schemes: [scheme] }) => !others.includes(scheme));
const examples = spoken.map(({ schemes: [scheme], example }) => ({ scheme, example }));

test('every service that has a secret is looked at with one', () => {
  const missing = services.filter(({ schemes: [scheme] }) => scheme !== 'logger' && !Object.hasOwn(canaryUrls, scheme));
  expect(missing.map(({ schemes: [scheme] }) => scheme)).toEqual([]);
});

describe.each(examples)('$scheme', ({ scheme, example }) => {
  test('status 401 is told as one of the login, with its words', async () => {
    const rig = await startRig(() => ({ status: 401, body: '{"message":"who are you"}' }));
    expect(await rig.send(example)).toMatchObject({
      kind: 'failed',
      failure: 'auth',
      reason: expect.stringMatching(/status 401: who are you .*check the token/),
    });
  });

  test('status 429 comes with the time to wait', async () => {
    const rig = await startRig(() => ({ status: 429, headers: { 'retry-after': '7.5' } }));
    expect(await rig.send(example)).toMatchObject({ kind: 'failed', failure: 'rate', retryAfterMs: 7500 });
  });

  test('status 503 is one of the network, which another try may overcome', async () => {
    const rig = await startRig(() => ({ status: 503, body: '<html>busy</html>' }));
    expect(await rig.send(example)).toMatchObject({
      kind: 'failed',
      failure: 'network',
      reason: expect.stringMatching(/status 503$/),
    });
  });

  test('a broken connection is one of the network', async () => {
    const rig = await startRig(() => 'drop');
    expect(await rig.send(example)).toMatchObject({ kind: 'failed', failure: 'network' });
  });

  test('no answer ends at the deadline, and at the abort', async () => {
    const rig = await startRig(() => 'hang', { deadlineMs: 60 });
    const late = { kind: 'failed', failure: 'network', reason: 'no answer within 60ms' };
    expect(await rig.send(example)).toEqual(late);
    const controller = new AbortController();
    const patient = await startRig(() => {
      controller.abort();
      return 'hang';
    });
    const target = patient.target(example);
    const sending = target.send({ ...message, id: 'a' }, controller.signal);
    expect(await sending).toMatchObject({ kind: 'failed', reason: expect.stringContaining('stopped') });
  });

  test('a redirect to another host gets nothing', async () => {
    const rig = await startRig(() => ({ status: 307, headers: { location: 'https://elsewhere.example.com/' } }));
    expect(await rig.send(example)).toMatchObject({ kind: 'failed', failure: 'rejected' });
    expect(rig.received.filter(({ url }) => url.includes('elsewhere'))).toEqual([]);
  });

  test('a message of any length fits its limits, and says what is left out', async () => {
    const rig = await startRig(taken);
    const text = Array.from({ length: 5000 }, (_, line) => `- container-${line} größer 🎉 (nginx:latest)`).join('\n');
    const title = `Updates on ${'h'.repeat(600)}`;
    expect(await rig.send(example, { text, title })).toMatchObject({ kind: 'sent' });
    expect(rig.received.length).toBeLessThanOrEqual(30);
    for (const request of rig.received) limits[scheme]?.(request);
    const sent = rig.received.map(wholeText).join('');
    const isWhole = sent.includes('container-4999');
    expect(isWhole || scheme === 'kuma' || /… \d+ more lines/.test(sent)).toBe(true);
  });

  test('a line of any length fits its limits', async () => {
    const rig = await startRig(taken);
    for (const url of [example, example.replace('?splitlines=no', '')])
      expect(await rig.send(url, { text: 'größe🎉'.repeat(3000) })).toMatchObject({ kind: 'sent' });
    for (const request of rig.received) limits[scheme]?.(request);
  });
});

describe('no secret of any service', () => {
  const canaries = Object.entries(canaryUrls).map(([scheme, rest]) => ({ scheme, ...rest }));

  test.each(canaries)(
    '$scheme: is in what is shown, or in an outcome, whoever repeats it',
    async ({ url, secrets }) => {
      const echoes: readonly Answer[] = [
        ({ url: asked, headers, body }) => ({
          status: 400,
          body: JSON.stringify({ message: `${asked} ${JSON.stringify(headers)} ${body}` }),
        }),
        ({ url: asked }) => ({ status: 200, body: `{"ok":false,"error":${JSON.stringify(asked)}}` }),
        () => ({
          status: 401,
          body: `no: ${secrets.map((secret) => Buffer.from(secret).toString('base64')).join(' ')}`,
        }),
        () => ({ status: 500, body: secrets.map(encodeURIComponent).join(' ') }),
        () => ({ status: 302, headers: { location: `http://[${secrets.join('')}` } }),
        () => ({ status: 200, body: JSON.stringify({ description: secrets, ok: true, status: 1, active: true }) }),
        () => 'drop',
      ];
      let echo: Answer = () => 'drop';
      const rig = await startRig((request) => echo(request));
      for (const one of echoes) {
        echo = one;
        const target = rig.target(url);
        const outcome = await rig.send(url);
        const told = JSON.stringify([outcome, target.shown, target.name, target.service]);
        for (const secret of secrets) expect(told).not.toContain(secret);
      }
    },
  );
});

const message = {
  id: 'm',
  title: 'Updates on h1',
  text: 'web was updated',
  level: 'info',
  lines: [],
  createdAtMs: 0,
} as const;

/** Sends every reply that a service may need. */
const taken: Answer = ({ url }) => {
  if (url.includes('hc-ping')) return { body: 'OK' };
  if (url.includes('hooks.slack.com')) return { body: 'ok' };
  const [code, errcode, ok] = [url.includes('bark') ? 200 : 0, 0, true];
  const body = {
    code,
    errcode,
    ok,
    status: 1,
    active: true,
    success: true,
    room_id: '!r:h',
    access_token: 'tok-xyz-1',
  };
  return { status: 200, body: JSON.stringify(body) };
};

function wholeText({ url, body }: Received): string {
  return (
    decodeURIComponent(url.replaceAll('+', ' ')) +
    (body.startsWith('{')
      ? JSON.stringify(JSON.parse(body))
      : decodeURIComponent(body.replaceAll('+', ' ').replaceAll(/%(?![0-9A-F]{2})/g, '')))
  );
}

const bytes = (text: string): number => Buffer.byteLength(text);
const form = ({ body }: Received): URLSearchParams => new URLSearchParams(body);
const json = ({ body }: Received): Any => JSON.parse(body) as Any;
type Any = { readonly [key: string]: Any } & string & readonly Any[];
const atMost = (limit: number, size: number): void => expect(size).toBeLessThanOrEqual(limit);

/** From the documentation of the services. */
const limits: Readonly<Record<string, (request: Received) => void>> = {
  discord(request) {
    const { embeds } = json(request);
    atMost(10, embeds!.length);
    atMost(
      6000,
      embeds!.reduce((sum, { title, description }) => sum + (title?.length ?? 0) + description!.length, 0),
    );
    for (const { title, description } of embeds!) {
      atMost(256, title?.length ?? 0);
      atMost(4096, description!.length);
    }
  },
  telegram: (request) =>
    json(request)['chat_id'] === undefined ? undefined : atMost(4096, json(request)['text']!.length),
  ntfy: ({ body }) => atMost(4096, bytes(body)),
  slack(request) {
    atMost(100, json(request)['attachments']!.length);
    const lines = json(request)['attachments']!.map(({ text }) => text!);
    atMost(40_000, lines.join('').length);
  },
  pushover(request) {
    atMost(1024, Array.from(form(request).get('message') ?? '').length);
    atMost(250, Array.from(form(request).get('title') ?? '').length);
  },
  teams: ({ body }) => atMost(28_000, bytes(body)),
  matrix: ({ body }) => atMost(65_000, bytes(body)),
  mattermost: (request) => atMost(16_383, Array.from(json(request)['text']!).length),
  signal: (request) => atMost(2000, json(request)['message']!.length),
  googlechat: (request) => atMost(4096, bytes(json(request)['text']!)),
  rocketchat: (request) => atMost(5000, json(request)['text']!.length),
  bark: ({ body }) => atMost(4096, bytes(body)),
  join: ({ url }) => atMost(8192, url.length),
  lark: (request) => atMost(20_000, bytes(request.body)),
  notifiarr: (request) => atMost(4096, json(request)['discord']!['text']!['description']!.length),
  opsgenie(request) {
    atMost(130, Array.from(json(request)['message']!).length);
    atMost(15_000, Array.from(json(request)['description']!).length);
  },
  pagerduty(request) {
    atMost(1024, Array.from(json(request)['payload']!['summary']!).length);
    atMost(512_000, bytes(request.body));
  },
  twilio: (request) => atMost(1600, form(request).get('Body')?.length ?? 0),
  wecom: (request) => atMost(2048, bytes(json(request)['text']!['content']!)),
  zulip(request) {
    atMost(10_000, bytes(form(request).get('content') ?? ''));
    atMost(60, Array.from(form(request).get('topic') ?? '').length);
  },
  kuma: ({ url }) => atMost(2048, url.length),
  healthchecks: ({ body }) => atMost(100_000, bytes(body)),
};

describe('words of strangers', () => {
  const targets = [
    'discord://tkn-A1b2C3d4E5f6_G7@123456789012345678',
    'discord://tkn-A1b2C3d4E5f6_G7@123456789012345678?splitlines=no',
    'discord://tkn-A1b2C3d4E5f6_G7@123456789012345678?splitlines=no&title=Updates',
    'teams',
    'googlechat',
    'mattermost',
    'rocketchat',
    'zulip',
    'notifiarr',
    'ntfy://ntfy.example.com/upkeep?markdown=yes',
    'ntfy',
    'gotify',
    'apprise',
  ].map((target) => examples.find(({ scheme }) => scheme === target)?.example ?? target);
  const foreign = [
    'web: [Sign in](http://evil.example)',
    '![logo](http://evil.example/x.png)',
    '[1]: http://evil.example',
    '[Sign in][1]',
    '<http://evil.example|Sign in>',
    '<https://evil.example>',
    '<a href="http://evil.example">Sign in</a>',
    '</at><IMG src=x>',
  ].join('\n');
  const text = foreign;
  const live = /\](?=[([:])|<(?=[a-z!?/])/i;

  test.each(targets)('become no link with other words and no tag: %s', async (url) => {
    const rig = await startRig(taken);
    const lines = text.split('\n').map((line) => ({ level: 'info' as const, text: line, atMs: 0 }));
    for (const message of [{ text }, { text, lines }, { text, markdown: escapeMarkdown(text) }])
      expect(await rig.send(url, message)).toMatchObject({ kind: 'sent' });
    const sent = rig.received.map(wholeText).join('\n');
    expect(sent).toContain('Sign in');
    expect(sent.match(live)).toBeNull();
  });

  test.each(targets.filter((url) => !/^ntfy:\/\/:|^gotify|^apprise/.test(url)))(
    'in the own template of the owner stay links: %s',
    async (url) => {
      const rig = await startRig(taken);
      await rig.send(url, { text: '[notes](https://example.com)', isFromTemplate: true });
      expect(rig.received.map(wholeText).join('\n')).toContain('[notes](https://example.com)');
    },
  );

  test('the own links of a message stay links', async () => {
    const rig = await startRig(taken);
    const markdown = String.raw`\[Sign in\](http://evil.example) [notes](https://example.com)`;
    for (const url of targets.filter((one) => /mattermost|rocketchat|zulip|notifiarr/.test(one)))
      await rig.send(url, { text: 'x', markdown });
    const sent = rig.received.map(wholeText).join('\n');
    expect(sent.match(/\[notes\]\(https:\/\/example\.com\)/g)?.length).toBeGreaterThanOrEqual(4);
    expect(sent).not.toContain('](http://evil');
  });
});
