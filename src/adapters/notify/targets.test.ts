import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { canaryUrls } from '../../../test/support/notify/notify-canaries.ts';
import { startRig } from '../../../test/support/notify/notify-rig.ts';
import { printedUrl } from '../../../test/support/notify/printed-url.ts';
import type { NotifyDeps } from './service/service.ts';
import { services } from './services/table.ts';
import { parseTargets, readTarget, type ParsedTargets } from './targets.ts';

const nowhere = (): never => {
  throw new Error('parsing needs nothing of the world');
};
const deps: NotifyDeps = {
  version: '1',
  hostName: 'h1',
  nowMs: nowhere,
  proxyFor: nowhere,
  contextFor: nowhere,
  writeLog: nowhere,
};
const parsed = (...values: readonly string[]): ParsedTargets => parseTargets(values, deps);
const named = ({ targets }: ParsedTargets): readonly (readonly [string, string])[] =>
  targets.map(({ name, service }) => [name, service]);

describe('parseTargets()', () => {
  test('parts several URLs at white space and commas', () => {
    const [a, b, c] = ['logger://', 'discord://t@1', 'smtp://h/?from=a@b.c&to=d@e.f,g@h.i'];
    for (const value of [`${a} ${b} ${c}`, `${a},${b},${c}`, `${a}, ${b},\n\t${c}\n`, `${c},${a} ${b},`])
      expect(
        named(parsed(value))
          .map(([, service]) => service)
          .toSorted(),
      ).toEqual(['discord', 'logger', 'smtp']);
    expect(named(parsed(a, b, c)).map(([, service]) => service)).toEqual(['logger', 'discord', 'smtp']);
    expect(parsed('', '  ', ',')).toEqual({ targets: [], homeAssistants: [], problems: [], warnings: [] });
  });

  test('leaves a comma that begins no URL where it is', () => {
    const { targets } = parsed(
      'smtp://h/?from=a@b.c&to=d@e.f,g@h.i,pagerduty://7b3f9a1c5e8d4f6092a4b6c8d0e1f2a3?contexts=link:https://l.example.com,image:https://i.example.com',
    );
    expect(targets.map(({ shown }) => shown)).toEqual([
      'smtp://h/?fromaddress=a@b.c&toaddresses=d@e.f,g@h.i'.replace('h/', 'h'),
      'pagerduty://[redacted]?contexts=link:https://l.example.com,image:https://i.example.com',
    ]);
  });

  test.each([
    ['smtp://me/x:hunter2@mail.test:587/?from=a@b.c&to=d@e.f', 'smtp://[redacted]?fromaddress=a@b.c&toaddresses=d@e.f'],
    ['mattermost://me/x@chat.test/hunter2/town', 'mattermost://[redacted]'],
    ['ntfy://h/topic?attach=https://me:hunter2@f.test/a', 'ntfy://h/[redacted]'],
    ['ntfy://h/topic?click=https://f.test/a?sig=hunter2', 'ntfy://h/[redacted]'],
    ['ntfy://h/topic?actions=http%2C+Do%2C+https://f.test%2C+headers.Authorization=hunter2', 'ntfy://h/[redacted]'],
  ])('shows no secret of %s', (url, shown) => {
    expect(parsed(url).targets).toMatchObject([{ shown }]);
  });

  test('gives each a name, which is the given one or that of the service', () => {
    const values =
      'logger:// ops=discord://t@1 discord://t@2 logger-2=logger:// logger:// hangouts://h/v1?key=k&token=t';
    expect(named(parsed(values))).toEqual([
      ['logger', 'logger'],
      ['ops', 'discord'],
      ['discord', 'discord'],
      ['logger-2', 'logger'],
      ['logger-3', 'logger'],
      ['hangouts', 'hangouts'],
    ]);
    expect(parsed('ops=logger://,ops=logger://').problems).toEqual([
      'Cannot use notification target "ops": another target has that name',
    ]);
  });

  test('reads a file of them, line by line', () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-targets-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'urls');
    writeFileSync(file, '\uFEFF# where to\r\nops=logger://\r\n\n  discord://t@1  \n#discord://t@2\n');
    expect(named(parsed(file, 'logger://'))).toEqual([
      ['ops', 'logger'],
      ['discord', 'discord'],
      ['logger', 'logger'],
    ]);
    writeFileSync(
      file,
      [
        'mail=smtp://h/?from=a@b.c&to=d@e.f, g@h.i&fromname=My own NAS&subject=See https://nas.example/x, please',
        'https://hooks.example.com/a b?title=two words',
        'discord://t@1?username=Up keep, of the house discord://t@2,logger://',
      ].join('\n'),
    );
    const several = parsed(file);
    expect([several.problems, several.warnings]).toEqual([[], []]);
    expect(named(several)).toEqual([
      ['mail', 'smtp'],
      ['generic', 'generic'],
      ['discord', 'discord'],
      ['discord-2', 'discord'],
      ['logger', 'logger'],
    ]);
    writeFileSync(file, 'x'.repeat(2_000_000));
    expect(parsed(file).problems).toEqual([expect.stringMatching(/^Cannot read the file of notification targets: /)]);
  });

  test('says what is wrong with a URL, and uses the others', () => {
    const { targets, problems, warnings } = parsed('discord://t@1?colour=1 telegram://1:a@telegram xmpp://a@b what');
    expect(targets).toHaveLength(1);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^Notification target discord "discord": "colour" in its URL is ignored; its keys are title, /,
      ),
    ]);
    expect(problems).toEqual([
      'Cannot use notification target 2: telegram: the key "chats" is missing; the form is telegram://TOKEN@telegram?chats=CHAT[,CHAT…]',
      'Cannot use notification target 3: xmpp is not supported, as in the usual builds of Shoutrrr',
      'Cannot use notification target 4: it is no URL of the form service://…',
    ]);
  });

  test('names no scheme that may be a secret', () => {
    for (const url of ['cAnaRy-99://host', 'canary99x9qz://host', 'ops=cAnaRy99x9Qz://host'])
      expect(parseTargets([url], deps).problems.join()).toMatch(/^Cannot use (?!.*canary)/i);
  });

  test('names no key that may be a secret', () => {
    for (const query of ['sEcret', 's3cret=1', 'a=1&sEcret'])
      expect(parsed(`discord://t@1?${query}`).warnings).toEqual([expect.stringContaining('some keys in its URL')]);
  });

  test.each([
    ['slack://hook:T0123ABCD-B0123ABCD-abcdefghijklmnopqrstuvwx@webhook?color=', ['good', 'red', '16711680', '']],
    ['discord://t@1?color=', ['good', 'RED', '16711680', '%2316711680', '']],
    ['notifiarr://key-1?color=', ['danger', 'blue', '16777215', '']],
    ['apprises://apprise.example.com/key?', ['tags=ops', 'tag=ops', 'TAGS=a,b']],
    ['opsgenie://api.opsgenie.com/key?', ['description=x', 'DESCRIPTION=x%20y']],
    ['generic://hooks.example.com?', ['method=GET', 'method=delete', 'template=', 'template=JSON']],
    ['gotify://h/token1?', ['priority=', 'date=', 'extras=']],
  ])('is not lost, and not warned of, because of a decoration: %s', (url, ends) => {
    for (const end of ends) {
      const { targets, problems, warnings } = parsed(url + end);
      expect([targets.length, problems, warnings]).toEqual([1, [], end.includes('%23167') ? [expect.anything()] : []]);
    }
  });

  test.each([
    ['discord://t@1?color=ugly', 'color'],
    ['slack://hook:T0123ABCD-B0123ABCD-abcdefghijklmnopqrstuvwx@webhook?color=99999999', 'color'],
    ['gotify://h/token1?priority=12', 'priority'],
    ['gotify://h/token1?date=soon', 'date'],
    ['gotify://h/token1?extras=[]', 'extras'],
    ['ntfy://h/t?priority=urgently', 'priority'],
    ['telegram://1:abcdefgh@telegram?chats=1&parsemode=bbcode', 'parsemode'],
    ['generic://h?template=xml', 'template'],
    ['generic://h?method=GE%20T', 'method'],
    ['pagerduty://7b3f9a1c5e8d4f6092a4b6c8d0e1f2a3?contexts=x', 'contexts'],
    ['smtp://h/?from=a@b.c&to=d@e.f&timeout=soon', 'timeout'],
    ['bark://:k@h?badge=many', 'badge'],
  ])('is warned of, and used, with a wrong decoration: %s', (url, key) => {
    const { targets, problems, warnings } = parsed(url);
    expect([targets.length, problems]).toEqual([1, []]);
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`the key "${key}" .*in its URL, so its default counts$`)),
    ]);
  });

  test.each([
    'smtp://h/?from=a@b.c&to=d@e.f&requirestarttls=perhaps',
    'smtp://h/?from=a@b.c&to=d@e.f&encryption=some',
    'smtp://h/?from=a@b.c&to=d@e.f&auth=trust-me',
    'zulip://b%40c:k1234567@h?stream=s&type=secret',
    'pushover://x:azGDORePK8gMaC0Q@uQiRzpo4DXghDmr9/?key=12',
    'notifiarr://key-1?channel=ops',
  ])('is refused where the wrong value decides who reads a message, or its protection: %s', (url) => {
    const { targets, problems } = parsed(url);
    expect([targets.length, problems.length]).toEqual([0, 1]);
  });

  test('says how to escape what cannot be read, and what has become of the connectors of Teams', () => {
    expect(parsed('smtp://me:pa#ss@h/?from=a@b.c&to=d@e.f').problems).toEqual([expect.stringContaining('# as %23')]);
    expect(parsed('teams://g@t/a/o?host=org.webhook.office.com').problems).toEqual([
      expect.stringContaining('make a workflow'),
    ]);
  });
});

