import { constants } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CommandName } from '../config/declaration/commands.ts';
import { ServiceError, messageWithoutPath } from '../domain/text/errors.ts';
import { type Command, type ProcessContext, tokensOf } from './process-context.ts';

type SecretCommand = 'token' | 'password';

export function isSecretCommand(command: CommandName): command is SecretCommand {
  return command === 'token' || command === 'password';
}

/** `upkeep token` and `upkeep password`: how to sign in to the page. */
export async function runSecret(command: SecretCommand, given: Command, context: ProcessContext): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const work = command === 'token' ? showToken : setPassword;
  return cli.runReportingFailures(() => work(given, context), { settings: given.settings, ...context });
}

async function showToken({ settings: { http, state } }: Command, { terminal }: ProcessContext): Promise<number> {
  const { folder } = state;
  const made = folder === undefined ? undefined : ({ kind: 'file', path: join(folder, 'token') } as const);
  const [token] = [...tokensOf(http.token), ...tokensOf(made)];
  if (token === undefined)
    throw new ServiceError('not-found', 'Cannot show the token: there is none', {
      remedy: 'name the folder of the service with --state-dir; the service makes a token at its first start',
    });
  terminal.out.write(`${token}\n`);
  return 0;
}

async function setPassword({ settings: { http } }: Command, { terminal }: ProcessContext): Promise<number> {
  const password = await readPassword((text) => terminal.err.write(text));
  if (password.length < minPassword)
    throw new ServiceError('invalid-input', `Cannot set the password: it has fewer than ${minPassword} characters`);
  const { hashPassword } = await import('../adapters/process/password.ts');
  const line = await hashPassword(password);
  const { passwordFile } = http;
  if (passwordFile === undefined) {
    terminal.out.write(`${line}\n`);
    return 0;
  }
  await replaceFile(passwordFile, `${line}\n`);
  terminal.err.write('The password is set. Sign in to the page with it.\n');
  return 0;
}

const minPassword = 8;
const maxPassword = 1000;

/** On a terminal it is asked for twice, and not shown. */
async function readPassword(say: (text: string) => void): Promise<string> {
  const { stdin } = process;
  if (!stdin.isTTY) return readLine(stdin);
  say('New password: ');
  const first = await readHidden(say);
  say('Again: ');
  if ((await readHidden(say)) === first) return first;
  throw new ServiceError('invalid-input', 'Cannot set the password: the two are not the same');
}

async function readLine(stream: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.includes('\n') || text.length > maxPassword) break;
  }
  return text.split(/\r?\n/, 1)[0]?.slice(0, maxPassword) ?? '';
}

function readHidden(say: (text: string) => void): Promise<string> {
  const { stdin } = process;
  return new Promise((resolve, reject) => {
    let text = '';
    const end = (settle: () => void): void => {
      stdin.off('data', hear).setRawMode(false).pause();
      say('\n');
      settle();
    };
    const hear = (chunk: Buffer): void => {
      for (const key of chunk.toString('utf8')) {
        if (key === '\r' || key === '\n') return end(() => resolve(text));
        if (key === '\u0003' || key === '\u0004')
          return end(() => reject(new ServiceError('cancelled', 'Cannot set the password: it was cancelled')));
        if (key === '\u007F' || key === '\b') text = Array.from(text).slice(0, -1).join('');
        else if (text.length < maxPassword) text += key;
      }
    };
    stdin.setRawMode(true).on('data', hear).resume();
  });
}

/** For its owner only, and whole at each moment. A file in the folder of another user belongs to that user. */
async function replaceFile(path: string, text: string): Promise<void> {
  const aside = `${path}.new`;
  try {
    await rm(aside, { force: true });
    const file = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    try {
      const { uid, gid } = await stat(dirname(path));
      if (process.geteuid?.() === 0 && uid !== 0) await file.chown(uid, gid);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(aside, path);
  } catch (cause) {
    throw new ServiceError('invalid-input', `Cannot write the password file: ${messageWithoutPath(cause)}`, {
      cause,
      remedy: 'name a file that can be written to with --password-file',
    });
  }
}
