import { constants } from 'node:os';
import { cleanPath } from '../../../domain/container/recipe/volumes/anonymous-volumes.ts';
import { count, fields, text, texts } from '../transport/json-fields.ts';
import { type JsonObject, arrayOf } from '../../../domain/text/json-value.ts';
import type { CommandLine } from './command-line.ts';

/** Podman's name for Docker's `bridge` in inspections. */
export const defaultNetwork = 'podman';

/** Converts an inspection into Docker's form, without Podman's additions. */
export function inDockerForm(
  inspected: JsonObject,
  { addresses, hostName }: { readonly addresses: CommandLine['addresses']; readonly hostName: string },
): JsonObject {
  const hostConfig = fields(inspected['HostConfig']);
  const networks = networksOf(inspected, text(hostConfig['NetworkMode']), addresses);
  return {
    ...inspected,
    State: stateOf(fields(inspected['State']), fields(hostConfig['RestartPolicy'])),
    Config: configOf(fields(inspected['Config']), hostName),
    HostConfig: hostConfigOf(hostConfig, Object.keys(networks)),
    Mounts: arrayOf(inspected['Mounts']).map((mount) => ({
      ...fields(mount),
      Destination: cleanPath(text(fields(mount)['Destination'])),
    })),
    NetworkSettings: { ...fields(inspected['NetworkSettings']), Networks: networks },
  };
}

/** `stopped` lasts from the exit until Podman's cleanup, which also applies the restart policy. */
function stateOf(state: JsonObject, policy: JsonObject): JsonObject {
  const name = text(policy['Name']);
  const failed = count(state['ExitCode']) !== 0;
  const startsAgain = name === 'always' || name === 'unless-stopped' || (name === 'on-failure' && failed);
  return state['Status'] === 'stopped' && startsAgain ? { ...state, Status: 'restarting' } : state;
}

function configOf(config: JsonObject, hostName: string): JsonObject {
  // Podman does not show the volumes that an image declares.
  const { Entrypoint, StopTimeout, Volumes: _none, ...rest } = config;
  return {
    ...rest,
    Env: ownLines(config, hostName),
    Entrypoint: texts(Entrypoint).length === 0 ? null : Entrypoint,
    ...(texts(fields(config['Healthcheck'])['Test'])[0] === 'NONE' && { Healthcheck: { Test: ['NONE'] } }),
    StopSignal: signalName(text(config['StopSignal'])),
    // Podman shows a missing timeout as 0, which would mean an immediate kill.
    ...(count(StopTimeout) > 0 && { StopTimeout }),
  };
}

/**
 * The environment without Podman's additions, some of which come with the first start:
 * https://docs.podman.io/en/v4.3/markdown/podman-run.1.html#environment
 */
function ownLines({ Env, Hostname }: JsonObject, hostName: string): readonly string[] {
  const hostNames = [text(Hostname), hostName].map((name) => `HOSTNAME=${name}`);
  const added = new Set(['container=podman', 'TERM=xterm', 'HOME=/', 'HOME=/root', ...hostNames]);
  return texts(Env).filter((line) => !added.has(line));
}

/** `15` becomes `SIGTERM`. */
function signalName(signal: string): string {
  return Object.entries(constants.signals).find(([, number]) => String(number) === signal)?.[0] ?? signal;
}

function hostConfigOf(hostConfig: JsonObject, networks: readonly string[]): JsonObject {
  const { NetworkMode, PidMode, UTSMode, Runtime, PortBindings, Ulimits, Devices } = hostConfig;
  const bound = Object.entries(fields(PortBindings)).filter(([, bindings]) => bindings !== null);
  return {
    ...hostConfig,
    NetworkMode: NetworkMode === 'bridge' ? (networks[0] ?? NetworkMode) : NetworkMode,
    PidMode: PidMode === 'private' ? '' : PidMode,
    UTSMode: UTSMode === 'private' ? '' : UTSMode,
    Runtime: Runtime === 'oci' ? '' : Runtime,
    PortBindings: Object.fromEntries(bound),
    // Anonymous volumes are listed among the mounts too.
    Binds: texts(hostConfig['Binds']).filter((bind) => !/^[0-9a-f]{64}:/.test(bind)),
    Ulimits: arrayOf(Ulimits).map((limit) => ({ ...fields(limit), Name: ulimitName(text(fields(limit)['Name'])) })),
    Devices: arrayOf(Devices).map((device) => ({
      ...fields(device),
      CgroupPermissions: text(fields(device)['CgroupPermissions']) || 'rwm',
    })),
  };
}

/** `RLIMIT_NOFILE` becomes `nofile`. */
function ulimitName(name: string): string {
  return name.replace(/^RLIMIT_/, '').toLowerCase();
}

/** The networks, the default network first. Podman gives a network's name as its id. */
function networksOf(inspected: JsonObject, mode: string, addresses: CommandLine['addresses']): JsonObject {
  if (mode !== 'bridge') return {};
  const networks = Object.entries(fields(fields(inspected['NetworkSettings'])['Networks']));
  const isDefault = (name: string) => Number(name === defaultNetwork);
  const sorted = networks.toSorted(([one], [other]) => isDefault(other) - isDefault(one));
  return Object.fromEntries(
    sorted.map(([podmansName, endpoint], index) => {
      const name = podmansName === defaultNetwork ? 'bridge' : podmansName;
      const chosen = addresses.get(name) ?? addresses.get(podmansName) ?? (index === 0 ? addresses.get('') : undefined);
      return [name, { ...fields(endpoint), NetworkID: '', ...(chosen !== undefined && { IPAMConfig: chosen }) }];
    }),
  );
}
