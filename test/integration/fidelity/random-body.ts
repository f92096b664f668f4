import fc from 'fast-check';

/** Bodies of `POST /containers/create` as users might write them: each field is optional and independent. */
export const randomBody: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc
  .record({ config: randomConfig(), HostConfig: randomHostConfig() })
  .map(({ config, HostConfig }) => ({ ...config, HostConfig }));

function randomConfig() {
  const word = fc.stringMatching(/^[A-Za-z0-9_ ="'$\\é-]{0,12}$/);
  const name = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,8}$/);
  return optional({
    Hostname: fc.constantFrom('host', 'host.example.com'),
    Domainname: fc.constant('example.com'),
    User: fc.constantFrom('', '0', '1000:1000', 'nobody'),
    Env: fc.array(
      fc.tuple(name, word).map(([key, value]) => `${key}=${value}`),
      { maxLength: 5 },
    ),
    Cmd: fc.array(word, { minLength: 1, maxLength: 3 }),
    Entrypoint: fc.constantFrom(['sh', '-c'], ['sh'], [''], ['sh', '-c', 'exec "$@"', '--']),
    WorkingDir: fc.constantFrom('/', '/bin', '/does/not/exist'),
    Labels: fc.dictionary(fc.stringMatching(/^[a-z][a-z.-]{0,10}$/), word, { maxKeys: 4 }),
    ExposedPorts: fc.constantFrom({ '80/tcp': {} }, { '53/udp': {}, '7000/tcp': {} }),
    StopSignal: fc.constantFrom('SIGTERM', 'SIGQUIT', '9', 'RTMIN+3'),
    StopTimeout: fc.nat({ max: 100 }),
    Tty: fc.boolean(),
    OpenStdin: fc.boolean(),
    Volumes: fc.constantFrom({ '/own': {} }, { '/a': {}, '/b/c': {} }),
    Healthcheck: fc.constantFrom(
      { Test: ['NONE'] },
      { Test: ['CMD-SHELL', 'true'], Interval: 5e9, Timeout: 1e9, Retries: 2 },
      { Test: ['CMD', 'true'], StartPeriod: 2e9 },
    ),
  });
}

function randomHostConfig() {
  const mebibytes = (least: number, most: number) =>
    fc.integer({ min: least, max: most }).map((each) => each * 2 ** 20);
  const capabilities = fc.uniqueArray(fc.constantFrom('NET_ADMIN', 'SYS_TIME', 'CHOWN', 'KILL', 'MKNOD'), {
    maxLength: 3,
  });
  const texts = (...all: string[]) => fc.uniqueArray(fc.constantFrom(...all), { maxLength: all.length });
  return optional({
    Binds: texts('named:/data', '/etc:/host:ro', 'other-volume:/other:nocopy', '/lone'),
    Tmpfs: fc.constantFrom({ '/scratch': '' }, { '/scratch': 'size=1m,mode=700', '/run': 'noexec' }),
    PortBindings: fc.constantFrom(
      { '80/tcp': [{ HostPort: '18080' }] },
      { '53/udp': [{ HostIp: '127.0.0.1', HostPort: '' }], '81/tcp': [{ HostPort: '18081' }, { HostPort: '18082' }] },
    ),
    PublishAllPorts: fc.boolean(),
    RestartPolicy: fc.constantFrom(
      { Name: 'no' },
      { Name: 'always' },
      { Name: 'unless-stopped' },
      { Name: 'on-failure', MaximumRetryCount: 3 },
    ),
    Memory: mebibytes(8, 64),
    MemoryReservation: mebibytes(6, 8),
    CpuShares: fc.integer({ min: 2, max: 2048 }),
    NanoCpus: fc.integer({ min: 1, max: 100 }).map((hundredths) => hundredths * 1e7),
    PidsLimit: fc.constantFrom(-1, 0, 50),
    OomScoreAdj: fc.integer({ min: 0, max: 500 }),
    ShmSize: mebibytes(1, 64),
    Ulimits: fc.constantFrom([{ Name: 'nofile', Soft: 100, Hard: 200 }], []),
    Sysctls: fc.constantFrom({ 'net.core.somaxconn': '512' }, { 'net.ipv4.ip_forward': '1' }),
    CapAdd: capabilities,
    CapDrop: capabilities,
    SecurityOpt: texts('no-new-privileges', 'seccomp=unconfined'),
    Privileged: fc.boolean(),
    ReadonlyRootfs: fc.boolean(),
    Init: fc.boolean(),
    Dns: texts('192.0.2.1', '192.0.2.2'),
    DnsOptions: texts('ndots:2', 'rotate'),
    DnsSearch: texts('example.com', '.'),
    ExtraHosts: texts('db:192.0.2.3', 'six:2001:db8::1', 'gate:host-gateway'),
    GroupAdd: texts('1000', 'audio'),
    IpcMode: fc.constantFrom('private', 'shareable', 'host', 'none'),
    PidMode: fc.constantFrom('', 'host'),
    UTSMode: fc.constantFrom('', 'host'),
    NetworkMode: fc.constantFrom('default', 'bridge', 'none', 'host', 'front'),
    LogConfig: fc.constantFrom(
      { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
      { Type: 'none', Config: {} },
    ),
    Devices: fc.constantFrom([{ PathOnHost: '/dev/null', PathInContainer: '/dev/zilch', CgroupPermissions: 'r' }], []),
    DeviceCgroupRules: texts('c 1:3 mr'),
    MaskedPaths: fc.constantFrom([], ['/proc/kcore']),
    ReadonlyPaths: fc.constantFrom([], ['/proc/sys']),
  });
}

function optional<Fields>(fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) {
  return fc.record(fields, { requiredKeys: [] });
}
