import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../table/environment.ts';
import {
  parseEngineAddress,
  repeatedNames,
  engineNameGrammar,
  isEngineName,
  type EngineAddress,
  type EngineTls,
} from '../../domain/engine-address.ts';
import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { Fault } from '../table/option.ts';
import type { Given } from './command-line.ts';
import { readEngineCertificates, type EngineCertificates } from './secrets.ts';
import { codeOf, ServiceError } from '../../domain/text/errors.ts';

type Parts = Pick<Given, 'values' | 'sourceOf'>;

/**
 * The engines in the order of the options, contexts last. Empty: one of the usual sockets. `dockerFolder`: the
 * folder of Docker's own client.
 */
export function readEngines(
  { values, sourceOf }: Parts,
  dockerFolder: string | undefined,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: string[] },
): readonly EngineAddress[] {
  const named = [...readHosts({ values, sourceOf }, faults), ...contextsOf({ values, sourceOf }, dockerFolder, faults)];
  const isNamed = values.engineHost.length + values.engineContexts.length > 0;
  const engines = isNamed ? named : contextInUse({ values, sourceOf }, dockerFolder, { faults, warnings });
  for (const name of repeatedNames(engines)) {
    const source = sourceOf(values.engineHost.length === 0 ? 'engineContexts' : 'engineHost');
    const message = `Cannot use ${source}: several engines are named ${quoted(name)}; give each a name of its own, as in nas=ssh://user@server`;
    faults.push({ kind: 'value', message });
  }
  const known = engines.length === 0 ? ['local'] : engines.map(({ name }) => name);
  const unknown = values.engines.filter((name) => !known.includes(name));
  // A running service knows its own engines.
  if (unknown.length > 0 && values.remoteUrl === undefined) {
    const which = unknown.map((name) => quoted(name)).join(', ');
    const message = `Cannot use --engine ${which}: no engine has this name; the engines are ${known.slice(0, 20).join(', ')}`;
    faults.push({ kind: 'value', message });
  }
  return engines;
}

/**
 * The context of Docker's own client: of `DOCKER_CONTEXT`, else of `docker context use`. A container often has the
 * client's config.json for its logins and not its contexts, so a context that is not there is only a warning then.
 */
function contextInUse(
  { values: { dockerContext }, sourceOf }: Parts,
  dockerFolder: string | undefined,
  { faults, warnings }: { readonly faults: Fault[]; readonly warnings: string[] },
): readonly EngineAddress[] {
  const used = dockerContext ?? currentContext(dockerFolder);
  if (used === undefined || used === '' || used === 'default') return [];
  const [read] = readContexts([used], dockerFolder ?? '');
  if (read !== undefined && 'engine' in read) return [read.engine];
  const why = read?.fault ?? 'it is unknown';
  if (dockerContext !== undefined)
    faults.push({ kind: 'value', message: `Cannot use ${sourceOf('dockerContext')}: ${why}` });
  else
    warnings.push(
      `The engine of the usual socket is used, and not the one of "docker context use": ${why}. Set --host or --context to choose`,
    );
  return [];
}

function readHosts({ values, sourceOf }: Parts, faults: Fault[]): readonly EngineAddress[] {
  return values.engineHost.flatMap((text): EngineAddress[] => {
    const read = parseEngineAddress(text);
    if (!('fault' in read)) return [read];
    // A single engine needs no name.
    const host = text.replace(/^[^=:/]*=/, '');
    if (values.engineHost.length === 1 && host === text && read.of === 'name') return [{ name: 'engine', host }];
    const shown = quoted(withoutSecretParts(text), 200);
    faults.push({ kind: 'value', message: `Cannot use ${sourceOf('engineHost')} ${shown}: ${read.fault}` });
    return [];
  });
}

