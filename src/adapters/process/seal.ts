import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { Seal } from '../../domain/outside/outside.ts';
import { pathRemedy, shownPath } from '../../domain/settings/values/shown-text.ts';
import { codeOf, messageWithoutPath } from '../../domain/text/error-code.ts';

export type KeyPlace = {
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
  return createSeal(makeKey(folder, file) ?? readKey(file, 'remove the file to have a new key made'));
}

/** Undefined if the key already exists. A new key is synced to the disk before its first use. */
function makeKey(folder: string, file: string): string | undefined {
  const key = randomBytes(32).toString('hex');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const descriptor = openSync(file, 'wx', 0o600);
    try {
      writeSync(descriptor, `${key}\n`);
      fsyncSync(descriptor);
    } catch (error) {
      // Part of a key would be refused by every later start.
      unlinkSync(file);
      throw error;
    } finally {
      closeSync(descriptor);
    }
    syncFolder(folder);
    return key;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined;
    throw refusal('make', file, error, 'name a folder that can be written to, or a key with --journal-key-file');
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

function readKey(file: string, remedy: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw refusal('read', file, error, remedy);
  }
  if (Buffer.byteLength(text) >= leastKeyBytes) return text;
  const why = text === '' ? 'it is empty' : `it has fewer than ${leastKeyBytes} characters`;
  throw refusal('use', file, new Error(why), remedy);
}

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
