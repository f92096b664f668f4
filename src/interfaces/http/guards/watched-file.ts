import { readFileSync, type Stats, statSync } from 'node:fs';
import type { Log } from '../../../domain/outside/outside.ts';
import { describeError } from '../../../domain/text/errors.ts';

/**
 * Content of one or more files, read again when one of them changes. Each call compares the files, which
 * costs microseconds, so a rotated secret applies from the next request. While the new content is unusable,
 * `instead` is in effect, with an error line at its begin, or the last good content with warnings.
 * Throws when the first reading fails.
 */
export function watchFiles<Content>(paths: readonly string[], { read, log, instead }: Watched<Content>): () => Content {
  let seen = versionOf(paths);
  let content = read(paths.map(readText));
  let isUnusable = false;

  return () => {
    const version = versionOf(paths);
    if (version === seen) return content;
    seen = version;
    try {
      content = read(paths.map(readText));
      isUnusable = false;
      log.info('A changed file was read again', { files: paths });
    } catch (error) {
      const fields = { files: paths, error: describeError(error) };
      if (instead === undefined) log.warn('A changed file cannot be used; its former content stays in effect', fields);
      else if (!isUnusable) log.error(instead.message, fields);
      if (instead !== undefined) content = instead.content;
      isUnusable = true;
    }
    return content;
  };
}

type Watched<Content> = {
  readonly read: (texts: readonly string[]) => Content;
  readonly log: Log;
  readonly instead?: { readonly content: Content; readonly message: string };
};

/** A pipe in place of the file would block the process, and `/dev/zero` would fill its memory. */
function readText(path: string): string {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('it is not a file');
  if (stat.size > maxBytes) throw new Error('the file is larger than 1 MiB');
  return readFileSync(path, 'utf8');
}

/** As for the files that the settings name. */
const maxBytes = 1024 * 1024;

/** Changes when a file, or the target of a link, is written or replaced. */
function versionOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statOf(path);
      return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
    })
    .join(' ');
}

/** Undefined also for a file that may not be looked at: its reading then fails, which is handled. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