function contextsOf(
  { values: { engineContexts }, sourceOf }: Parts,
  dockerFolder: string | undefined,
  faults: Fault[],
): readonly EngineAddress[] {
  if (engineContexts.length === 0) return [];
  const source = sourceOf('engineContexts');
  if (dockerFolder === undefined && engineContexts.some((name) => name !== 'default')) {
    faults.push({ kind: 'value', message: `Cannot use ${source}: neither HOME nor DOCKER_CONFIG is set` });
    return [];
  }
  return readContexts(engineContexts, dockerFolder ?? '').flatMap((read): EngineAddress[] => {
    if ('engine' in read) return [read.engine];
    faults.push({ kind: 'value', message: `Cannot use ${source}: ${read.fault}` });
    return [];
  });
}

/**
 * Follows Docker's own client: a folder of certificates turns TLS on, and `--tlsverify` verifies the engine's
 * certificate.
 */
export function engineTls(
  { values, sourceOf }: Parts,
  engines: readonly EngineAddress[],
  { dockerFolder, faults }: { readonly dockerFolder: string | undefined; readonly faults: Fault[] },
): (EngineCertificates & { readonly verify: boolean }) | undefined {
  const { engineCertPath, engineTlsVerify } = values;
  const wanted = engines.some(
    ({ host, tls }) =>
      tls === undefined &&
      (host.startsWith('https://') || (host.startsWith('tcp://') && (engineTlsVerify || engineCertPath))),
  );
  if (!wanted) return undefined;
  const folder = engineCertPath ?? (engineTlsVerify ? folderWithCertificates(dockerFolder) : undefined);
  if (folder === undefined) return { verify: true };
  const certificates = readEngineCertificates(sourceOf('engineCertPath'), folder);
  if ('kind' in certificates) {
    faults.push(certificates);
    return undefined;
  }
  return { ...certificates, verify: engineTlsVerify };
}

/** Docker's own client looks in its own folder by default. */
function folderWithCertificates(dockerFolder: string | undefined): string | undefined {
  if (dockerFolder === undefined) return undefined;
  return ['ca.pem', 'cert.pem'].some((file) => existsSync(join(dockerFolder, file))) ? dockerFolder : undefined;
}
/**
 * The variables that `ssh` and its configuration need. All others stay here: commands of its configuration, and
 * `SendEnv`, would hand on tokens and passwords.
 */
export function sshEnvironment(all: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(all).filter(([name]) => passedOn.test(name)));
}

/** For Windows the second line. */
const passedOn = new RegExp(
  [
    '^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|TZ|TMPDIR|LANG|LANGUAGE|LC_[A-Z]+|SSH_AUTH_SOCK|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|KRB5CCNAME|KRB5_CONFIG',
    'SystemRoot|SystemDrive|windir|ComSpec|PATHEXT|TEMP|TMP|USERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|ProgramData)$',
  ].join('|'),
  'i',
);

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
function currentContext(dockerFolder: string | undefined): string | undefined {
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

/**
 * The address of the engine: the configured one, else the first of the usual sockets that exists. Throws
 * `engine-unreachable` when none does.
 */
export function findEngineHost({ host, userRuntimeFolder }: EngineWhere, isSocket = isSocketFile): string {
  if (host !== undefined) return host;
  const candidates = usualSockets(userRuntimeFolder);
  const found = candidates.find(isSocket);
  if (found !== undefined) return `unix://${found}`;
  throw new ServiceError(
    'engine-unreachable',
    `Cannot find a container engine: there is no socket at ${candidates.map((path) => quoted(path)).join(', ')}`,
    {
      remedy:
        'Start Docker or Podman, mount its socket into this container, or set its address with --host or DOCKER_HOST',
    },
  );
}

/** Docker's before Podman's, the system's before the user's. */
function usualSockets(userRuntimeFolder: string | undefined): readonly string[] {
  const user = (name: string) => (userRuntimeFolder === undefined ? [] : [`${userRuntimeFolder}/${name}`]);
  return ['/var/run/docker.sock', ...user('docker.sock'), '/run/podman/podman.sock', ...user('podman/podman.sock')];
}

function isSocketFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  } catch {
    return false;
  }
}

type EngineWhere = {
  /** Undefined: one of the usual sockets. */
  readonly host: string | undefined;
  readonly userRuntimeFolder: string | undefined;
};
