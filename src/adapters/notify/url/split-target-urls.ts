import { readFileSync, statSync } from 'node:fs';

/** One URL as the user wrote it, with its name. */
export type NamedUrl = { readonly name: string | undefined; readonly url: string };

/**
 * The URLs in a value of an option, separated by white space and commas. A piece after a comma that does not begin a
 * URL belongs to the piece before (`…?to=a@x,b@y`). A value that names a file is replaced by its lines, where `#`
 * begins a comment. Throws the file's error.
 */
export function splitTargetUrls(value: string): readonly NamedUrl[] {
  const path = value.trim();
  return isFile(path) ? linesOf(path).flatMap(inOneText) : inOneText(value);
}

function inOneText(value: string): readonly NamedUrl[] {
  const urls: string[] = [];
  for (const piece of value.split(/\s+/)) {
    for (const [index, part] of piece.split(',').entries()) {
      if (index > 0 && urls.length > 0 && !startOfUrl.test(part)) urls.push(`${urls.pop() ?? ''},${part}`);
      else if (part !== '') urls.push(part);
    }
  }
  // Users write a space after a comma between two URLs, or none.
  return urls.map((url) => url.replace(/,+$/, '')).map(named);
}

const startOfUrl = /^(?:[\w.-]+=)?[a-z][a-z0-9.+-]*:\/\//i;

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
