import { createHash } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import XOAuth2 from 'nodemailer/lib/xoauth2';
import { Refused } from '../service/exchange.ts';
import { printable } from '../../../domain/text/printable.ts';
import { readNetworkError } from '../../http/exchange.ts';

export type MailServer = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly isSecure: boolean;
  readonly usesStartTls: boolean;
  readonly requiresStartTls: boolean;
  readonly skipsVerification: boolean;
  readonly clientName: string;
  readonly timeoutMs: number;
  readonly login:
    | { readonly method: 'Plain' | 'Login' | 'CRAMMD5' | 'OAuth2'; readonly user: string; readonly password: string }
    | undefined;
};

export type Mail = {
  readonly id: string;
  readonly from: { readonly name: string; readonly address: string };
  readonly subject: string;
  readonly text: string;
  readonly html: string | undefined;
  readonly priority: 'high' | 'low' | undefined;
  readonly atMs: number;
};

type MailJob = {
  readonly server: MailServer;
  readonly mail: Mail;
  readonly to: readonly string[];
  /** Recipients with the message; `sendMails` adds to it. */
  readonly accepted: Set<string>;
  readonly contextFor: (host: string) => Promise<SecureContext>;
};

/**
 * Uses one connection, and a transaction for each recipient: no recipient sees the others. Resolves to the server's
 * last answer. If a recipient is refused, it tries the others and then throws `Refused`.
 */
export async function sendMails(job: MailJob, signal: AbortSignal): Promise<string> {
  const { server } = job;
  const secureContext = await job.contextFor(server.host);
  const connection = new SMTPConnection({
    host: server.host,
    port: server.port,
    secure: server.isSecure,
    ignoreTLS: !server.usesStartTls,
    requireTLS: server.requiresStartTls,
    name: server.clientName,
    connectionTimeout: server.timeoutMs,
    greetingTimeout: server.timeoutMs,
    socketTimeout: server.timeoutMs,
    dnsTimeout: server.timeoutMs,
    socketCloseTimeout: 0,
    maxResponseSize: 65_536,
    tls: { secureContext, rejectUnauthorized: !server.skipsVerification },
  });
  const leave = (): void => connection.close();
  signal.addEventListener('abort', leave, { once: true });
  const late = setTimeout(leave, server.timeoutMs);
  try {
    await connect(connection);
    await logIn(connection, server);
    return await toEach(connection, job);
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', leave);
    connection.quit();
  }
}

function connect(connection: SMTPConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    // Failures after the answer do not matter.
    connection.on('error', (error) => reject(readSmtpError(error)));
    connection.once('end', () => reject(new Refused('network', 'the connection was closed before its answer')));
    connection.connect((error) => (error ? reject(readSmtpError(error)) : resolve()));
  });
}

async function logIn(connection: SMTPConnection, { login, host }: MailServer): Promise<void> {
  if (login === undefined) return;
  const { method, user, password } = login;
  const isReadable = method !== 'CRAMMD5' && !connection.secure;
  if (isReadable && !isThisMachine(host))
    throw new Refused(
      'rejected',
      'the connection is not encrypted, so the login is not sent; use port 465, STARTTLS or auth=None',
    );
  const auth =
    method === 'OAuth2'
      ? { user, method: 'XOAUTH2', oauth2: new XOAuth2({ user, accessToken: password }) }
      : { user, pass: password, method: method === 'CRAMMD5' ? 'CRAM-MD5' : method.toUpperCase() };
  await called((done) => connection.login(auth, done));
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d+){3}$/.test(host);
}

async function toEach(connection: SMTPConnection, { mail, to: recipients, accepted }: MailJob): Promise<string> {
  const refusals: Refused[] = [];
  let answer = '';
  for (const to of recipients.filter((each) => !accepted.has(each))) {
    try {
      const whole = await compose(mail, to);
      const envelope = { from: mail.from.address, to, use8BitMime: true };
      const info = await called<{ readonly response?: string }>((done) => connection.send(envelope, whole, done));
      answer = headerLine(info?.response ?? '');
      accepted.add(to);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refusals.push(error);
      if (connection.destroyed) break;
      await called((done) => connection.reset(done)).catch(() => undefined);
    }
  }
  const worst = refusals.find(({ failure }) => failure === 'network') ?? refusals[0];
  if (worst === undefined) return answer;
  if (recipients.length === 1) throw worst;
  const why = `${refusals.length} of ${recipients.length} recipients: ${worst.message}`;
  throw new Refused(worst.failure, why, { said: worst.said });
}

/** Each attempt has the same `Message-ID`, so a mailbox recognises a repeat. */
function compose({ id, from, subject, text, html, priority, atMs }: Mail, to: string): Promise<Buffer> {
  const unique = createHash('sha256').update(`${id}\n${to}`).digest('hex').slice(0, 32);
  return new MailComposer({
    from: { name: headerLine(from.name), address: from.address },
    to: { name: '', address: to },
    subject: headerLine(subject),
    date: new Date(atMs),
    messageId: `<${unique}@upkeep>`,
    text,
    ...(html === undefined ? {} : { html }),
    ...(priority === undefined ? {} : { headers: priorityHeaders[priority] }),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
    .compile()
    .build();
}

/** Mail programs read one or another of these. */
const priorityHeaders = {
  high: { 'X-Priority': '1 (Highest)', 'X-MSMail-Priority': 'High', Importance: 'High' },
  low: { 'X-Priority': '5 (Lowest)', 'X-MSMail-Priority': 'Low', Importance: 'Low' },
} as const;

type Callback<Value> = (error?: Error | null, value?: Value) => void;

/** Rejects with a readable error. */
function called<Value = unknown>(call: (done: Callback<Value>) => void): Promise<Value | undefined> {
  return new Promise((resolve, reject) => {
    call((error, value) => (error ? reject(readSmtpError(error)) : resolve(value)));
  });
}

/**
 * The failure that a reply of a mail server or a connection error means:
 * https://www.rfc-editor.org/rfc/rfc5321.html#section-4.2
 */
function readSmtpError(error: unknown): Refused {
  if (error instanceof Refused) return error;
  const { code = '', originalCode = code, response = '', responseCode = 0, message = '' } = error as SmtpError;
  if (response !== '')
    return new Refused(classOf(code, responseCode), `status ${responseCode}`, { said: headerLine(response) });
  if (code === 'ETIMEDOUT') return new Refused('network', 'it did not answer in time');
  if (code === 'ETLS' || /STARTTLS/.test(message))
    return new Refused('rejected', 'TLS failed', { said: headerLine(message) });
  if (code === 'EAUTH') return new Refused('auth', 'the login failed', { said: headerLine(message) });
  const cause = Object.assign(new Error(message), { code: originalCode });
  return new Refused('network', readNetworkError(cause, '').message);
}

type SmtpError = {
  readonly code?: string;
  /** Node's code; the other one is the library's. */
  readonly originalCode?: string;
  readonly response?: string;
  readonly responseCode?: number;
  readonly message?: string;
};

/** 4yz is temporary, 5yz is permanent. Greylisting is a 4yz. */
function classOf(code: string, responseCode: number): Refused['failure'] {
  if (responseCode >= 400 && responseCode < 500) return 'network';
  return code === 'EAUTH' || [530, 534, 535].includes(responseCode) ? 'auth' : 'rejected';
}

/** The text on one line. */
function headerLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim(), 500);
}
