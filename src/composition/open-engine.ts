import { join } from 'node:path';
import { defined } from '../domain/text/plain-data.ts';
import type { DockerEngine, DockerEngineOptions } from '../adapters/docker/engine.ts';
import type { TlsFiles } from '../adapters/docker/transport/connection.ts';
import { readNamedFile } from '../config/read/secrets.ts';
import type { Settings } from '../config/read/process-settings.ts';
import { ServiceError } from '../domain/text/errors.ts';
import type { EngineAddress } from '../domain/engine-address.ts';
import type { ComposeFiles, Engine, Outside, Units } from '../domain/outside/outside.ts';
import type { ProcessContext } from './process-context.ts';
import type { EngineInfo } from '../domain/outside/engine.ts';
import type { NotesService } from '../application/check/notes.ts';
import type { Forges } from '../domain/notes/notes.ts';
import type { Registry } from '../domain/outside/registry.ts';

/** An engine, and its name if there are several. */
export type NamedEngine = { readonly name: string | undefined; readonly engine: Engine };

/**
 * One of several engines, with its own TLS files or the shared ones. It connects with the first call. Retries of
 * unreachable engines are spread evenly over each minute, in configured order.
 */
export function openEngine(
  address: EngineAddress,
  settings: Settings,
  context: Context,
  isReader: boolean,
): Promise<DockerEngine> {
  const { engines } = settings.engine;
  return connect({ host: address.host, tls: tlsOf(address, settings.engine) }, settings, context, {
    ...(isReader && ofReader),
    maxRetryMs: 60_000,
    retryPhase: engines.indexOf(address) / engines.length,
  });
}

/** The only engine: the configured one, else one of the usual sockets. */
export async function openOnlyEngine(settings: Settings, context: Context, isReader = false): Promise<DockerEngine> {
  const { findEngineHost } = await import('../config/read/engines.ts');
  const { engine } = settings;
  const [only] = engine.engines;
  const tls = only?.tls === undefined ? engine.tls : tlsOf(only, engine);
  return connect({ host: findEngineHost(engine), tls }, settings, context, isReader ? ofReader : {});
}

/** A command that changes nothing has a person who waits for it. */
const ofReader = { deadlines: { readMs: 20_000 } } as const;

type Context = Pick<ProcessContext, 'clock' | 'log'>;

async function connect(
  { host, tls }: { readonly host: string; readonly tls: TlsFiles | undefined },
  { engine: { apiVersion }, service }: Settings,
  { clock, log }: Context,
  limits: Pick<DockerEngineOptions, 'deadlines' | 'maxRetryMs' | 'retryPhase'>,
): Promise<DockerEngine> {
  const { createDockerEngine } = await import('../adapters/docker/engine.ts');
  const { sshEnvironment } = await import('../config/read/engines.ts');
  const options = { ...defined({ apiVersion, tls }), followsServices: service.swarm, ...limits };
  return createDockerEngine({ host, clock, log, sshEnvironment: sshEnvironment(), ...options });
}

/** The address without user, password and query, for logs and answers. */
export function shownAddress({ host }: EngineAddress): string {
  if (host.startsWith('unix:') || !URL.canParse(host)) return host;
  const { protocol, host: where } = new URL(host);
  return `${protocol}//${where}`;
}

/** The TLS files of this engine, or else the shared ones. */
function tlsOf(
  { host, name, tls }: EngineAddress,
  { tls: forAll, tlsForTcp }: Settings['engine'],
): TlsFiles | undefined {
  if (tls === undefined)
    return host.startsWith('https://') || (host.startsWith('tcp://') && tlsForTcp) ? forAll : undefined;
  const files: { ca?: Buffer; cert?: Buffer; key?: Buffer } = {};
  for (const part of ['ca', 'cert', 'key'] as const) {
    const path = tls[part];
    if (path === undefined) continue;
    const read = readNamedFile(`the TLS settings of the engine ${name}`, path);
    if (read.kind === 'fault') throw new ServiceError('invalid-input', read.fault.message);
    files[part] = read.value;
  }
  return { ...files, verify: tls.verify };
}

/** Reads a list of an engine's info, or joins those of several engines. */
type AskEngine = (read: (info: EngineInfo) => readonly string[], signal?: AbortSignal) => Promise<readonly string[]>;

/** The client of all registries, with the mirrors and the insecure registries of the engine. */
export async function openRegistry(
  { registry, state: { folder } }: Settings,
  { clock, log, program }: Omit<ProcessContext, 'terminal'>,
  ask: AskEngine,
): Promise<Registry> {
  const { createOciRegistry } = await import('../adapters/oci/registry.ts');
  return createOciRegistry({
    clock,
    log,
    version: program.version,
    ...registry,
    listings: folder === undefined ? undefined : (await import('./memory.ts')).openListings(folder, { log }),
    hubMirrors: (signal) => ask(({ hubMirrors }) => hubMirrors, signal),
    insecureRegistries: (signal) => ask(({ insecureRegistries }) => insecureRegistries, signal),
    prefersPodman: async () =>
      !registry.isDockerConfigChosen &&
      (await ask(({ kind }) => (kind === 'podman' ? [kind] : [])).catch(() => [])).length > 0,
  });
}

/**
 * The release notes of newer versions, for all engines. The client of forges is loaded with its first question. A
 * command that ends shows what an earlier process has read.
 */
