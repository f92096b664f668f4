import type { EngineInfo } from '../../../domain/outside/engine.ts';
import { normalisePlatform, type Platform } from '../../../domain/image/platform.ts';
import { printable } from '../../../domain/text/printable.ts';
import { capabilitiesOf, refusal } from './calls.ts';
import type { Client, EngineVersion, Call } from '../transport/client.ts';
import { maxAnswerBytes, readJson, readAnswer, fields, text, texts, timeMs } from '../transport/answer.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { randomBytes } from 'node:crypto';
import { orAborted } from '../../../domain/concurrency.ts';
import { permissionNames, type PermissionName } from '../../../domain/outside/permission.ts';
import { ServiceError } from '../../../domain/text/errors.ts';

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemInfo */
export async function engineInfo(client: Client, signal?: AbortSignal): Promise<EngineInfo> {
  const version = await client.version(signal);
  const info = await readInfo(client, signal);
  const registries = readRegistries(fields(info['RegistryConfig']));
  return {
    id: printable(text(info['ID']), 100),
    kind: version.kind,
    version: version.product,
    apiVersion: version.apiVersion,
    name: printable(text(info['Name']), 255),
    platform: platformOf(version, text(info['Architecture'])),
    abilities: abilitiesOf(version),
    liveRestore: info['LiveRestoreEnabled'] === true,
    containerReach: reachOf(client, info),
    nowMs: timeMs(info['SystemTime']) || (client.engineNowMs() ?? client.clock.nowMs()),
    ...registries,
    ...pullsThrough(info),
  };
}

/** The engine shows the URLs of its proxies without their passwords. */
function pullsThrough(info: JsonObject): Pick<EngineInfo, 'proxies' | 'dataFolder'> {
  const proxies = [text(info['HttpProxy']), text(info['HttpsProxy'])].filter((url) => url !== '');
  const dataFolder = text(info['DockerRootDir']);
  return { ...(proxies.length > 0 && { proxies }), ...(dataFolder !== '' && { dataFolder }) };
}

/**
 * Empty where a proxy before the engine forbids the call: version and platform are known without it, and the rest is as
 * in an engine without settings.
 */
async function readInfo(client: Client, signal: AbortSignal | undefined): Promise<JsonObject> {
  const doing = 'ask the engine about itself';
  const patience = { for: 'whole', ms: client.deadlines.readMs } as const;
  const reply = await client.send({ method: 'GET', path: '/info', socket: 'shared', patience, signal });
  if (reply.kind === 'ok') return fields(await readJson(reply.body, maxAnswerBytes, doing));
  const { architecture } = await client.version(signal);
  if (!reply.isForbidden || architecture === '') throw refusal(doing, reply);
  return { RegistryConfig: { InsecureRegistryCIDRs: ['127.0.0.0/8', '::1/128'] } };
}

/** A local socket may lead to another machine. Only the engine's own description shows it. */
function reachOf({ isLocal }: Client, info: JsonObject): EngineInfo['containerReach'] {
  if (!isLocal) return 'remote';
  // Other systems run containers in a virtual machine, and so does Docker Desktop on Linux.
  if (process.platform !== 'linux' || text(info['OperatingSystem']) === 'Docker Desktop') return 'virtual-machine';
  return texts(info['SecurityOptions']).some((option) => /^name=rootless\b/.test(option)) ? 'rootless' : 'direct';
}

function abilitiesOf(version: EngineVersion): EngineInfo['abilities'] {
  const { restartPolicies, healthProbes } = capabilitiesOf(version);
  return { changesRestartPolicies: restartPolicies, probesHealth: healthProbes };
}

/**
 * `/version` names the architecture as images do (amd64), `/info` as the machine does (x86_64, armv7l). Only `/info`
 * shows the variant of arm.
 */
function platformOf({ os, architecture }: EngineVersion, machine: string): Platform {
  const fromMachine = normalisePlatform({ os, architecture: machine });
  const fromVersion = normalisePlatform({ os, architecture });
  return architecture === '' || fromMachine.architecture === fromVersion.architecture ? fromMachine : fromVersion;
}

function readRegistries(config: JsonObject): Pick<EngineInfo, 'hubMirrors' | 'insecureRegistries'> {
  const indexes = fields(config['IndexConfigs']);
  const insecureHosts = Object.keys(indexes).filter((host) => fields(indexes[host])['Secure'] === false);
  const mirrors = [...texts(config['Mirrors']), ...texts(fields(indexes['docker.io'])['Mirrors'])];
  return {
    hubMirrors: unique(mirrors.map((mirror) => baseUrl(mirror, insecureHosts))),
    insecureRegistries: unique([...texts(config['InsecureRegistryCIDRs']), ...insecureHosts]),
  };
}