test('parseTargets() keeps a Home Assistant apart, which gets no messages', () => {
  const { targets, homeAssistants, warnings } = parsed('homeassistant+mqtts://me:s3cret@h?install=yes&x=1');
  expect([targets, warnings]).toEqual([[], [expect.stringContaining('"x" in its URL is ignored')]]);
  expect(homeAssistants).toMatchObject([{ host: 'h', port: 8883, isSecure: true, mayInstall: true, base: 'upkeep' }]);
  expect(homeAssistants[0]?.shown).toBe('homeassistant+mqtts://[redacted]@h?install=yes');
  expect(parsed('homeassistant://h').problems).toEqual([
    expect.stringContaining('homeassistant: the scheme has no +mqtt'),
  ]);
});

test('parseTargets() shows name, service and what is no secret', () => {
  const all = parsed('ops=gotify://push.example.com/T0kenT0ken logger:// homeassistant+mqtt://me:s3cret@h');
  expect(all.targets).toMatchObject([
    { name: 'ops', service: 'gotify', shown: 'gotify://push.example.com/[redacted]' },
    { name: 'logger', service: 'logger', shown: 'logger://' },
  ]);
  expect(all.homeAssistants).toMatchObject([{ shown: 'homeassistant+mqtt://[redacted]@h' }]);
});

