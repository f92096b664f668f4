import { createDecipheriv, createHmac } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { describeRequests } from '../../../../../test/support/notify/notify-cases.ts';
import { startRig, type Received } from '../../../../../test/support/notify/notify-rig.ts';

const [title, text] = ['Updates on h1', 'web was updated'];

describe('Gotify gets', () => {
  describeRequests(
    [
      {
        name: 'the token in the query',
        url: 'gotify://push.example.com:8443/AzyoeNS.D4iJLVa?priority=5',
        requests: [
          {
            url: 'https://push.example.com:8443/message?token=AzyoeNS.D4iJLVa',
            json: { message: text, title, priority: 5 },
          },
        ],
      },
      {
        name: 'the token in a header, below a path, over http, with extras and a date',
        url: `gotify://push.example.com/sub/path/Tok1?disableTLS=yes&useHeader=yes&title=mine&date=1795330813&extras=${encodeURIComponent('{"a":{"b":1}}')}`,
        message: { title: '' },
        requests: [
          {
            url: 'http://push.example.com/sub/path/message',
            headers: { 'x-gotify-key': 'Tok1' },
            json: {
              message: text,
              title: 'mine',
              date: '2026-11-22T07:00:13.000Z',
              extras: { a: { b: 1 } },
            },
          },
        ],
      },
      {
        name: 'the token of the address of its API',
        url: 'gotify://push.example.com/sub/message?token=Tok1&title=Great+News',
        message: { title: '' },
        requests: [
          { url: 'https://push.example.com/sub/message?token=Tok1', json: { message: text, title: 'Great News' } },
        ],
      },
      {
        name: 'Markdown, and how to show it',
        url: 'gotify://push.example.com/Tok1',
        message: { markdown: '**web**' },
        requests: [
          {
            url: 'https://push.example.com/message?token=Tok1',
            json: {
              message: '**web**',
              title,
              extras: { 'client::display': { contentType: 'text/markdown' } },
            },
          },
        ],
      },
    ],
    () => ({ body: '{"id":1}' }),
  );
});

describe('ntfy gets', () => {
  const plain = { 'content-type': 'text/plain; charset=utf-8' };
  describeRequests(
    [
      {
        name: 'the text, and the rest in headers',
        url:
          'ntfy://me:pass@ntfy.example.com/upkeep?priority=urgent&tags=whale,ok&actions=view%2C%20Open%2C%20x&click=https://c.example.com' +
          '&attach=https://a.example.com/f&filename=f.txt&delay=30m&email=a@example.com&icon=https://i.example.com/i&cache=no&firebase=no',
        requests: [
          {
            url: 'https://ntfy.example.com/upkeep',
            headers: {
              ...plain,
              title,
              priority: 'max',
              tags: 'whale,ok',
              actions: 'view, Open, x',
              click: 'https://c.example.com',
              attach: 'https://a.example.com/f',
              filename: 'f.txt',
              delay: '30m',
              email: 'a@example.com',
              'x-icon': 'https://i.example.com/i',
              cache: 'no',
              firebase: 'no',
              authorization: `Basic ${btoa('me:pass')}`,
            },
            text,
          },
        ],
      },
      {
        name: 'an access token, and a title that is not ASCII, over http',
        url: 'ntfy://:tk_abc@ntfy.example.com:8080/upkeep?scheme=http&at=tomorrow',
        message: { title: 'Neuigkeit über\nweb 🎉' },
        requests: [
          {
            url: 'http://ntfy.example.com:8080/upkeep',
            headers: {
              ...plain,
              title: `=?UTF-8?B?${Buffer.from('Neuigkeit über web 🎉').toString('base64')}?=`,
              delay: 'tomorrow',
              authorization: `Basic ${btoa(':tk_abc')}`,
            },
            text,
          },
        ],
      },
      {
        name: 'plain text, unless its URL asks for Markdown',
        url: 'ntfy://ntfy.example.com/upkeep',
        message: { markdown: '**web**' },
        requests: [{ url: 'https://ntfy.example.com/upkeep', headers: { ...plain, title }, text }],
      },
      {
        name: 'the Markdown of a message, if its URL asks for it',
        url: 'ntfy://ntfy.example.com/upkeep?markdown=yes',
        message: { markdown: String.raw`- **web**: a\_b \<b\>` },
        requests: [
          {
            url: 'https://ntfy.example.com/upkeep',
            headers: { 'content-type': 'text/markdown', title },
            text: String.raw`- **web**: a_b \<b\>`.replace('<', '<\u200b'),
          },
        ],
      },
      {
        name: 'the Markdown of an own template',
        url: 'ntfy://ntfy.example.com/upkeep?markdown=yes&title=mine',
        message: { title: '', text: '**web**', isFromTemplate: true },
        requests: [
          {
            url: 'https://ntfy.example.com/upkeep',
            headers: { 'content-type': 'text/markdown', title: 'mine' },
            text: '**web**',
          },
        ],
      },
    ],
    () => ({ body: '{"id":"x"}' }),
  );
});

