import { catalogue } from '../../lab/catalogue.ts';
import type { EngineClient } from '../../lab/engine-client.ts';
import type { ImageConfig, ImageSpec } from '../../lab/image.ts';

/** A kind of container, or a group of them, and a new version of its image, good or bad. */
export type Shape = {
  readonly name: string;
  readonly old: ImageSpec;
  readonly next: ImageSpec;
  /** Whether the new version is one that may stay. */
  readonly good: boolean;
  /** The containers that must exist in the end, and whether they run. */
  readonly containers: Readonly<Record<string, 'running' | 'stopped'>>;
  /** More flags for the updater. */
  readonly flags?: readonly string[];
  /** Sets the scene, from an image that is pulled already; `address` is a loopback address of the engine's own. */
  readonly scene: (engine: EngineClient, image: string, address: string) => Promise<void>;
};

/** Stops in a second at most, so that a run does not wait long for a stop that may be in flight. */
const base = { StopTimeout: 1 };

function restart(Name: string, MaximumRetryCount = 0): { readonly RestartPolicy: object } {
  return { RestartPolicy: { Name, MaximumRetryCount } };
}

/** Old or new, told apart by the version alone. */
function plain(version: 'v1' | 'v2', config: ImageConfig = {}): ImageSpec {
  const spec = catalogue[`plain-${version}`];
  return { ...spec, config: { ...spec.config, ...config } };
}

const simple = { old: plain('v1'), next: plain('v2'), good: true, containers: { web: 'running' } } as const;

export const shapes: readonly Shape[] = [
  {
    ...simple,
    name: 'a published port, unless-stopped',
    scene: async (engine, image, address) => {
      const HostConfig = {
        ...restart('unless-stopped'),
        PortBindings: { '8080/tcp': [{ HostIp: address, HostPort: '18080' }] },
      };
      await engine.run('web', image, { ...base, HostConfig });
    },
  },
  {
    ...simple,
    name: 'always, a named and an anonymous volume',
    scene: async (engine, image) => {
      await engine.run('web', image, {
        ...base,
        Volumes: { '/scratch': {} },
        HostConfig: { ...restart('always'), Binds: ['kept:/data'] },
      });
    },
  },
  {
    ...simple,
    name: 'no restart policy, two networks, a static address and aliases',
    scene: async (engine, image) => {
      await engine.call('POST', '/networks/create', { Name: 'front', IPAM: { Config: [{ Subnet: '10.99.0.0/24' }] } });
      await engine.call('POST', '/networks/create', { Name: 'back' });
      const id = await engine.create('web', image, {
        ...base,
        HostConfig: { NetworkMode: 'front' },
        NetworkingConfig: {
          EndpointsConfig: { front: { IPAMConfig: { IPv4Address: '10.99.0.10' }, Aliases: ['www'] } },
        },
      });
      await engine.call('POST', '/networks/back/connect', { Container: id, EndpointConfig: { Aliases: ['inner'] } });
      await engine.call('POST', `/containers/${id}/start`);
    },
  },
  {
    ...simple,
    name: 'on-failure, the new version ends at once',
    next: catalogue.crash,
    good: false,
    scene: async (engine, image) => {
      await engine.run('web', image, { ...base, HostConfig: { ...restart('on-failure', 3), Binds: ['kept:/data'] } });
    },
  },
  {
    ...simple,
    name: 'unless-stopped, the new version is never healthy',
    old: catalogue.v1,
    next: catalogue.sick,
    good: false,
    scene: async (engine, image) => {
      await engine.run('web', image, { ...base, HostConfig: restart('unless-stopped') });
    },
  },
  {
    ...simple,
    name: 'stopped, included on request',
    containers: { web: 'stopped' },
    flags: ['--include-stopped'],
    scene: async (engine, image) => {
      await engine.create('web', image, { ...base, HostConfig: restart('unless-stopped') });
    },
  },
  {
    ...simple,
    name: 'a group of two: one lives in the network namespace of the other',
    containers: { vpn: 'running', app: 'running' },
    scene: async (engine, image) => {
      await engine.run('vpn', image, { ...base, HostConfig: restart('unless-stopped') });
      await engine.run('app', image, {
        ...base,
        Cmd: ['sleep', '1000000'],
        HostConfig: { ...restart('unless-stopped'), NetworkMode: 'container:vpn' },
      });
    },
  },
];
