import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { Message, SendOutcome } from '../../src/domain/notification/message.ts';
import { aMessage, startRig } from '../support/notify/notify-rig.ts';
import { describeWithReceivers as describe } from './describe-with-receivers.ts';
import { startSubmission } from './dovecot.ts';
import { startProgram, type Program } from './program.ts';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const password = 'c4nary-Pa55word';

type Sink = Program & { readonly port: number; readonly mail: () => Promise<Mail> };
type Mail = {
  readonly from: string;
  readonly to: readonly string[];
  readonly helo: string;
  readonly tls: boolean;
  readonly user: string;
  readonly raw: string;
};

async function startSink(options: Readonly<Record<string, boolean>> = {}): Promise<Sink> {
  const identity = { cert: path('../fixtures/notify-tls/server.pem'), key: path('../fixtures/notify-tls/server.key') };
  const program = startProgram('/usr/bin/python3', [
    path('smtp-sink.py'),
    JSON.stringify({ ...identity, password, ...options }),
  ]);
  const port = Number(await program.line((line) => /^\d+$/.test(line)));
  const mail = async (): Promise<Mail> => JSON.parse(await program.line((line) => line.includes('"raw"'))) as Mail;
  return { ...program, port, mail };
}

/** To the sink; `HOST` in the URL is its address. */
async function send(sink: Pick<Sink, 'port'>, url: string, message: Partial<Message> = {}): Promise<SendOutcome> {
  const rig = await startRig(() => 'drop');
  return rig.send(url.replace('HOST', `127.0.0.1:${sink.port}`), message);
}

const addresses = 'from=upkeep@example.com&to=ops@example.com';

describe('a mail', () => {
  test('has its headers, its text and a stable id, over a plain connection', async () => {
    await using sink = await startSink();
    const message = { title: 'Größere Neuigkeit\r\nBcc: x@example.com', text: 'one\n.two\n..three\nüber 🎉' };
    const outcome = await send(sink, `smtp://HOST/?${addresses}&fromname=Up%20keep&clienthost=auto`, message);
    expect(outcome).toEqual({ kind: 'sent', answer: '250 2.0.0 queued as 42' });
    const mail = await sink.mail();
    expect(mail).toMatchObject({ from: 'upkeep@example.com', to: ['ops@example.com'], helo: 'h1', tls: false });
    const [head = '', body = ''] = mail.raw.split(/\r\n\r\n/);
    const headers = head.replaceAll(/\r\n\s+/g, ' ').split('\r\n');
    expect(headers).toContain('From: Up keep <upkeep@example.com>');
    expect(headers).toContain('To: ops@example.com');
    expect(headers).toContain('Date: Sun, 22 Nov 2026 07:00:13 +0000');
    expect(headers).toContain('Content-Type: text/plain; charset=utf-8');
    expect(headers.filter((line) => /^bcc/i.test(line))).toEqual([]);
    expect(head).toMatch(/^Subject: =\?UTF-8\?/im);
    expect(head).toMatch(/^Message-ID: <[0-9a-f]{32}@upkeep>/im);
    const encoding = /^Content-Transfer-Encoding: (.*)$/im.exec(head)?.[1]?.trim();
    const clear = encoding === 'base64' ? Buffer.from(body, 'base64').toString() : fromQuotedPrintable(body);
    expect(clear.trim().split(/\r?\n/)).toEqual(['one', '.two', '..three', 'über 🎉']);
  });

  test('goes to each recipient alone, and those who are refused keep it from nobody', async () => {
    await using sink = await startSink();
    const to = 'a@example.com,refused@example.com,plus+tag@example.com';
    const outcome = await send(sink, `smtp://HOST/?from=upkeep@example.com&to=${to}`);
    expect(outcome).toMatchObject({ kind: 'failed', failure: 'rejected' });
    expect(outcome.kind === 'failed' && outcome.reason).toMatch(/^1 of 3 recipients: /);
    expect([(await sink.mail()).to, (await sink.mail()).to]).toEqual([['a@example.com'], ['plus+tag@example.com']]);
  });

  test('that was put off goes to the others no second time', async () => {
    await using sink = await startSink();
    const rig = await startRig(() => 'drop');
    const target = rig.target(`smtp://127.0.0.1:${sink.port}/?from=u@example.com&to=a@example.com,grey@example.com`);
    const signal = new AbortController().signal;
    expect(await target.send(aMessage(), signal)).toMatchObject({ kind: 'failed', failure: 'network' });
    expect(await target.send(aMessage(), signal)).toMatchObject({ kind: 'sent' });
    expect([(await sink.mail()).to, (await sink.mail()).to]).toEqual([['a@example.com'], ['grey@example.com']]);
  });

  test.each([
    ['with the markup of an own template', { text: '<b>web</b>', isFromTemplate: true }, '<pre><b>web</b></pre>'],
    ['in which foreign text is no markup', { text: '<b>&amp;' }, '<p><b>&lt;b&gt;&amp;amp;</b></p>'],
  ] as const)('has the text as HTML too, where that is wanted, %s', async (_, message, html) => {
    await using sink = await startSink();
    await send(sink, `smtp://HOST/?${addresses}&usehtml=yes`, message);
    const { raw } = await sink.mail();
    expect(raw).toMatch(/Content-Type: multipart\/alternative/);
    expect(raw).toContain(html);
  });
});