/** Podman names a mirror by its host only. */
function baseUrl(mirror: string, insecureHosts: readonly string[]): string {
  if (/^https?:\/\//.test(mirror)) return mirror;
  return `${insecureHosts.includes(mirror) ? 'http' : 'https'}://${mirror}`;
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)];
}

/** The forbidden calls of an update, in its order. Throws a `ServiceError` when the engine cannot be asked. */
type AskPermissions = (signal?: AbortSignal) => Promise<readonly PermissionName[]>;

/**
 * Finds out which calls are forbidden, without a change: each is made once about an object that cannot exist. The
 * engine answers that there is none, a proxy before it that the call is forbidden. A result without forbidden calls is
 * remembered for an hour, any other one for seconds, so that a grant is noticed at once.
 */
export function createPermissions(client: Client): AskPermissions {
  const { clock } = client;
  let last: { readonly asked: Promise<readonly PermissionName[]>; untilMs: number } | undefined;

  async function ask(): Promise<readonly PermissionName[]> {
    const version = await client.version().catch(unlessDenied);
    const send = version === undefined ? client.sendUnversioned : client.send;
    const hasPolicies = version === undefined || capabilitiesOf(version).restartPolicies;
    const wanted = permissionNames.filter((name) => name !== 'policy' || hasPolicies);
    const id = `${absentIdStart}${randomBytes(16).toString('hex')}`;
    const answers = await Promise.all(wanted.map((name) => isForbidden(client, send, trials[name](id))));
    return wanted.filter((_, place) => answers[place]);
  }

  return (signal) => {
    if (last === undefined || clock.monotonicMs() >= last.untilMs) {
      const mine = { asked: ask(), untilMs: Infinity };
      last = mine;
      const keepFor = (ms: number) => void (mine.untilMs = clock.monotonicMs() + ms);
      mine.asked.then(
        (forbidden) => keepFor(forbidden.length === 0 ? permittedForMs : forbiddenForMs),
        () => keepFor(0),
      );
    }
    return orAborted(last.asked, signal);
  };
}

/** A change of a proxy's settings restarts it. */
const permittedForMs = 3_600_000;
/** One run asks once. */
const forbiddenForMs = 5_000;

/** Nobody can guess the other half, and create a container with this name. */
const absentIdStart = '0'.repeat(32);

/** An engine that may not be asked for its version can still be asked for the rest. */
function unlessDenied(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
}

async function isForbidden({ deadlines }: Client, send: Client['send'], trial: ReturnType<Trial>): Promise<boolean> {
  const patience = { for: 'whole', ms: deadlines.readMs } as const;
  const reply = await send({ ...trial, socket: 'shared', patience });
  if (reply.kind === 'error') return reply.isForbidden;
  await readAnswer(reply.body);
  return false;
}

type Trial = (id: string) => Pick<Call, 'method' | 'path' | 'query' | 'body'>;

const get = (path: string, query?: Record<string, string>) =>
  ({ method: 'GET', path, ...(query && { query }) }) as const;
const post = (path: string, more: Partial<Pick<Call, 'query' | 'body'>> = {}) =>
  ({ method: 'POST', path, ...more }) as const;
const remove = (path: string, query: Record<string, string>) => ({ method: 'DELETE', path, query }) as const;

const trials: Readonly<Record<PermissionName, Trial>> = {
  containers: (id) => get('/containers/json', { filters: JSON.stringify({ id: [id] }) }),
  inspect: (id) => get(`/containers/${id}/json`),
  images: () => get('/images/json', { filters: JSON.stringify({ reference: ['upkeep-absent:none'] }) }),
  inspectImage: (id) => get(`/images/sha256:${id}/json`),
  networks: (id) => get('/networks', { filters: JSON.stringify({ id: [id] }) }),
  // An invalid name, so that no registry is asked.
  pull: () => post('/images/create', { query: { fromImage: '-', tag: '-' } }),
  tag: (id) => post(`/images/sha256:${id}/tag`, { query: { repo: 'upkeep-absent', tag: 'none' } }),
  create: (id) => post('/containers/create', { query: { name: id }, body: { Image: `sha256:${id}` } }),
  connect: (id) => post(`/networks/${id}/connect`, { body: { Container: id } }),
  rename: (id) => post(`/containers/${id}/rename`, { query: { name: id } }),
  policy: (id) => post(`/containers/${id}/update`, { body: { RestartPolicy: { Name: 'no' } } }),
  stop: (id) => post(`/containers/${id}/stop`),
  start: (id) => post(`/containers/${id}/start`),
  wait: (id) => post(`/containers/${id}/wait`),
  logs: (id) => get(`/containers/${id}/logs`, { stdout: '1', tail: '1' }),
  info: () => get('/info'),
  // A second in 1970.
  events: () => get('/events', { since: '1', until: '2' }),
  remove: (id) => remove(`/containers/${id}`, { force: '0', v: '0' }),
  untag: (id) => remove(`/images/upkeep-absent:${id}`, { force: '0' }),
};
