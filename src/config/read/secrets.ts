import { accessSync, readFileSync, statSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { isPlainPath, pathRemedy, shownPath } from '../../domain/text/hidden-secrets.ts';
import { codeOf } from '../../domain/text/errors.ts';
import { quoted } from '../../domain/text/printable.ts';
import { refusedValue, type Fault, type Read } from '../table/option.ts';

/**
 * The trimmed content of the file that the text names, or the text itself if it does not name one. A text that looks
 * like a path must be a readable file: a path that can be guessed is not a secret.
 */
export function readFileValue(source: string, text: string): Read<string> {
  const path = text.trim();
  const isPath = /^(?:\/|~\/|\.\.?\/)/.test(path);
  const named = statOf(path);
  if (!isPath && named?.isFile() !== true) return { kind: 'value', value: text };
  if (named !== undefined && !named.isFile())
    return refused(source, path, named.isDirectory() ? folderWords : 'it is not a file');
  const read = readBoundedFile(path);
  if (read.kind === 'unreadable') return refused(source, path, read.why);
  const value = read.value.toString().trim();
  return value === '' ? refused(source, path, 'the file is empty') : { kind: 'value', value };
}

const folderWords = 'it is a folder, which Docker creates if the file of a mount is missing';

function refused(source: string, path: string, why: string): Read<string> {
  const isHidden = !isPlainPath(path) || mayBeSecret(path);
  const which = isHidden ? '' : ` ${quoted(path, 300)}`;
  const remedy = isHidden ? 'a value that begins with / has to be in a file' : 'name a file with the value in it';
  const message = `Cannot read the file of ${source}${which}: ${why}; ${remedy}, which this user may read`;
  return { kind: 'fault', fault: { kind: 'value', message } };
}

/** A password in base64 can begin with a slash. A text that begins with an existing folder is the path of a file. */
function mayBeSecret(path: string): boolean {
  const [first = '', ...rest] = path.split('/').filter((part) => part !== '');
  if (!path.startsWith('/')) return false;
  return statOf(path) === undefined && (rest.length === 0 || statOf(`/${first}`) === undefined);
}

/** PEM texts for TLS to the engine, from a folder in the layout of Docker's own client. */
export type EngineCertificates = { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };

/** Reads ca.pem, cert.pem and key.pem: https://docs.docker.com/engine/security/protect-access/ */
export function readEngineCertificates(source: string, folder: string): EngineCertificates | Fault {
  const files = { ca: 'ca.pem', cert: 'cert.pem', key: 'key.pem' };
  const found: { ca?: Buffer; cert?: Buffer; key?: Buffer } = {};
  for (const part of ['ca', 'cert', 'key'] as const) {
    const path = join(folder, files[part]);
    if (statOf(path) === undefined) continue;
    const read = readBoundedFile(path);
    if (read.kind === 'unreadable') return unreadable(source, path, read.why);
    found[part] = read.value;
  }
  if (found.ca === undefined && found.cert === undefined)
    return refusedValue(source, folder, 'a folder with ca.pem, or with cert.pem and key.pem', false);
  if ((found.cert === undefined) !== (found.key === undefined))
    return refusedValue(source, folder, 'a folder with both cert.pem and key.pem, or neither', false);
  return found;
}

/** The content of a file that an option names. A file above 1 MiB is refused. */
export function readNamedFile(source: string, path: string): Read<Buffer> {
  const read = readBoundedFile(path);
  if (read.kind === 'unreadable') return { kind: 'fault', fault: unreadable(source, path, read.why) };
  return read;
}

/** More than any secret or bundle of certificates. A mistyped `/dev/zero` must not fill the memory. */
const maxFile = 1024 * 1024;

type ReadFile =
  | { readonly kind: 'value'; readonly value: Buffer }
  | { readonly kind: 'unreadable'; readonly why: string };

function readBoundedFile(path: string): ReadFile {
  const stat = statOf(path);
  if (stat === undefined) return { kind: 'unreadable', why: whyNotThere(path) };
  if (!stat.isFile()) return { kind: 'unreadable', why: 'it is not a file' };
  if (stat.size > maxFile) return { kind: 'unreadable', why: 'the file is larger than 1 MiB' };
  try {
    return { kind: 'value', value: readFileSync(path) };
  } catch (error) {
    return { kind: 'unreadable', why: isDenied(error) ? 'permission denied' : 'the file cannot be read' };
  }
}

type Stat = Pick<Stats, 'size' | 'isFile' | 'isDirectory'>;

function statOf(path: string): Stat | undefined {
  if (path === '' || path.includes('\0') || path.length > 4096) return undefined;
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function whyNotThere(path: string): string {
  try {
    accessSync(path);
  } catch (error) {
    if (isDenied(error)) return 'permission denied';
  }
  return 'there is no such file';
}

function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(codeOf(error));
}

/** The user needs the path to find the mistake. */
function unreadable(source: string, path: string, why: string): Fault {
  const shown = shownPath(path);
  const remedy = shown === '' ? `; ${pathRemedy}` : '';
  return { kind: 'value', message: `Cannot read the file of ${source}${shown}: ${why}${remedy}` };
}
