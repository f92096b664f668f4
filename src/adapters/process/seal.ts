import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fchownSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { ServiceError, codeOf, messageWithoutPath } from '../../domain/text/errors.ts';
import type { Seal } from '../../domain/outside/outside.ts';
import { pathRemedy, shownPath } from '../../domain/text/hidden-secrets.ts';

type KeyPlace = {
  /** Undefined: `journal.key` in the folder, if a folder is given. */
  readonly keyFile: string | undefined;
  readonly folder: string | undefined;
};

/**
 * The seal with the key of a file. Undefined if neither a file nor a folder is given. Creates a missing key in the
 * folder. Throws `invalid-input` if there is no key, because sealed records would then be ignored.
 */
export function openSeal({ keyFile, folder }: KeyPlace): Seal | undefined {
  if (keyFile !== undefined)
    return createSeal(readKey(keyFile, `create it: head -c 32 /dev/urandom | base64 > ${keyFile}`));
  if (folder === undefined) return undefined;
  const file = join(folder, 'journal.key');
  return createSeal(makeKey(folder, file) ?? readKey(file, 'remove the file to have a new key made', noLink));
}

/** Of the files in the folder, none is a link: it may lead anywhere. A key that is named may be one. */
const noLink = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Undefined if the key already exists. */
function makeKey(folder: string, file: string): string | undefined {
  try {
    return makeSecret(folder, file);
  } catch (error) {
    throw refusal('make', file, error, 'name a folder that can be written to, or a key with --journal-key-file');
  }
}

/**
 * A new secret of 256 bits in a file for its owner only, synced to the disk before its first use. Undefined if the file
 * already exists.
 */
export function makeSecret(folder: string, file: string): string | undefined {
  const secret = randomBytes(32).toString('hex');
  return writeSecret(folder, file, secret) ? secret : undefined;
}

/** False if the file already exists. */
function writeSecret(folder: string, file: string, secret: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const descriptor = openSync(file, 'wx', 0o600);
    try {
      giveToOwner(descriptor, folder);
      writeSync(descriptor, `${secret}\n`);
      fsyncSync(descriptor);
    } catch (error) {
      // Part of a key would be refused by every later start.
      unlinkSync(file);
      throw error;
    } finally {
      closeSync(descriptor);
    }
    syncFolder(folder);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** A service without root's rights needs the key that root has made in its folder. */
function giveToOwner(descriptor: number, folder: string): void {
  const { uid, gid } = statSync(folder);
  if (process.geteuid?.() !== 0 || uid === 0) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch {
    // The system may refuse it. The key then stays root's.
  }
}

/** The name of a new file is stored in its folder: https://man7.org/linux/man-pages/man2/fsync.2.html */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function readKey(file: string, remedy: string, flags = constants.O_RDONLY): string {
  let text: string;
  try {
    text = readText(file, flags).trim();
    // Another process has just made the file, and writes the key.
    for (let left = 20; text === '' && left > 0; left -= 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25);
      text = readText(file, flags).trim();
    }
  } catch (error) {
    const why = codeOf(error) === 'ELOOP' ? new Error('it is a link, which is not followed') : error;
    throw refusal('read', file, why, codeOf(error) === 'EACCES' ? ownerRemedy : remedy);
  }
  if (Buffer.byteLength(text) >= leastKeyBytes) return text;
  const why = text === '' ? 'it is empty' : `it has fewer than ${leastKeyBytes} characters`;
  throw refusal('use', file, new Error(why), remedy);
}

function readText(file: string, flags: number): string {
  const descriptor = openSync(file, flags);
  try {
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

/** A key that is there is kept: the repair of an update that was begun with it needs it. */
const ownerRemedy = 'keep this file, and give it to the user that Upkeep runs as';

/** The length of a seal in a tag. A shorter key would be easier to guess than the seal itself. */
const leastKeyBytes = 16;

function refusal(doing: string, file: string, error: unknown, remedy: string): ServiceError {
  const shown = shownPath(file);
  const message = `Cannot ${doing} the journal key${shown}: ${messageWithoutPath(error)}`;
  return new ServiceError('invalid-input', message, { remedy: shown === '' ? pathRemedy : remedy });
}

function createSeal(key: string): Seal {
  const sign = (text: string) => createHmac('sha256', key).update(text).digest('hex');
  return {
    sign,
    verify(text, seal) {
      if (seal.length < leastSealDigits || !/^[0-9a-f]+$/.test(seal)) return false;
      const right = sign(text).slice(0, seal.length);
      return right.length === seal.length && timingSafeEqual(Buffer.from(right), Buffer.from(seal));
    },
  };
}

/** 128 bits: the part that fits into a tag. */
const leastSealDigits = 32;
