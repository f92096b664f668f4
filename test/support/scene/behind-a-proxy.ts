import type { EngineClient } from '../../lab/engine/engine-client.ts';
import type { ImageConfig, ImageSpec } from '../../lab/registry/image.ts';
import { pushImage, type Pushed, type PushTarget } from '../../lab/registry/push.ts';
import { markVariable, nodeMounts, socketProxyImage, upkeepImage } from './upkeep-in-a-container.ts';

export type BehindProxy = {
  /** The ids of the old containers. */
  readonly door: string;
  readonly upkeep: string;
  readonly oldDoor: Pushed;
  readonly nextDoor: Pushed;
};

type ProxyPart = { readonly config?: ImageConfig; readonly host?: object; readonly binds?: readonly string[] };

export type ProxyOptions = {
  /** The path of the engine's socket for the proxy. */
  readonly socket: string;
  readonly repository: string;
  /** The new version of the proxy. */
  readonly next: ImageSpec;
  /** Settings of the proxy and of Upkeep, beside those of this scene. */
  readonly door?: ProxyPart;
  readonly upkeep?: ProxyPart;
  /** The name of the proxy. */
  readonly name?: string;
  /** The new version of Upkeep; absent: there is none. */
  readonly nextUpkeep?: ImageSpec;
  /** The address of the engine for Upkeep. */
  readonly address?: string;
  /** Containers without the socket between Upkeep and the proxy, by name. Their images have moved too. */
  readonly between?: Readonly<Record<string, ProxyPart>>;
  readonly env?: readonly string[];
  readonly cmd?: readonly string[];
};

/**
 * Starts Upkeep as `upkeep` in the network `control`, where it reaches the engine through `socket-proxy` alone, whose tag
 * has moved. It updates at once.
 */
export async function startBehindProxy(
  { engine, registry }: { readonly engine: EngineClient; readonly registry: PushTarget & { readonly host: string } },
  given: ProxyOptions,
): Promise<BehindProxy> {
  const { socket, repository, next, nextUpkeep, door, upkeep, name: doorName = 'socket-proxy' } = given;
  const { address = `tcp://${doorName}:2375`, between = {}, env = [], cmd = [] } = given;
  const pulled = async (name: string, spec: ImageSpec) => {
    const pushed = await pushImage(registry, `${repository}-${name}`, 'stable', spec);
    const image = `${registry.host}/${repository}-${name}:stable`;
    await engine.pull(image);
    return { image, pushed };
  };
  await engine.call('POST', '/networks/create', { Name: 'control' });
  const proxy = await pulled('door', socketProxyImage('v1'));
  const own = await pulled('upkeep', upkeepImage('v1'));
  const RestartPolicy = { Name: 'unless-stopped', MaximumRetryCount: 0 };
  const doorId = await engine.run(doorName, proxy.image, {
    StopTimeout: 1,
    ...door?.config,
    HostConfig: {
      NetworkMode: 'control',
      RestartPolicy,
      ...door?.host,
      Binds: [...nodeMounts, `${socket}:/var/run/docker.sock`, ...(door?.binds ?? [])],
    },
  });
  for (const [name, { config, host, binds = [] }] of Object.entries(between)) {
    const { image } = await pulled(name, socketProxyImage('v1'));
    const HostConfig = { NetworkMode: 'control', RestartPolicy, ...host, Binds: [...nodeMounts, ...binds] };
    await engine.run(name, image, { StopTimeout: 1, ...config, HostConfig });
    await pushImage(registry, `${repository}-${name}`, 'stable', socketProxyImage('v2'));
  }
  const nextDoor = await pushImage(registry, `${repository}-door`, 'stable', next);
  if (nextUpkeep !== undefined) await pushImage(registry, `${repository}-upkeep`, 'stable', nextUpkeep);
  const upkeepId = await engine.run('upkeep', own.image, {
    Cmd: ['run', '--update-on-start', '--health-window', '1s', '--log-format', 'logfmt', ...cmd],
    Env: [
      'PATH=/usr/bin:/bin',
      `${markVariable}=${repository}`,
      'UPKEEP_INTERVAL=1h',
      `DOCKER_HOST=${address}`,
      ...env,
    ],
    StopTimeout: 1,
    ...upkeep?.config,
    HostConfig: {
      NetworkMode: 'control',
      RestartPolicy,
      ...upkeep?.host,
      Binds: [...nodeMounts, ...(upkeep?.binds ?? [])],
    },
  });
  return { door: doorId, upkeep: upkeepId, oldDoor: proxy.pushed, nextDoor };
}
