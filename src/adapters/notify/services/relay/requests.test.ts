import { createHmac } from 'node:crypto';
import { describe } from 'vitest';
import { describeRequests } from '../../../../../test/support/notify/notify-cases.ts';

const [title, text] = ['Updates on h1', 'web was updated'];
const run = { id: 'e3b0c442-98fc-4c14-9afb-4c8996fb9242', durationMs: 1234.5 };

describe('healthchecks.io gets', () => {
  const base = 'https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278';
  const rid = `?rid=${run.id}`;
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  describeRequests(
    [
      {
        name: 'the start of a run',
        url: `healthchecks+${base}`,
        message: { run: { kind: 'start', id: run.id } },
        requests: [{ url: `${base}/start${rid}`, headers }],
      },
      {
        name: 'a success with the summary',
        url: `healthchecks+${base}`,
        message: { run: { kind: 'success', ...run } },
        requests: [{ url: `${base}${rid}`, headers, text }],
      },
      {
        name: 'a failure with the summary',
        url: 'healthchecks+http://check.example.com:8000/ping/key/slug/',
        message: { run: { kind: 'failure', ...run } },
        requests: [{ url: `http://check.example.com:8000/ping/key/slug/fail${rid}`, headers, text }],
      },
      {
        name: 'any other message in its log',
        url: base.replace('https', 'healthchecks'),
        requests: [{ url: `${base}/log`, headers, text }],
      },
    ],
    () => ({ body: 'OK' }),
  );
});

describe('Uptime Kuma gets', () => {
  const base = 'https://kuma.example.com/api/push/Gx7QkWm2Rt';
  describeRequests(
    [
      {
        name: 'up and the time that a run took',
        url: `kuma+${base}?status=up&msg=OK&ping=`,
        message: { run: { kind: 'success', ...run } },
        requests: [{ method: 'GET', url: `${base}?status=up&msg=web+was+updated&ping=1235` }],
      },
      {
        name: 'down and the reason',
        url: `kuma+${base}`,
        message: { run: { kind: 'failure', id: run.id }, text: 'api failed\nmore' },
        requests: [{ method: 'GET', url: `${base}?status=down&msg=api+failed+more` }],
      },
      {
        name: 'down for an error outside a run',
        url: 'kuma+http://kuma.example.com:3001/sub/api/push/Gx7QkWm2Rt',
        message: { level: 'error' },
        requests: [
          {
            method: 'GET',
            url: 'http://kuma.example.com:3001/sub/api/push/Gx7QkWm2Rt?status=down&msg=web+was+updated',
          },
        ],
      },
    ],
    () => ({ body: '{"ok":true}' }),
  );
});

describe('the Apprise API gets', () => {
  describeRequests(
    [
      {
        name: 'title, text and type',
        url: 'apprise://apprise.example.com:8000/sub/conf1?tag=ops&disabletls=yes',
        message: { level: 'warn' },
        requests: [
          {
            url: 'http://apprise.example.com:8000/sub/notify/conf1',
            json: { title, body: text, type: 'warning', format: 'text', tag: 'ops' },
          },
        ],
      },
      {
        name: 'Markdown, and a success',
        url: 'apprise://me:pass@apprise.example.com/conf1',
        message: { markdown: '**web**', run: { kind: 'success', ...run } },
        requests: [
          {
            url: 'https://apprise.example.com/notify/conf1',
            headers: { authorization: `Basic ${btoa('me:pass')}` },
            json: { title, body: '**web**', type: 'success', format: 'markdown' },
          },
        ],
      },
      {
        name: 'nested lists as Python-Markdown indents them, and no HTML of strangers',
        url: 'apprise://apprise.example.com/conf1',
        message: {
          markdown: String.raw`- **web**: \<b\> \& \*x\*
  - [Release notes](https://e.example/a?b=1&c=2)
  - To go back: \`upkeep rollback web\``.replaceAll('\\`', '`'),
          urgency: 'high',
        },
        requests: [
          {
            url: 'https://apprise.example.com/notify/conf1',
            json: {
              title,
              body: String.raw`- **web**: &lt;b\> &amp; \*x\*
    - [Release notes](https://e.example/a?b=1&c=2)
    - To go back: \`upkeep rollback web\``.replaceAll('\\`', '`'),
              type: 'failure',
              format: 'markdown',
            },
          },
        ],
      },
    ],
    () => ({ status: 200 }),
  );
});

describe('a signed webhook gets', () => {
  const secret = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = JSON.stringify({
    id: 'msg-1',
    type: 'session.completed',
    time: '2026-11-22T07:00:13.000Z',
    host: 'h1',
    version: '1.2.3',
    level: 'info',
    title,
    text,
    data: { updated: 1 },
  });
  const signed = (key: Buffer) => `v1,${createHmac('sha256', key).update(`msg-1.1795330813.${body}`).digest('base64')}`;
  const keys = [Buffer.from(secret, 'base64'), Buffer.from('another-secret-of-ours')];
  describeRequests(
    [
      {
        name: 'the event, an id and a signature for each secret',
        url: `webhook+https://hooks.example.com/up?secret=whsec_${secret},another-secret-of-ours&room=7`,
        message: { event: { type: 'session.completed', data: { updated: 1 } } },
        requests: [
          {
            url: 'https://hooks.example.com/up?room=7',
            headers: {
              'webhook-id': 'msg-1',
              'webhook-timestamp': '1795330813',
              'webhook-signature': keys.map(signed).join(' '),
              'x-hub-signature-256': `sha256=${createHmac('sha256', keys[0]!).update(body).digest('hex')}`,
            },
            json: JSON.parse(body),
          },
        ],
      },
    ],
    () => ({ status: 204 }),
  );
});
