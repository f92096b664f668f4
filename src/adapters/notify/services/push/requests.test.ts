import { createDecipheriv, createHmac } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { describeRequests } from '../../../../../test/support/notify-cases.ts';
import { startRig } from '../../../../../test/support/notify-rig.ts';

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
              priority: 0,
              date: '2026-11-22T07:00:13.000Z',
              extras: { a: { b: 1 } },
            },
          },
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
              priority: 0,
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
        name: 'Markdown',
        url: 'ntfy://ntfy.example.com/upkeep?markdown=yes&title=mine',
        message: { title: '', text: '**web**' },
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

function decrypted(sealed: string, hexKey: string): string {
  const [key, bytes] = [Buffer.from(hexKey, 'hex'), Buffer.from(sealed, 'base64')];
  const signed = bytes.subarray(0, -32);
  expect(createHmac('sha256', key).update(signed).digest()).toEqual(bytes.subarray(-32));
  const cipher = createDecipheriv('aes-256-cbc', key, signed.subarray(0, 16));
  return gunzipSync(Buffer.concat([cipher.update(signed.subarray(16)), cipher.final()])).toString();
}