describe('a URL of each service', () => {
  const examples = services.map(({ schemes: [scheme], example }) => [scheme, example] as const);

  test.each(examples)('%s: the example is read without a word, and printed whole it reads back the same', (_, url) => {
    const { problems, warnings } = parsed(url);
    expect([problems, warnings]).toEqual([[], []]);
    expect(printedUrl(printedUrl(url))).toBe(printedUrl(url));
  });

  test.each(examples)('%s: the example asks for the same after printing', async (_, url) => {
    const sent: unknown[] = [];
    for (const each of [url, printedUrl(url)]) {
      const rig = await startRig(() => ({ status: 418 }));
      if (/^(?:smtp|mqtts?|logger):/.test(url)) return;
      await rig.send(each);
      sent.push(rig.received.map(({ method, url: asked, body }) => ({ method, asked, body })));
    }
    expect(sent[0]).toEqual(sent[1]);
  });

  test('any value of any key is printed so that it reads back the same', () => {
    const keys = services.flatMap((service) => Object.keys(service.parameters).map((key) => ({ service, key })));
    const value = fc.oneof(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('yes', '5', '%2B', 'a+b, c;d&e=f', '#f00'),
    );
    fc.assert(
      fc.property(fc.constantFrom(...keys), value, ({ service, key }, text) => {
        const url = new URL(service.example);
        const search = [`${key}=${encodeURIComponent(text)}`, url.search.slice(1)].filter(Boolean).join('&');
        const given = `${service.example.replace(/[?#].*$/, '')}?${search}`;
        if (readTarget(given).kind !== 'usable') return;
        expect(printedUrl(printedUrl(given))).toBe(printedUrl(given));
      }),
      { numRuns: 500 },
    );
  });
});

