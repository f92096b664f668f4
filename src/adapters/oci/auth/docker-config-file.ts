import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../../../domain/outside/outside.ts';
import { codeOf } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { cachedFor } from '../async/cached-for.ts';
import { HttpFailure } from '../../http/failure.ts';
import { type DockerConfig, parseDockerConfig } from './docker-config.ts';

/** `isUsual`: one of the places where a file of another user may be, which counts as empty then. */
export type ConfigPlace = { readonly path: string; readonly form: 'docker' | 'podman'; readonly isUsual?: boolean };

/**
 * Docker's `config.json` or Podman's `auth.json`, read again after a change of the file. A missing file counts as empty;
 * an unreadable file throws. The error never quotes the content.
 */
export function createDockerConfigFile(
  clock: Clock,
  { path, form, isUsual }: ConfigPlace,
): () => Promise<DockerConfig> {
  let known: { readonly version: string; readonly config: DockerConfig } | undefined;

  return cachedFor(clock, recheckMs, async () => {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(path);
      const version = [mtimeMs, ctimeMs, size, ino].join(' ');
      if (known?.version !== version) known = { version, config: await read(path, size, form) };
      return known.config;
    } catch (error) {
      if (isUsual === true && codeOf(error) === 'EACCES') return emptyDockerConfig;
      return emptyIfMissing(path, error);
    }
  });
}

const emptyDockerConfig: DockerConfig = {
  logins: new Map(),
  namespaced: new Map(),
  helpers: new Map(),
  store: undefined,
};

/** The shortest time between two checks of the file for changes. */
const recheckMs = 250;

/** Thousands of logins fit. */
const maxBytes = 1024 * 1024;

async function read(path: string, size: number, form: ConfigPlace['form']): Promise<DockerConfig> {
  if (size > maxBytes) throw refuse(path, `it has more than ${maxBytes} bytes`);
  const config = parseDockerConfig(await readFile(path, 'utf8'), form);
  if (config === undefined) throw refuse(path, 'it is not a JSON object');
  return config;
}

function emptyIfMissing(path: string, error: unknown): DockerConfig {
  if (error instanceof HttpFailure) throw error;
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return emptyDockerConfig;
  if (code === 'EISDIR') throw refuse(path, 'it is a folder: an engine creates one if the mounted file is missing');
  throw refuse(path, code === 'EACCES' ? 'this process may not read it' : `reading failed (${code})`);
}

function refuse(path: string, why: string): HttpFailure {
  return new HttpFailure('denied', `the logins in ${quoted(path, 300)} cannot be read: ${why}`, {
    remedy: 'correct or remove that file',
  });
}