describe('Pushover gets', () => {
  const url = 'https://api.pushover.net/1/messages.json';
  const login = { token: 'azGDORePK8gMaC0Q', user: 'uQiRzpo4DXghDmr9' };
  const target = `pushover://shoutrrr:${login.token}@${login.user}/`;
  const ok = () => ({ body: '{"status":1,"request":"x"}' });
  describeRequests(
    [
      {
        name: 'a form',
        url: `${target}?devices=phone,tab&priority=-1`,
        requests: [{ url, form: { ...login, message: text, title, device: 'phone,tab', priority: '-1' } }],
      },
      {
        name: 'an alarm with its times',
        url: `${target}?priority=2&retry=90`,
        requests: [{ url, form: { ...login, message: text, title, priority: '2', retry: '90', expire: '3600' } }],
      },
    ],
    ok,
  );

  test('what only its device can read', async () => {
    const key = '0123456789abcdef'.repeat(4);
    const rig = await startRig(ok);
    await rig.send(`${target}?key=${key}`, { text: 'größer' });
    const form = Object.fromEntries(new URLSearchParams(rig.received[0]?.body));
    expect(form).toMatchObject({ ...login, encrypted: '1' });
    expect(['message', 'title'].map((field) => decrypted(form[field] ?? '', key))).toEqual(['größer', title]);
  });
});

describe('Bark gets', () => {
  describeRequests(
    [
      {
        name: 'what its query says',
        url: 'bark://:devKey123@bark.example.com/sub?scheme=http&sound=bell&badge=3&icon=https://i.example.com&group=g&url=https://u.example.com&category=c&copy=x',
        requests: [
          {
            url: 'http://bark.example.com/sub/push',
            json: {
              body: text,
              device_key: 'devKey123',
              title,
              sound: 'bell',
              badge: 3,
              icon: 'https://i.example.com',
              group: 'g',
              url: 'https://u.example.com',
              category: 'c',
              copy: 'x',
            },
          },
        ],
      },
    ],
    () => ({ body: '{"code":200,"message":"success"}' }),
  );
});

describe('IFTTT gets', () => {
  const url = 'https://maker.ifttt.com/trigger/a/with/key/kEy123';
  describeRequests(
    [
      {
        name: 'the text as the second ingredient of each event',
        url: 'ifttt://kEy123/?events=a,b&value1=one',
        requests: [
          { url, json: { value1: 'one', value2: text } },
          { url: url.replace('/a/', '/b/'), json: { value1: 'one', value2: text } },
        ],
      },
      {
        name: 'text and title where they are wanted',
        url: 'ifttt://kEy123/?events=a&messagevalue=1&titlevalue=3',
        requests: [{ url, json: { value1: text, value3: title } }],
      },
    ],
    () => ({ body: 'Congratulations!' }),
  );
});