describe('a malformed URL', () => {
  const canaries = Object.entries(canaryUrls).map(([scheme, rest]) => ({ scheme, ...rest }));
  const broken = fc.record({
    canary: fc.constantFrom(...canaries),
    at: fc.nat(200),
    length: fc.nat(30),
    put: fc.constantFrom(
      '',
      '/',
      '?',
      '#',
      '%',
      '%zz',
      ':',
      '@',
      '//',
      ' ',
      '&',
      '=',
      '[',
      ']',
      '\u0000',
      'é',
      '?json=x&color=',
      '?priority=99&title',
      '?chats=&to=',
    ),
  });

  test('is refused with a reason that holds no secret', () => {
    let refused = 0;
    fc.assert(
      fc.property(broken, ({ canary, at, length, put }) => {
        const start = at % canary.url.length;
        const url = canary.url.slice(0, start) + put + canary.url.slice(start + length);
        const { targets, problems, warnings } = parsed(url);
        refused += problems.length > 0 ? 1 : 0;
        for (const told of [...problems, ...warnings]) {
          expect(told).not.toMatch(/cAnaRy|CANARY|ca7a/i);
          expect(told.length).toBeLessThan(1000);
        }
        expect(targets.length + problems.length > 0 || url.trim() === '').toBe(true);
      }),
      { numRuns: 1500 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  test('of random text is refused too, and never throws', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), fc.constantFrom(...canaries), (text, { scheme }) => {
        for (const url of [text, `${scheme}://${text}`, `${scheme}+${text}`]) expect(() => parsed(url)).not.toThrow();
      }),
    );
  });

  test('names the field and no value, for each key of each service', () => {
    for (const service of services)
      for (const [key, { kind, isEssential }] of Object.entries(service.parameters)) {
        if (kind === 'text' || kind.startsWith('list,')) continue;
        const [address = '', query = ''] = service.example.split('?');
        const rest = query.split('&').filter((pair) => pair !== '' && !pair.toLowerCase().startsWith(`${key}=`));
        const { targets, problems, warnings } = parsed(`${address}?${[`${key}=n0nsense-Value`, ...rest].join('&')}`);
        const told = isEssential ? problems : warnings;
        expect(told).toEqual([expect.stringContaining(`the key "${key}" `)]);
        expect(targets).toHaveLength(isEssential ? 0 : 1);
        expect(told.join()).not.toContain('n0nsense');
      }
  });
});

test.each([
  ['disord://token@id', '"disord" is no service; did you mean discord://?'],
  ['tgram://token/chat', '"tgram" is no service; did you mean telegram://?'],
  ['mailto://me:pw@example.test', '"mailto" is no service; did you mean smtp://?'],
  ['anothermessenger://x', 'is no service; the services are '],
])('%s gets a hint', (url, hint) => {
  expect(readTarget(url)).toMatchObject({ why: expect.stringContaining(hint) });
});
