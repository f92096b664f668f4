import { catalogue } from '../../lab/registry/catalogue.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import type { ImageConfig, ImageSpec } from '../../lab/registry/image.ts';
import { tar } from '../../lab/registry/tar.ts';

/** A kind of container, or a group of them, and a new version of its image, good or bad. */
export type Shape = {
  readonly name: string;
  readonly old: ImageSpec;
  readonly next: ImageSpec;
  /** Whether the new version may stay. */
  readonly good: boolean;
  /** The containers that must exist at the end, and whether they run. */
  readonly containers: Readonly<Record<string, 'running' | 'stopped'>>;
  /** `--rm`: the restored container is a copy. */
  readonly selfRemoving?: boolean;
  /** Other programs may remove it, so that only a copy can be restored. */
  readonly mayBeCopied?: boolean;
  /** Old and new run at once for a while. */
  readonly overlaps?: boolean;
  /** Each has its own update, so that one may be new while another is still old. */
  readonly apart?: boolean;
  /** True if the replaced container is kept, stopped, under its own name. */
  readonly keeps?: boolean;
  /** The first major version of Docker that can create it. */
  readonly since?: number;
  /** More errors at the end, about what only this shape has. `isNew`: the new version has stayed. */
  readonly wrongAtTheEnd?: (engine: EngineClient, isNew: boolean) => Promise<readonly string[]>;
  /** More flags for the updater. */
  readonly flags?: readonly string[];
  /** Creates the scene from a pulled image; `address` is a loopback address of this engine. */
  readonly scene: (engine: EngineClient, image: string, address: string) => Promise<void>;
};

/** Stops within a second, so that a run does not wait long for a stop in flight. */
const base = { StopTimeout: 1 };

function restart(Name: string, MaximumRetryCount = 0): { readonly RestartPolicy: object } {
  return { RestartPolicy: { Name, MaximumRetryCount } };
}

/** The old or the new container, recognised by the version. */
function plain(version: 'v1' | 'v2', config: ImageConfig = {}): ImageSpec {
  const spec = catalogue[`plain-${version}`];
  return { ...spec, config: { ...spec.config, ...config } };
}