describe('Join gets', () => {
  describeRequests(
    [
      {
        name: 'all in the address',
        url: 'join://shoutrrr:aPi0key@join/?devices=d1,d2&icon=https://i.example.com',
        requests: [
          {
            url:
              'https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?deviceIds=d1%2Cd2&apikey=aPi0key' +
              '&text=web+was+updated&title=Updates+on+h1&icon=https%3A%2F%2Fi.example.com',
          },
        ],
      },
    ],
    () => ({ body: '{"success":true}' }),
  );
});

describe('Notifiarr gets', () => {
  const url = 'https://notifiarr.com/api/v1/notification/passthrough/key-1';
  const wanted = (raw: string) => ({ url, headers: { 'content-type': 'application/json' }, json: JSON.parse(raw) });
  const json = { notification: { name: 'Upkeep' }, discord: { text: { title, description: text } } };
  describeRequests(
    [
      { name: 'the text', url: 'notifiarr://key-1', requests: [{ url, json }] },
      {
        name: 'no pings of a text that is not of an own template',
        url: 'notifiarr://key-1',
        message: { text: 'hi <@12>' },
        requests: [{ url, json: { ...json, discord: { text: { title, description: 'hi \\<\u200b@\u200b12\\>' } } } }],
      },
      {
        name: 'the text by its address',
        url: 'notifiarr+https://notifiarr.com/api/v1/notification/passthrough/key-1',
        requests: [{ url, json }],
      },
      {
        name: 'channel, colour, pictures and pings',
        url: 'notifiarr://key-1?channel=735481457153277994&color=2488ff&name=me&thumbnail=https://t.example.com&image=https://i.example.com',
        message: { title: '', text: 'hi <@12> and <@&34> "channel":"5"', isFromTemplate: true },
        requests: [
          wanted(
            '{"notification":{"name":"me"},"discord":{"color":"2488ff","ids":{"channel":735481457153277994},' +
              '"images":{"thumbnail":"https://t.example.com","image":"https://i.example.com"},"ping":{"pingUser":12,"pingRole":34},' +
              '"text":{"description":"hi <@12> and <@&34> \\"channel\\":\\"5\\""}}}',
          ),
        ],
      },
    ],
    () => ({ body: '{"result":"success"}' }),
  );
});

describe('Pushbullet gets', () => {
  const url = 'https://api.pushbullet.com/v2/pushes';
  const token = 'o.Xf3kQ9LmWzRtYbNcVhJgPdSaEuTi72Q1';
  const headers = { 'access-token': token };
  const note = { type: 'note', title, body: text };
  describeRequests(
    [
      { name: 'a note for all devices', url: `pushbullet://${token}`, requests: [{ url, headers, json: note }] },
      {
        name: 'a note for a device, an address and a channel',
        url: `pushbullet://${token}/ujpah72o0/me@example.com/#news`,
        requests: [
          { url, headers, json: { ...note, device_iden: 'ujpah72o0' } },
          { url, headers, json: { ...note, email: 'me@example.com' } },
          { url, headers, json: { ...note, channel_tag: 'news' } },
        ],
      },
    ],
    () => ({ body: '{"active":true}' }),
  );
});

describe('Twilio gets', () => {
  const url = 'https://api.twilio.com/2010-04-01/Accounts/AC01/Messages.json';
  const headers = { authorization: `Basic ${btoa('AC01:auth77')}` };
  describeRequests(
    [
      {
        name: 'a form for each number',
        url: 'twilio://AC01:auth77@+15551234567/+1(555)765-4321/+491511',
        requests: ['+15557654321', '+491511'].map((To) => ({
          url,
          headers,
          form: { To, Body: `${title}\n${text}`, From: '+15551234567' },
        })),
      },
      {
        name: 'a form for a messaging service',
        url: 'twilio://AC01:auth77@MG01/+491511',
        message: { title: '' },
        requests: [{ url, headers, form: { To: '+491511', Body: text, MessagingServiceSid: 'MG01' } }],
      },
    ],
    () => ({ status: 201, body: '{"sid":"SM1"}' }),
  );
});

