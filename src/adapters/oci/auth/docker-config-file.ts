import { readFile, stat } from 'node:fs/promises';
import type { Clock } from '../../../domain/outside/outside.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { emptyDockerConfig, parseDockerConfig, type DockerConfig } from './docker-config.ts';
import { RegistryFailure } from '../transport/failure.ts';
import { remembered } from '../async/remembered.ts';

/**
 * Docker's `config.json`, read again when the file has changed. A missing file counts as empty; an
 * unreadable one throws. The error never quotes its content.
 */
export function createDockerConfigFile(clock: Clock, path: string | undefined): () => Promise<DockerConfig> {
  if (path === undefined) return () => Promise.resolve(emptyDockerConfig);
  let known: { readonly version: string; readonly config: DockerConfig } | undefined;

  return remembered(clock, lookAgainMs, async () => {
    try {
      const { mtimeMs, ctimeMs, size, ino } = await stat(path);
      const version = [mtimeMs, ctimeMs, size, ino].join(' ');
      if (known?.version !== version) known = { version, config: await read(path, size) };
      return known.config;
    } catch (error) {
      return emptyIfMissing(path, error);
    }
  });
}

/** The file is checked for changes at most once in this time. */
const lookAgainMs = 250;

/** Thousands of logins fit. */
const maxBytes = 1024 * 1024;

async function read(path: string, size: number): Promise<DockerConfig> {
  if (size > maxBytes) throw refuse(path, `it has more than ${maxBytes} bytes`);
  const config = parseDockerConfig(await readFile(path, 'utf8'));
  if (config === undefined) throw refuse(path, 'it is not a JSON object');
  return config;
}

function emptyIfMissing(path: string, error: unknown): DockerConfig {
  if (error instanceof RegistryFailure) throw error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ENOENT' || code === 'ENOTDIR') return emptyDockerConfig;
  if (code === 'EISDIR') throw refuse(path, 'it is a folder, which an engine makes where the file to mount is missing');
  throw refuse(path, code === 'EACCES' ? 'this process may not read it' : `reading failed (${code})`);
}

function refuse(path: string, why: string): RegistryFailure {
  return new RegistryFailure('registry-denied', `the logins in ${quoted(path, 300)} cannot be read: ${why}`, {
    remedy: 'correct or remove that file',
  });
}
