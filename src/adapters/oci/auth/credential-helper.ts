import { execFile } from 'node:child_process';
import type { Credential } from './docker-config.ts';
import { cut } from '../../http/failure.ts';
import { parseJsonObject, stringOf } from '../../../domain/text/json.ts';

/** `none`: the helper has no login for the server. */
export type HelperAnswer =
  | { readonly kind: 'found'; readonly credential: Credential }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly why: string };

/**
 * Asks a program `docker-credential-NAME` for the login of a server, without a shell:
 * https://github.com/docker/docker-credential-helpers#development
 */
export function askHelper(name: string, server: string, deadlineMs: number): Promise<HelperAnswer> {
  const program = `docker-credential-${name}`;
  if (!/^[a-z0-9._-]+$/.test(name))
    return Promise.resolve({ kind: 'failed', why: `"${cut(name)}" is not the name of a credential helper` });
  return new Promise((resolve) => {
    const options = {
      timeout: deadlineMs,
      killSignal: 'SIGKILL',
      maxBuffer: maxOutputBytes,
      windowsHide: true,
    } as const;
    const child = execFile(program, ['get'], options, (error, stdout, stderr) => {
      if (error === null) resolve(readAnswer(stdout, program));
      else if (stdout.trim() === notFound) resolve({ kind: 'none' });
      else resolve({ kind: 'failed', why: `${program} ${whyOf(error, stderr || stdout, deadlineMs)}` });
    });
    // A program may close its input without reading it. Only the output counts.
    child.stdin?.on('error', () => {});
    child.stdin?.end(server);
  });
}

const maxOutputBytes = 64 * 1024;

/** Every helper writes this text: https://pkg.go.dev/github.com/docker/docker-credential-helpers/credentials */
const notFound = 'credentials not found in native keychain';

/** With this user name the secret is an identity token. */
const tokenUser = '<token>';

function readAnswer(stdout: string, program: string): HelperAnswer {
  const answer = parseJsonObject(stdout);
  const username = stringOf(answer?.['Username']) ?? '';
  const secret = stringOf(answer?.['Secret']) ?? '';
  if (answer === undefined) return { kind: 'failed', why: `${program} gave an answer that cannot be read` };
  if (secret === '') return { kind: 'none' };
  if (username === tokenUser)
    return { kind: 'found', credential: { kind: 'identity-token', username: '', identityToken: secret } };
  return { kind: 'found', credential: { kind: 'password', username, password: secret } };
}

function whyOf(error: Error & { code?: unknown; killed?: boolean }, output: string, deadlineMs: number): string {
  if (error.code === 'ENOENT') return 'is not installed here';
  if (error.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `wrote more than ${maxOutputBytes} bytes`;
  if (error.killed === true) return `did not answer within ${deadlineMs / 1000} s`;
  // Helpers write their errors as plain text to the output. An object there may contain the secret.
  const said = parseJsonObject(output) === undefined ? cut(output) : '';
  return `failed: ${said || String(error.code)}`;
}
