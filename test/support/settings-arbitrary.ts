import fc from 'fast-check';
import type { Endpoint, HostConfig, ImageConfig } from '../../src/domain/container/container.ts';
import { idOf } from './scene/builders.ts';
import type { CreateBody } from './engine/engine-inspect.ts';

/** There are few names and values, so that containers and images often have equal ones; `__proto__` is among them. */
const word = fc.constantFrom('a', 'b', 'c', '__proto__');
const value = fc.constantFrom('', '1', '2', 'x y');
const words = fc.option(fc.array(fc.constantFrom('run', '-x', ''), { maxLength: 2 }), { nil: null });
const port = fc.constantFrom('80/tcp', '443/tcp', '53/udp');
const path = ['/data', '/own', '/cache/', '/deep/er'] as const;

const environment = fc.array(
  fc.oneof(
    fc.tuple(word, value).map((pair) => pair.join('=')),
    word,
  ),
  { maxLength: 4 },
);
const labels = fc.dictionary(word, value);
const ports = fc.dictionary(port, fc.constant({}));
const healthcheck = fc.record(
  {
    Test: fc.constantFrom<string[]>([], ['NONE'], ['CMD', 'a'], ['CMD-SHELL', 'b']),
    Interval: fc.constantFrom(0, 5, 9),
    Timeout: fc.constantFrom(0, 5),
    Retries: fc.constantFrom(0, 2),
  },
  { requiredKeys: [] },
);

/** An image's config; it always has a command. */
export const imageConfig: fc.Arbitrary<ImageConfig> = fc.record(
  {
    Cmd: fc.array(fc.constantFrom('run', '-x'), { minLength: 1, maxLength: 2 }),
    Entrypoint: words,
    Env: fc
      .uniqueArray(fc.tuple(word, value), { selector: ([name]) => name, maxLength: 3 })
      .map((pairs) => pairs.map((pair) => pair.join('='))),
    User: fc.constantFrom('', 'app'),
    WorkingDir: fc.constantFrom('', '/srv'),
    StopSignal: fc.constantFrom('', 'SIGINT'),
    Labels: labels,
    ExposedPorts: ports,
    Volumes: fc.dictionary(fc.constantFrom(...path), fc.constant({})),
    Healthcheck: healthcheck,
  },
  { requiredKeys: ['Cmd'] },
);

type MountKind = (at: string) => {
  readonly Volumes?: object;
  readonly Binds?: string;
  readonly Mounts?: object;
  readonly Tmpfs?: object;
};

/** Kinds of mounts at a path; engines accept at most one. */
const mountKinds: readonly MountKind[] = [
  () => ({}),
  (at) => ({ Volumes: { [at]: {} } }),
  (at) => ({ Binds: `/host:${at}:ro` }),
  (at) => ({ Binds: `named:${at}` }),
  (at) => ({ Binds: at }),
  (at) => ({ Mounts: { Type: 'volume', Target: at } }),
  (at) => ({ Mounts: { Type: 'volume', Source: 'named', Target: at, VolumeOptions: { NoCopy: true } } }),
  (at) => ({ Mounts: { Type: 'bind', Source: '/host', Target: at, BindOptions: { Propagation: 'rslave' } } }),
  (at) => ({ Tmpfs: { [at]: 'size=1m' } }),
];

const storage = fc.tuple(...path.map((at) => fc.constantFrom(...mountKinds).map((kind) => kind(at)))).map((kinds) => {
  const Binds = kinds.flatMap(({ Binds: bind }) => bind ?? []);
  const Mounts = kinds.flatMap(({ Mounts: mount }) => mount ?? []);
  const Tmpfs = Object.assign({}, ...kinds.map(({ Tmpfs: tmpfs }) => tmpfs)) as object;
  const Volumes = Object.assign({}, ...kinds.map(({ Volumes: volume }) => volume)) as Record<string, object>;
  return { Volumes, hostConfig: { Binds, ...(Mounts.length > 0 ? { Mounts } : {}), Tmpfs } };
});

const config = fc.record(
  {
    Hostname: fc.constantFrom('', 'box', 'vm'),
    Domainname: fc.constantFrom('', 'example.org'),
    Env: fc.option(environment, { nil: null }),
    Cmd: words,
    Entrypoint: words,
    User: fc.constantFrom('', 'app', '1000'),
    WorkingDir: fc.constantFrom('', '/srv', '/'),
    StopSignal: fc.constantFrom('', 'SIGINT', 'SIGTERM'),
    StopTimeout: fc.constantFrom(null, 0, 30),
    Labels: labels,
    ExposedPorts: ports,
    Healthcheck: healthcheck,
    Tty: fc.boolean(),
  },
  { requiredKeys: [] },
);

const hostConfig = fc.record(
  {
    NetworkMode: fc.constantFrom('default', 'bridge', 'front', 'back', 'host', 'none', `container:${idOf('other')}`),
    UTSMode: fc.constantFrom('', 'host'),
    IpcMode: fc.constantFrom('', 'shareable', `container:${idOf('other')}`),
    PortBindings: fc.dictionary(port, fc.constantFrom(null, [], [{ HostIp: '', HostPort: '80' }])),
    Links: fc.constantFrom<string[]>([], ['db:alias', 'cache:cache']),
    VolumesFrom: fc.constantFrom(null, ['data:ro']),
    RestartPolicy: fc.constantFrom({ Name: 'always' }, { Name: '' }, { Name: 'on-failure', MaximumRetryCount: 3 }),
    Privileged: fc.boolean(),
    MaskedPaths: fc.constantFrom(null, [], ['/proc/kcore']),
    Init: fc.constantFrom(null, true, false),
    Memory: fc.constantFrom(0, 64),
    MemorySwappiness: fc.constantFrom(null, 0, 10),
    PidsLimit: fc.constantFrom(null, 50),
    Sysctls: fc.constantFrom(null, { 'net.core.somaxconn': '9' }),
    UnheardOf: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
);

const endpoint: fc.Arbitrary<Endpoint> = fc.record(
  {
    Aliases: fc.constantFrom(null, [], ['alias', 'other']),
    IPAMConfig: fc.constantFrom(null, {}, { IPv4Address: '10.0.0.77' }),
    Links: fc.constantFrom(null, ['db:alias']),
    DriverOpts: fc.constantFrom(null, { o: '1' }),
    GwPriority: fc.constantFrom(0, 5),
  },
  { requiredKeys: [] },
);

/** A user's create body; an engine may still refuse it. */
export const userBody: fc.Arbitrary<CreateBody> = fc
  .tuple(config, hostConfig, storage, endpoint)
  .map(([own, host, { Volumes, hostConfig: mounted }, asked]) => {
    const mode = host.NetworkMode ?? 'default';
    const endpoints = mode === 'front' || mode === 'back' ? { [mode]: asked } : {};
    return {
      ...own,
      Volumes,
      // Arbitrary JSON, for any field that an engine may show.
      HostConfig: { ...host, ...mounted } as HostConfig,
      NetworkingConfig: { EndpointsConfig: endpoints },
    };
  });