describe('the connection', () => {
  test('is upgraded where the server offers it, and otherwise only by order', async () => {
    await using sink = await startSink({ starttls: true });
    expect(await send(sink, `smtp://HOST/?${addresses}`)).toMatchObject({ kind: 'sent' });
    expect((await sink.mail()).tls).toBe(true);
    expect(await send(sink, `smtp://HOST/?${addresses}&encryption=None`)).toMatchObject({ kind: 'sent' });
    expect((await sink.mail()).tls).toBe(false);
    expect(await send(sink, `smtp://HOST/?${addresses}&starttls=no`)).toMatchObject({ kind: 'sent' });
    expect((await sink.mail()).tls).toBe(false);
  });

  test('is refused without an upgrade that is required', async () => {
    await using sink = await startSink();
    const outcome = await send(sink, `smtp://HOST/?${addresses}&requirestarttls=yes`);
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringMatching(/STARTTLS|TLS/) });
  });

  test('is TLS from the start by order, and for nobody whom we do not know', async () => {
    await using sink = await startSink({ implicit: true });
    const url = `smtp://HOST/?${addresses}&encryption=ImplicitTLS`;
    expect(await send(sink, url)).toMatchObject({ kind: 'sent' });
    expect((await sink.mail()).tls).toBe(true);
    const rig = await startRig(() => 'drop', {
      contextFor: async () => (await import('node:tls')).createSecureContext(),
    });
    const stranger = url.replace('HOST', `127.0.0.1:${sink.port}`);
    const refused = await rig.send(stranger);
    expect(refused).toMatchObject({ kind: 'failed', reason: expect.stringContaining('unknown authority') });
    expect(await rig.send(`${stranger}&skiptlsverify=yes`)).toMatchObject({ kind: 'sent' });
  });

  test('that nobody answers fails as one of the network', async () => {
    const rig = await startRig(() => 'drop');
    const outcome = await rig.send(`smtp://127.0.0.1:1/?${addresses}`);
    expect(outcome).toMatchObject({ kind: 'failed', failure: 'network', reason: 'the connection was refused' });
  });
});

describe('the login', () => {
  const secure = `${addresses}&encryption=ImplicitTLS`;

  test.each(['Plain', 'Login', 'CRAMMD5', 'OAuth2', 'Unknown'])('works by %s', async (auth) => {
    await using sink = await startSink({ implicit: true, login: true });
    expect(await send(sink, `smtp://me:${password}@HOST/?${secure}&auth=${auth}`)).toMatchObject({ kind: 'sent' });
  });

  test('that is wrong is told as that, without it', async () => {
    await using sink = await startSink({ implicit: true, login: true });
    const outcome = await send(sink, `smtp://me:wr0ng-Pa55word@HOST/?${secure}`);
    expect(outcome).toMatchObject({ kind: 'failed', failure: 'auth', reason: expect.stringContaining('535') });
    expect(JSON.stringify(outcome)).not.toContain('wr0ng');
  });

  test('that the server repeats is not shown', async () => {
    await using sink = await startSink({ implicit: true, login: true });
    const url = `smtp://me:${password}@HOST/?from=u@example.com&to=refused@example.com&encryption=ImplicitTLS`;
    const outcome = await send(sink, url);
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining('550') });
    expect(JSON.stringify(outcome)).not.toContain(password);
  });

  test('goes over a plain connection to this machine only', async () => {
    await using sink = await startSink({ login: true });
    expect(await send(sink, `smtp://me:${password}@HOST/?${addresses}`)).toMatchObject({ kind: 'sent' });
    const rig = await startRig(() => 'drop');
    const elsewhere = `smtp://me:${password}@[::ffff:127.0.0.1]:${sink.port}/?${addresses}`;
    const outcome = await rig.send(elsewhere);
    expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining('not encrypted') });
  });
});

describe('the login at Dovecot', () => {
  const secure = `${addresses}&requirestarttls=yes`;
  const sinceEpoch = () => Math.floor(Date.now() / 1000);

  test.each([
    ['Plain', 'PLAIN'],
    ['Login', 'LOGIN'],
    ['CRAMMD5', 'CRAM-MD5'],
    ['OAuth2', 'XOAUTH2'],
  ])('works by %s', async (auth, mechanism) => {
    await using sink = await startSink({ relay: true });
    await using dovecot = await startSubmission({ password, relayPort: sink.port });
    const secret = auth === 'OAuth2' ? dovecot.tokenUntil(sinceEpoch() + 600) : password;
    const outcome = await send(dovecot, `smtp://me:${secret}@HOST/?${secure}&auth=${auth}`, { text: 'hello' });
    expect(outcome).toMatchObject({ kind: 'sent' });
    expect((await sink.mail()).raw).toContain('hello');
    expect(await dovecot.mechanism()).toBe(mechanism);
  });

  test.each(['Plain', 'CRAMMD5', 'OAuth2'])('that is wrong is told as that, by %s too', async (auth) => {
    await using sink = await startSink({ relay: true });
    await using dovecot = await startSubmission({ password, relayPort: sink.port });
    const secret = auth === 'OAuth2' ? dovecot.tokenUntil(sinceEpoch() - 600) : 'wr0ng-Pa55word';
    const outcome = await send(dovecot, `smtp://me:${secret}@HOST/?${secure}&auth=${auth}`);
    expect(outcome).toMatchObject({ kind: 'failed', failure: 'auth' });
    expect(JSON.stringify(outcome)).not.toContain(secret);
  });
});

function fromQuotedPrintable(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCodePoint(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