export async function openNotes(
  { notes: { hosts, tokens }, registry, state: { folder } }: Settings,
  { clock, log, program }: Omit<ProcessContext, 'terminal'>,
  isService: boolean,
): Promise<NotesService> {
  const { createNotes } = await import('../application/check/notes.ts');
  const store = folder === undefined ? undefined : (await import('./memory.ts')).openStoredNotes(folder, { log });
  let opened: Promise<Forges> | undefined;
  const requests = new Map<string, number>();
  const onRequest = (host: string, result: string): void => {
    const key = `${host} ${result}`;
    requests.set(key, (requests.get(key) ?? 0) + 1);
  };
  const open = async () => {
    const { createForges } = await import('../adapters/forge/forges.ts');
    const { proxy, tlsMinVersion, extraCa, systemTrust } = registry;
    const trust = { tlsMinVersion, extraCa, systemTrust };
    return createForges({ clock, log, onRequest, tokens, version: program.version, proxy, trust });
  };
  const forges: Forges = {
    read: async (question, signal) => (await (opened ??= open())).read(question, signal),
    close: async () => (await opened)?.close(),
  };
  return { ...createNotes({ forges, hosts, clock, log, store, isService }), requests };
}

/**
 * The compose files of the containers of an engine. They are on its machine, so only those of an engine behind a local
 * socket are read, and, where Upkeep runs in a container, only those of the engine that runs it.
 */
export async function openComposeFilesOf(
  engine: Pick<DockerEngine, 'route' | 'inspectContainer'>,
  { compose: { mode, roots }, state: { folder } }: Settings,
  { log }: Pick<ProcessContext, 'log'>,
): Promise<Pick<Outside, 'composeFiles'>> {
  if (mode === 'off') return {};
  if (engine.route().kind !== 'socket') {
    log.warn('--compose-files has no effect: the engine is on another machine');
    return {};
  }
  const { openComposeFiles } = await import('../adapters/files/compose-files.ts');
  const { ownContainerId } = await import('../adapters/process/instance.ts');
  if (mode === 'write' && folder === undefined)
    log.warn('Without --state-dir no later start finishes an interrupted change of a compose file');
  const copies = folder === undefined ? undefined : join(folder, 'compose-copies');
  const open = (mounts: readonly Mount[]) =>
    openComposeFiles({
      roots: roots.map(({ named, seen }) => ({ named, seen: seen ?? mountedAt(named, mounts) })),
      writes: mode === 'write',
      copies,
    });
  const containerId = ownContainerId();
  if (containerId === undefined) return { composeFiles: open([]) };
  let found: ComposeFiles | undefined;
  // The engine may be unreachable at the start.
  async function find(): Promise<ComposeFiles | undefined> {
    if (found !== undefined || containerId === undefined) return found;
    const own = await engine.inspectContainer(containerId).catch(() => undefined);
    return own && (found = open(own.settings.Mounts.filter(({ Type }) => Type === 'bind')));
  }
  const composeFiles: ComposeFiles = {
    compare: async (questions, signal) => (await find())?.compare(questions, signal) ?? new Map(),
    ...(mode === 'write' && {
      write: async (order) => (await find())?.write?.(order) ?? { state: 'refused', reason: 'outside-roots' },
    }),
  };
  return { composeFiles };
}

/**
 * The units of systemd beside a Podman behind a local socket. Without the program in a container, and without a folder
 * for records, an update could not be taken back after a crash.
 */
export function openUnitsOf(
  engine: Pick<DockerEngine, 'route'>,
  { compose: { mode, roots }, state: { folder } }: Settings,
): Required<Pick<Outside, 'units'>> {
  let opened: Promise<Units> | undefined;
  async function open(): Promise<Units> {
    const { openUnits } = await import('../adapters/files/units.ts');
    const { ownContainerId } = await import('../adapters/process/instance.ts');
    const { sshEnvironment } = await import('../config/read/engines.ts');
    const route = engine.route();
    return openUnits({
      isInContainer: ownContainerId() !== undefined,
      socket: route.kind === 'socket' ? route.path : undefined,
      environment: sshEnvironment(),
      stateFolder: folder,
      roots: mode === 'write' ? roots.map(({ named, seen }) => ({ named, seen: seen ?? named })) : undefined,
    });
  }
  const ask = () => (opened ??= open());
  return {
    units: {
      read: async (name) => (await ask()).read(name),
      activeState: async (name) => (await ask()).activeState(name),
      restart: async (name) => (await ask()).restart(name),
      write: async (order) => (await ask()).write(order),
    },
  };
}

type Mount = { readonly Source?: string | undefined; readonly Destination?: string | undefined };

/** Where a folder of the host is in our own container: below the mount with the longest path. */
function mountedAt(folder: string, mounts: readonly Mount[]): string {
  const above = mounts.flatMap(({ Source = '', Destination = '' }) => {
    const source = Source.replace(/\/+$/, '');
    return folder === source || folder.startsWith(`${source}/`) ? [{ source, Destination }] : [];
  });
  const [nearest] = above.sort((one, other) => other.source.length - one.source.length);
  return nearest === undefined ? folder : nearest.Destination.replace(/\/+$/, '') + folder.slice(nearest.source.length);
}
