import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { describeError } from '../../domain/text/errors.ts';
import type { Log } from '../../domain/outside/outside.ts';

/** The line of a password file. https://www.rfc-editor.org/rfc/rfc7914; 64 MiB and about a tenth of a second each. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return `scrypt:${cost}:${salt.toString('base64')}:${hash.toString('base64')}`;
}

const cost = 65_536;
/** A file with a higher cost would take all memory. */
const maxCost = 1_048_576;
const blockSize = 8;
const keyBytes = 32;

function derive(password: string, salt: Buffer, N: number): Promise<Buffer> {
  const options = { N, r: blockSize, p: 1, maxmem: 256 * N * blockSize };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, keyBytes, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}

/**
 * The password in a file, which may appear, change and go while the service runs. A file that cannot be used lets nobody
 * in, and is told once. `verifier` is its line, undefined without one. Passwords are tried one at a time; while eight
 * wait, further ones are refused.
 */
export function openPassword(file: string, log: Log) {
  let seen = '';
  let line: string | undefined;
  let trying: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  function verifier(): string | undefined {
    const version = versionOf(file);
    if (version === seen) return line;
    seen = version;
    line = undefined;
    if (version === 'none') return undefined;
    try {
      const text = readText(file).trim();
      if (partsOf(text) === undefined) throw new Error('it has no line that "upkeep password" has written');
      line = text;
    } catch (error) {
      log.error('The password file cannot be used: nobody can sign in with a password', {
        error: describeError(error),
      });
    }
    return line;
  }

  return {
    verifier,
    async matches(given: string): Promise<boolean> {
      const parts = partsOf(verifier() ?? '');
      if (parts === undefined || waiting >= maxWaiting) return false;
      waiting += 1;
      const tried = trying.then(() => derive(given, parts.salt, parts.cost));
      trying = tried.catch(() => undefined);
      try {
        const key = await tried;
        return key.length === parts.hash.length && timingSafeEqual(key, parts.hash);
      } catch {
        return false;
      } finally {
        waiting -= 1;
      }
    },
  };
}

const maxWaiting = 8;

function partsOf(line: string) {
  const [, costText = '', salt = '', hash = ''] = /^scrypt:(\d{2,7}):([\w+/]+=*):([\w+/]+=*)$/.exec(line) ?? [];
  const cost = Number(costText);
  const isPower = cost > 1 && Number.isInteger(Math.log2(cost));
  if (!isPower || cost > maxCost) return undefined;
  const parts = { cost, salt: Buffer.from(salt, 'base64'), hash: Buffer.from(hash, 'base64') };
  return parts.salt.length >= 8 && parts.hash.length === keyBytes ? parts : undefined;
}

function versionOf(file: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return 'none';
  }
}

function readText(file: string): string {
  const stat = statSync(file);
  if (!stat.isFile() || stat.size > maxFileBytes) throw new Error('it is not a file with a password');
  return readFileSync(file, 'utf8');
}

const maxFileBytes = 10_000;