/** A single running container. */
function web(HostConfig: object): Shape['scene'] {
  return async (engine, image) => {
    await engine.run('web', image, { ...base, HostConfig });
  };
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
    scene: web({ ...restart('on-failure', 3), Binds: ['kept:/data'] }),
  },
  {
    ...simple,
    name: 'unless-stopped, the new version is never healthy',
    old: catalogue.v1,
    next: catalogue.sick,
    good: false,
    flags: ['--health-timeout', '3s'],
    scene: web(restart('unless-stopped')),
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
    name: 'removes itself (--rm), with a port and an anonymous volume',
    selfRemoving: true,
    flags: ['--update-auto-remove'],
    scene: async (engine, image, address) => {
      const HostConfig = { AutoRemove: true, PortBindings: { '8080/tcp': [{ HostIp: address, HostPort: '18081' }] } };
      await engine.run('web', image, { ...base, Volumes: { '/scratch': {} }, HostConfig });
    },
  },
  {
    ...simple,
    name: 'removes itself, the new version ends at once',
    next: catalogue.crash,
    good: false,
    selfRemoving: true,
    flags: ['--update-auto-remove'],
    scene: async (engine, image) => {
      await engine.run('web', image, { ...base, Volumes: { '/scratch': {} }, HostConfig: { AutoRemove: true } });
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

const loopback = (address: string, port: string) => ({ HostIp: address, HostPort: port });

/** The configuration is in a folder that the image does not have. Compose writes with the time of the moment. */
function composeFiles(): Uint8Array {
  const mtime = Math.floor(Date.now() / 1000);
  return tar([
    { path: 'shop', mtime },
    { path: 'shop/app.conf', content: 'hello', mode: 0o640, mtime },
    { path: 'secret', content: 'swordfish', mode: 0o400, mtime },
  ]);
}

/** A container that ends at once without its files. */
async function needingFiles(engine: EngineClient, image: string, HostConfig: object): Promise<void> {
  const needed = 'grep -qx hello /etc/shop/app.conf && grep -qx swordfish /etc/secret || exit 9';
  const id = await engine.create('web', image, {
    ...base,
    Entrypoint: ['sh', '-c', `${needed}; trap 'exit 0' TERM; sleep 1000000 & wait $!`],
    HostConfig,
  });
  await engine.putFiles(id, '/etc', composeFiles());
  await engine.call('POST', `/containers/${id}/start`);
}

/** Shapes of the full campaigns only. */
export const moreShapes: readonly Shape[] = [
  {
    ...simple,
    name: 'kept after its update, always, a named volume',
    keeps: true,
    flags: ['--keep-old', '1h'],
    scene: web({ ...restart('always'), Binds: ['kept:/data'] }),
  },
  {
    ...simple,
    name: 'unless-stopped, started before the old one is stopped',
    overlaps: true,
    flags: ['--start-first'],
    scene: web(restart('unless-stopped')),
  },
  {
    ...simple,
    name: 'always, the new version ends at once',
    next: catalogue.crash,
    good: false,
    scene: web(restart('always')),
  },
  {
    ...simple,
    name: 'without a policy, the new version cannot start',
    next: catalogue.unstartable,
    good: false,
    scene: web({ Binds: ['kept:/data'] }),
  },
  {
    ...simple,
    name: 'with a HEALTHCHECK that passes, on-failure',
    old: catalogue.v1,
    next: catalogue.v2,
    scene: web(restart('on-failure', 3)),
  },
  {
    ...simple,
    name: 'ignores SIGTERM',
    old: catalogue.deaf,
    scene: web(restart('unless-stopped')),
  },
  {
    ...simple,
    name: 'ignores SIGTERM, the new version ends at once',
    old: catalogue.deaf,
    next: catalogue.crash,
    good: false,
    scene: web(restart('always')),
  },
  {
    ...simple,
    name: 'host network',
    scene: async (engine, image) => {
      await engine.run('web', image, {
        ...base,
        Cmd: ['sleep', '1000000'],
        HostConfig: { ...restart('always'), NetworkMode: 'host' },
      });
    },
  },
  {
    ...simple,
    name: 'no network, read-only',
    scene: async (engine, image) => {
      await engine.run('web', image, {
        ...base,
        Cmd: ['sleep', '1000000'],
        HostConfig: { ...restart('unless-stopped'), NetworkMode: 'none', ReadonlyRootfs: true },
      });
    },
  },
  {
    ...simple,
    name: "a port of the engine's choice",
    scene: async (engine, image, address) => {
      await engine.run('web', image, {
        ...base,
        HostConfig: { ...restart('always'), PortBindings: { '8080/tcp': [loopback(address, '')] } },
      });
    },
  },
  {
    ...simple,
    name: 'a volume that the image declares',
    old: catalogue['volume-v1'],
    next: catalogue['volume-v2'],
    scene: web(restart('unless-stopped')),
  },
  {
    ...simple,
    name: 'a volume that the image declares, the new version ends at once',
    old: catalogue['volume-v1'],
    next: catalogue.crash,
    good: false,
    scene: web(restart('unless-stopped')),
  },
  {
    ...simple,
    name: 'other defaults in the new image',
    next: { ...catalogue['other-defaults'], config: { ...catalogue['other-defaults'].config, User: '' } },
    scene: web({ ...restart('always'), Binds: ['kept:/www'] }),
  },
  {
    ...simple,
    name: 'two that belong together by a legacy link',
    containers: { db: 'running', web: 'running' },
    scene: async (engine, image) => {
      await engine.run('db', image, { ...base, HostConfig: restart('unless-stopped') });
      await engine.run('web', image, { ...base, HostConfig: { ...restart('always'), Links: ['db:database'] } });
    },
  },
  {
    ...simple,
    name: 'two of which one has the volumes of the other',
    containers: { data: 'running', web: 'running' },
    scene: async (engine, image) => {
      await engine.run('data', image, { ...base, HostConfig: { ...restart('always'), Binds: ['kept:/data'] } });
      await engine.run('web', image, { ...base, HostConfig: { ...restart('always'), VolumesFrom: ['data'] } });
    },
  },
  {
    ...simple,
    name: 'a group of two, the new version ends at once',
    next: catalogue.crash,
    good: false,
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
  {
    ...simple,
    name: 'a DNS server, and a container that asks it',
    apart: true,
    containers: { dns: 'running', web: 'running' },
    scene: async (engine, image, address) => {
      const PortBindings = { '53/udp': [loopback(address, '53')], '53/tcp': [loopback(address, '53')] };
      await engine.run('dns', image, { ...base, HostConfig: { ...restart('unless-stopped'), PortBindings } });
      await engine.run('web', image, { ...base, HostConfig: { ...restart('always'), Dns: [address] } });
    },
  },
  {
    ...simple,
    name: 'files that compose wrote, which it cannot run without',
    scene: async (engine, image) => {
      await needingFiles(engine, image, restart('unless-stopped'));
    },
  },
  {
    ...simple,
    name: 'files that compose wrote, the new version ends at once',
    next: { ...catalogue.crash, config: { ...catalogue.crash.config, Labels: { crashes: 'yes' } } },
    good: false,
    scene: async (engine, image) => {
      const id = await engine.create('web', image, { ...base, HostConfig: restart('always') });
      await engine.putFiles(id, '/etc', composeFiles());
      await engine.call('POST', `/containers/${id}/start`);
    },
  },
  {
    ...simple,
    name: 'a mounted image, the one that it is updated to',
    since: 28,
    scene: async (engine, image) => {
      const Mounts = [{ Type: 'image', Source: image, Target: '/model' }];
      await engine.run('web', image, { ...base, HostConfig: { ...restart('unless-stopped'), Mounts } });
    },
  },
  {
    ...simple,
    name: 'a compose service that waits for another',
    apart: true,
    containers: { 'demo-db-1': 'running', 'demo-web-1': 'running' },
    scene: async (engine, image) => {
      const labels = (service: string) => ({
        'com.docker.compose.project': 'demo',
        'com.docker.compose.service': service,
        'com.docker.compose.container-number': '1',
      });
      await engine.run('demo-db-1', image, { ...base, Labels: labels('db'), HostConfig: restart('unless-stopped') });
      await engine.run('demo-web-1', image, {
        ...base,
        Labels: { ...labels('web'), 'com.docker.compose.depends_on': 'db:service_started:false' },
        HostConfig: restart('unless-stopped'),
      });
    },
  },
  {
    ...simple,
    name: 'hooks before and after the update',
    flags: ['--enable-lifecycle-hooks'],
    scene: async (engine, image) => {
      const Labels = { 'upkeep.lifecycle.pre-update': 'true', 'upkeep.lifecycle.post-update': 'true' };
      await engine.run('web', image, { ...base, Labels, HostConfig: restart('unless-stopped') });
    },
  },
];
