import { readFileSync, type Stats, statSync } from 'node:fs';
import type { Log } from '../../../domain/outside/outside.ts';
import { describeError } from '../../../domain/errors.ts';

/**
 * Content of one or more files, read again when one of them changes. Each call compares the files, which
 * costs microseconds, so a rotated secret applies from the next request. If the new content is unusable,
 * the last good content stays in effect, with a warning. Throws when the first reading fails.
 */
export function watchFiles<Content>(
  paths: readonly string[],
  { read, log }: { readonly read: (texts: readonly string[]) => Content; readonly log: Log },
): () => Content {
  let seen = versionOf(paths);
  let content = read(paths.map((path) => readFileSync(path, 'utf8')));

  return () => {
    const version = versionOf(paths);
    if (version === seen) return content;
    seen = version;
    try {
      content = read(paths.map((path) => readFileSync(path, 'utf8')));
      log.info('A changed file was read again', { files: paths });
    } catch (error) {
      log.warn('A changed file cannot be used; its former content stays in effect', {
        files: paths,
        error: describeError(error),
      });
    }
    return content;
  };
}

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
