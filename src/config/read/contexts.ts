import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type EngineAddress,
  type EngineTls,
  engineNameGrammar,
  isEngineName,
} from '../../domain/fleet/engine-address.ts';
import { printable, quoted } from '../../domain/text/printable.ts';

type Read = { readonly engine: EngineAddress } | { readonly fault: string };

/**
 * Engines of Docker's context store; `all` means each of them, by name. A fault completes "Cannot use …: ".
 * https://github.com/docker/cli/blob/v28.5.2/cli/context/store/store.go
 */
export function readContexts(names: readonly string[], dockerFolder: string): readonly Read[] {
  const wanted = names.flatMap((name) => (name === 'all' ? storedNames(dockerFolder) : [name]));
  if (wanted.length === 0 && names.length > 0) return [{ fault: `${quoted(dockerFolder)} has no contexts` }];
  return [...new Set(wanted)].map((name) => readContext(name, dockerFolder));
}

function readContext(name: string, dockerFolder: string): Read {
  const of = `the context ${quoted(name)}`;
  if (name === 'default') return { engine: { name, host: 'unix:///var/run/docker.sock' } };
  if (!isEngineName(name)) return { fault: `${of} has a name that is not ${engineNameGrammar}` };
  const path = join(dockerFolder, 'contexts', 'meta', folderOf(name), 'meta.json');
  if (!existsSync(path)) return { fault: `${of} is not in ${quoted(dockerFolder)}; "docker context ls" lists them` };
  const endpoint = endpointIn(path);
  if (endpoint === undefined) return { fault: `${of} cannot be read: ${quoted(path)} names no Docker engine` };
  const { host, skipsVerification } = endpoint;
  if (!/^(?:unix:\/\/\/.|(?:tcp|http|https|ssh):\/\/[^/])/.test(host))
    return { fault: `${of} has the address ${quoted(printable(host, 200))}, which is no socket, TCP or SSH` };
  const tls = tlsFiles(join(dockerFolder, 'contexts', 'tls', folderOf(name), 'docker'), !skipsVerification);
  return { engine: { name, host, ...(tls && { tls }) } };
}

/** The store names the folder of a context by the hash of its name. */
function folderOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

function storedNames(dockerFolder: string): readonly string[] {
  const folder = join(dockerFolder, 'contexts', 'meta');
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).map((entry) => parse(join(folder, entry, 'meta.json'))?.Name);
  return names.filter((name) => typeof name === 'string').sort();
}

function endpointIn(path: string): { readonly host: string; readonly skipsVerification: boolean } | undefined {
  const { Host, SkipTLSVerify } = parse(path)?.Endpoints?.docker ?? {};
  return typeof Host === 'string' ? { host: Host, skipsVerification: SkipTLSVerify === true } : undefined;
}

type Meta = {
  readonly Name?: unknown;
  readonly Endpoints?: { readonly docker?: { readonly Host?: unknown; readonly SkipTLSVerify?: unknown } };
};

/** Undefined for what cannot be read, which the caller tells. */
function parse(path: string): Meta | undefined {
  try {
    const read: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof read === 'object' && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}

function tlsFiles(folder: string, verify: boolean): EngineTls | undefined {
  const given = (['ca', 'cert', 'key'] as const).flatMap((part) => {
    const path = join(folder, `${part}.pem`);
    return existsSync(path) ? [[part, path] as const] : [];
  });
  if (given.length === 0 && verify) return undefined;
  return { ...Object.fromEntries(given), verify };
}
