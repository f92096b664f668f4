import type { DockerEngine } from '../adapters/docker/engine.ts';
import type { TlsFiles } from '../adapters/docker/transport/connection.ts';
import { readNamedFile } from '../config/given/secrets.ts';
import type { Settings } from '../config/read/settings.ts';
import { ServiceError } from '../domain/errors.ts';
import type { EngineAddress } from '../domain/fleet/engine-address.ts';
import type { EngineInfo, EngineReader } from '../domain/outside/engine-reader.ts';
import type { Clock } from '../domain/outside/outside.ts';
import type { Surroundings } from './surroundings.ts';

/** One of several engines, with its own TLS files or those for all. It connects with the first call. */
export async function openEngine(
  address: EngineAddress,
  { engine: settings, service }: Settings,
  { clock, log }: Pick<Surroundings, 'clock' | 'log'>,
): Promise<DockerEngine> {
  const { createDockerEngine } = await import('../adapters/docker/engine.ts');
  const { apiVersion } = settings;
  const tls = tlsOf(address, settings);
  return createDockerEngine({
    ...{ host: address.host, clock, log },
    ...(apiVersion !== undefined && { apiVersion }),
    ...(tls && { tls }),
    followsServices: service.swarm,
    longestRetryMs: 60_000,
  });
}

/** As it may be shown: without a user, a password and a query. */
export function shownAddress({ host }: EngineAddress): string {
  if (host.startsWith('unix:') || !URL.canParse(host)) return host;
  const { protocol, host: where } = new URL(host);
  return `${protocol}//${where}`;
}

/** Its own TLS files, or those for all. */
export function tlsOf(
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
    files[part] = read.content;
  }
  return { ...files, verify: tls.verify };
}

/** What engines say, of those that answer within 5 s: one that is away must not keep the registries from the others. */
export async function answersOf(
  engines: readonly Pick<EngineReader, 'info'>[],
  read: (info: EngineInfo) => readonly string[],
  clock: Clock,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const answered = new AbortController();
  const late = clock.sleep(patienceMs, answered.signal).catch(() => undefined);
  const stop = new AbortController();
  const either = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const found = new Set<string>();
  const asked = engines.map(async (engine) => {
    try {
      for (const one of read(await engine.info(either))) found.add(one);
    } catch {
      // One that does not answer has nothing to say here; its own run tells why.
    }
  });
  await Promise.race([Promise.all(asked), late]);
  answered.abort();
  stop.abort();
  return [...found];
}

const patienceMs = 5000;
