import { createHmac } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './broker.ts';
import { startProgram } from './program.ts';

export type Submission = {
  readonly port: number;
  /** A token that it takes for the user, until then; Unix seconds. */
  readonly tokenUntil: (expiresAt: number) => string;
  /** The login method of the next user: `CRAM-MD5`. */
  readonly mechanism: () => Promise<string | undefined>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const identity = (name: string): string => fileURLToPath(new URL(`../fixtures/notify-tls/${name}`, import.meta.url));
const key = 'a key of thirty-two bytes or so!!';

/** Debian's Dovecot on the loopback: takes mails of the user `me` after a login over STARTTLS, and gives them to the relay. */
export async function startSubmission({
  password,
  relayPort,
}: {
  readonly password: string;
  readonly relayPort: number;
}) {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-dovecot-'));
  const port = await freePort();
  for (const name of ['run', 'home', 'keys/default/HS256']) mkdirSync(join(folder, name), { recursive: true });
  const file = (name: string, ...lines: readonly string[]): string => {
    const path = join(folder, name);
    writeFileSync(path, `${lines.join('\n')}\n`);
    return path;
  };
  file('keys/default/HS256/default', Buffer.from(key).toString('base64'));
  const tokens = file(
    'tokens.conf',
    'introspection_mode = local',
    `local_validation_key_dict = fs:posix:prefix=${folder}/keys/`,
    'username_attribute = sub',
  );
  const config = file(
    'dovecot.conf',
    `base_dir = ${folder}/run`,
    `state_dir = ${folder}/run`,
    'log_path = /dev/stderr',
    'protocols = submission',
    'listen = 127.0.0.1',
    'ssl = required',
    `ssl_cert = <${identity('server.pem')}`,
    `ssl_key = <${identity('server.key')}`,
    'auth_mechanisms = plain login cram-md5 xoauth2',
    ...section(
      'passdb',
      'driver = passwd-file',
      'mechanisms = plain login cram-md5',
      `args = ${file('users', `me:{PLAIN}${password}::::::`)}`,
    ),
    ...section('passdb', 'driver = oauth2', 'mechanisms = xoauth2', `args = ${tokens}`),
    ...section('userdb', 'driver = static', `args = uid=nobody gid=nogroup home=${folder}/home`),
    'mail_location = maildir:~/mail',
    'submission_relay_host = 127.0.0.1',
    `submission_relay_port = ${relayPort}`,
    // The answer to a wrong login is not delayed.
    'auth_failure_delay = 0',
    ...section('service submission-login', ...section('inet_listener submission', `port = ${port}`)),
  );
  // Its parts run as their own users.
  chmodSync(folder, 0o755);
  chmodSync(join(folder, 'home'), 0o777);
  const program = startProgram('dovecot', ['-F', '-c', config]);
  await program.line((line) => line.includes('starting up'));
  return {
    port,
    tokenUntil: (expiresAt: number) => signed({ sub: 'me', iat: expiresAt - 3600, exp: expiresAt }),
    mechanism: async () => /method=([\w-]+)/.exec(await program.line((line) => line.includes('Login: user=')))?.[1],
    async [Symbol.asyncDispose]() {
      const ended = new Promise((resolve) => program.child.once('close', resolve));
      // Unlike a kill, it also ends its parts.
      program.child.kill('SIGTERM');
      await ended;
      await program[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  } satisfies Submission;
}

function section(name: string, ...lines: readonly string[]): readonly string[] {
  return [`${name} {`, ...lines, '}'];
}

/** https://www.rfc-editor.org/rfc/rfc7519 */
function signed(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const content = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`;
}
