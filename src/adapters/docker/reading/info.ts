import type { EngineInfo } from '../../../domain/outside/engine-reader.ts';
import { normalisePlatform, type Platform } from '../../../domain/reference/platform.ts';
import { printable } from '../../../domain/text/printable.ts';
import { capabilitiesOf } from '../translate/capabilities.ts';
import type { Client } from '../transport/client.ts';
import { maxAnswerBytes, readJson } from '../transport/answer.ts';
import { refusal } from './reads.ts';
import type { EngineVersion } from '../transport/version.ts';
import { fields, text, texts, timeMs } from '../transport/json-fields.ts';
import type { JsonObject } from '../../../domain/text/json-value.ts';

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
