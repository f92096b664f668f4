import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EngineAddress, type EngineTls, engineNameGrammar, isEngineName } from '../../domain/engine-address.ts';
import { codeOf } from '../../domain/text/errors.ts';
import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { quoted } from '../../domain/text/printable.ts';

type Read = { readonly engine: EngineAddress } | { readonly fault: string };

/**
 * Engines of Docker's context store. `all` means every context, by name. A fault completes "Cannot use …: ".
 * https://github.com/docker/cli/blob/v28.5.2/cli/context/store/store.go
 */
export function readContexts(names: readonly string[], dockerFolder: string): readonly Read[] {
  const stored = names.every((name) => name === 'default') ? [] : storedContexts(dockerFolder);
  if ('fault' in stored) return [stored];
  const wanted = names.flatMap((name) => (name === 'all' ? stored.map((context) => context.name) : [name]));
  if (wanted.length === 0 && names.length > 0) return [{ fault: `${quoted(dockerFolder)} has no contexts` }];
  return [...new Set(wanted)].map((name) => readContext(name, stored, dockerFolder));
}

/** The context of `docker context use`, from the client's config.json. Undefined without one. */
export function currentContext(dockerFolder: string | undefined): string | undefined {
  if (dockerFolder === undefined) return undefined;
  const used: unknown = parse(join(dockerFolder, 'config.json'))?.currentContext;
  return typeof used === 'string' ? used : undefined;
}

function readContext(name: string, contexts: readonly StoredContext[], dockerFolder: string): Read {
  const of = `the context ${quoted(withoutSecretParts(name))}`;
  if (name === 'default') return { engine: { name, host: 'unix:///var/run/docker.sock' } };
  if (!isEngineName(name)) return { fault: `${of} has a name that is not ${engineNameGrammar}` };
  const stored = contexts.find((context) => context.name === name);
  if (stored === undefined)
    return { fault: `${of} is not in ${quoted(dockerFolder)}; "docker context ls" lists the contexts` };
  const endpoint = endpointIn(stored.meta);
  if (endpoint === undefined) return { fault: `${of} names no Docker engine` };
  const { host, skipsVerification } = endpoint;
  if (!/^(?:unix:\/\/\/.|(?:tcp|http|https|ssh):\/\/[^/])/.test(host))
    return {
      fault: `${of} has the address ${quoted(withoutSecretParts(host), 200)}, which is not a socket, TCP or SSH`,
    };
  const tls = tlsFiles(join(dockerFolder, 'contexts', 'tls', stored.folder, 'docker'), !skipsVerification);
  return { engine: { name, host, ...(tls && { tls }) } };
}

type StoredContext = {
  readonly name: string;
  /** The hash of the name, which is also the folder with its TLS files. */
  readonly folder: string;
  readonly meta: Meta;
};

/** Sorted by name. Unreadable entries are omitted, as in Docker's client. A missing folder has no contexts. */
function storedContexts(dockerFolder: string): readonly StoredContext[] | { readonly fault: string } {
  const metas = join(dockerFolder, 'contexts', 'meta');
  let folders: readonly string[];
  try {
    folders = readdirSync(metas);
  } catch (error) {
    const code = codeOf(error) || 'no reason given';
    return code === 'ENOENT' ? [] : { fault: `the folder ${quoted(metas)} cannot be read (${code})` };
  }
  const contexts = folders.flatMap((folder): StoredContext[] => {
    const meta = parse(join(metas, folder, 'meta.json'));
    return typeof meta?.Name === 'string' ? [{ name: meta.Name, folder, meta }] : [];
  });
  return contexts.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function endpointIn(meta: Meta): { readonly host: string; readonly skipsVerification: boolean } | undefined {
  const { Host, SkipTLSVerify } = meta.Endpoints?.docker ?? {};
  return typeof Host === 'string' ? { host: Host, skipsVerification: SkipTLSVerify === true } : undefined;
}

type Meta = {
  readonly Name?: unknown;
  readonly currentContext?: unknown;
  readonly Endpoints?: { readonly docker?: { readonly Host?: unknown; readonly SkipTLSVerify?: unknown } };
};

/** Undefined for an unreadable file, which the caller reports. */
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