function decrypted(sealed: string, hexKey: string): string {
  const [key, bytes] = [Buffer.from(hexKey, 'hex'), Buffer.from(sealed, 'base64')];
  const signed = bytes.subarray(0, -32);
  expect(createHmac('sha256', key).update(signed).digest()).toEqual(bytes.subarray(-32));
  const cipher = createDecipheriv('aes-256-cbc', key, signed.subarray(0, 16));
  return gunzipSync(Buffer.concat([cipher.update(signed.subarray(16)), cipher.final()])).toString();
}

describe('the priority of a failure, of a message as usual, and of a check', () => {
  const json = (body: string): unknown => JSON.parse(body);
  const field = (name: string) => (request: Received) => Reflect.get(Object(json(request.body)), name) as unknown;
  const form = (name: string) => (request: Received) => new URLSearchParams(request.body).get(name) ?? undefined;
  const pagerduty = (request: Received) => Reflect.get(Object(field('payload')(request)), 'severity') as unknown;
  const telegram = 'telegram://1:abcdefgh@telegram?chats=1';
  const ofUrl: readonly (readonly [string, (request: Received) => unknown, readonly unknown[]])[] = [
    ['gotify://push.example.com/Tok1', field('priority'), [8, undefined, 2]],
    ['gotify://push.example.com/Tok1?priority=0', field('priority'), [0, 0, 0]],
    ['gotify://push.example.com/Tok1?priority=5', field('priority'), [5, 5, 5]],
    ['ntfy://ntfy.example.com/t', ({ headers }) => headers['priority'], ['high', undefined, 'low']],
    [
      'ntfy://ntfy.example.com/t?priority=default',
      ({ headers }) => headers['priority'],
      [undefined, undefined, undefined],
    ],
    ['ntfy://ntfy.example.com/t?priority=5', ({ headers }) => headers['priority'], ['max', 'max', 'max']],
    ['pushover://x:azGDORePK8gMaC0Q@uQiRzpo4DXghDmr9', form('priority'), ['1', undefined, '-1']],
    ['pushover://x:azGDORePK8gMaC0Q@uQiRzpo4DXghDmr9/?priority=0', form('priority'), [undefined, undefined, undefined]],
    ['pushover://x:azGDORePK8gMaC0Q@uQiRzpo4DXghDmr9/?priority=2', form('priority'), ['2', '2', '2']],
    ['opsgenie://api.opsgenie.com/key-1', field('priority'), ['P2', undefined, 'P5']],
    ['opsgenie://api.opsgenie.com/key-1?priority=P3', field('priority'), ['P3', 'P3', 'P3']],
    ['pagerduty://7b3f9a1c5e8d4f6092a4b6c8d0e1f2a3', pagerduty, ['error', 'info', 'info']],
    ['pagerduty://7b3f9a1c5e8d4f6092a4b6c8d0e1f2a3?severity=critical', pagerduty, ['critical', 'critical', 'critical']],
    ['bark://:key77@bark.example.com', field('level'), ['timeSensitive', undefined, 'passive']],
    ['bark://:key77@bark.example.com?level=critical', field('level'), ['critical', 'critical', 'critical']],
    [telegram, field('disable_notification'), [false, false, true]],
    [`${telegram}&notification=yes`, field('disable_notification'), [false, false, false]],
    [`${telegram}&notification=no`, field('disable_notification'), [true, true, true]],
    ['apprise://apprise.example.com/k', field('type'), ['failure', 'info', 'info']],
  ];
  test.each(ofUrl)('%s', async (url, read, wanted) => {
    const rig = await startRig(() => ({ body: '{"ok":true,"code":200,"status":1}' }));
    for (const urgency of ['high', undefined, 'low'] as const)
      expect(await rig.send(url, urgency === undefined ? {} : { urgency })).toMatchObject({ kind: 'sent' });
    expect(rig.received.map(read)).toEqual(wanted);
  });
});
