import { readFileSync, statSync } from 'node:fs';
import { splitLine, splitUrls } from '../../../domain/notification/message.ts';

/** One URL as the user wrote it, with its name. */
export type NamedUrl = { readonly name: string | undefined; readonly url: string };

/**
 * The URLs in a value of an option: see `splitUrls`. A value that names a file is replaced by its lines, each with a
 * target, where `#` begins a comment. Throws the file's error.
 */
export function splitTargetUrls(value: string): readonly NamedUrl[] {
  const path = value.trim();
  const urls = isFile(path) ? linesOf(path).flatMap(splitLine) : splitUrls(value);
  return urls.map(named);
}

function named(text: string): NamedUrl {
  const [, name, url = text] = /^([a-z0-9][\w.-]{0,62})=([a-z][a-z0-9.+-]*:\/\/.*)$/is.exec(text) ?? [];
  return { name, url };
}

function isFile(path: string): boolean {
  if (path === '' || path.includes('://') || path.includes('\0')) return false;
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A file of a megabyte is not a list of URLs. */
const longestFile = 1_048_576;

function linesOf(path: string): readonly string[] {
  if (statSync(path).size > longestFile) throw new Error(`the file is larger than ${longestFile} bytes`);
  return readFileSync(path, 'utf8')
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}
