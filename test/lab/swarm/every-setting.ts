import type { LabSwarm } from './swarm.ts';

/**
 * Creates a service without replicas that has every setting of API 1.41, and a number that JavaScript cannot represent:
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Service/operation/ServiceCreate
 */
export async function everySetting(
  swarm: Pick<LabSwarm, 'must'>,
  image: string,
  {
    name = 'full',
    replicas = 0,
    newest = false,
  }: {
    readonly name?: string;
    readonly replicas?: number;
    /** With settings of API 1.51 too, which older engines drop silently. */
    readonly newest?: boolean;
  } = {},
): Promise<string> {
  const idOf = async (kind: 'secrets' | 'configs'): Promise<string> => {
    const made = { Name: `${name}-${kind}`, Data: 'eA==', Labels: { of: name } };
    return (await swarm.must<{ ID: string }>('POST', `/${kind}/create`, made)).ID;
  };
  const file = { Name: 'in', UID: '0', GID: '0', Mode: 292 };
  const spec = {
    Name: name,
    Labels: { 'a "quoted" label': `of ${image}`, 'ünï→cödé': '\u0007 "Image":"no"', empty: '' },
    Mode: { Replicated: { Replicas: replicas } },
    UpdateConfig: updateConfig('rollback'),
    RollbackConfig: updateConfig('pause'),
    EndpointSpec: {
      Mode: 'dnsrr',
      Ports: [{ Name: 'web', Protocol: 'tcp', TargetPort: 8080, PublishedPort: 18_080, PublishMode: 'host' }],
    },
    TaskTemplate: {
      Resources: {
        Limits: { MemoryBytes: 268_435_456, NanoCPUs: 500_000_000, Pids: 100 },
        Reservations: {
          MemoryBytes: 6_291_456,
          GenericResources: [{ DiscreteResourceSpec: { Kind: 'SSD', Value: 3 } }],
        },
      },
      Placement: {
        Constraints: ['node.role!=nothing'],
        Preferences: [{ Spread: { SpreadDescriptor: 'node.labels.rack' } }],
        MaxReplicas: '@beyond@',
        Platforms: [{ Architecture: 'amd64', OS: 'linux' }],
      },
      LogDriver: { Name: 'json-file', Options: { 'max-size': '1m' } },
      RestartPolicy: { Condition: 'any', Delay: 500_000_000, MaxAttempts: 7, Window: 3_000_000_000 },
      ForceUpdate: 3,
      Runtime: 'container',
      ContainerSpec: {
        Image: image,
        Labels: { inner: 'yes' },
        Command: ['sh'],
        Args: ['-c', 'exec sleep 1000'],
        Hostname: '{{.Node.Hostname}}',
        Env: ['A=1', 'B=\u20ac <&>'],
        Dir: '/tmp',
        User: 'root',
        Groups: ['app'],
        TTY: true,
        OpenStdin: true,
        ReadOnly: true,
        Mounts: [
          { Type: 'tmpfs', Target: '/t', TmpfsOptions: { SizeBytes: 1_048_576, Mode: 511 } },
          {
            Type: 'volume',
            Source: 'data',
            Target: '/d',
            VolumeOptions: { NoCopy: true, Labels: { v: '1' }, DriverConfig: { Name: 'local', Options: { o: 'x' } } },
          },
          { Type: 'bind', Source: '/tmp', Target: '/b', ReadOnly: true, BindOptions: { Propagation: 'rprivate' } },
        ],
        StopSignal: 'SIGINT',
        StopGracePeriod: 1_000_000_000,
        Healthcheck: {
          Test: ['CMD-SHELL', 'true'],
          Interval: 500_000_000,
          Timeout: 1_000_000_000,
          StartPeriod: 2_000_000,
          Retries: 4,
        },
        Hosts: ['10.0.0.9 other'],
        DNSConfig: { Nameservers: ['10.88.0.1'], Search: ['example.test'], Options: ['timeout:3'] },
        Secrets: [{ SecretID: await idOf('secrets'), SecretName: `${name}-secrets`, File: file }],
        Configs: [{ ConfigID: await idOf('configs'), ConfigName: `${name}-configs`, File: file }],
        Isolation: 'default',
        Init: true,
        Sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' },
        CapabilityAdd: ['CAP_NET_ADMIN'],
        CapabilityDrop: ['CAP_MKNOD'],
        Ulimits: [{ Name: 'nofile', Hard: '@unlimited@', Soft: 512 }],
        ...(newest && {
          OomScoreAdj: 7,
          Privileges: { NoNewPrivileges: true, Seccomp: { Mode: 'unconfined' }, AppArmor: { Mode: 'disabled' } },
        }),
      },
    },
  };
  const text = JSON.stringify(spec)
    .replace('"@beyond@"', '9007199254740993')
    .replace('"@unlimited@"', '9223372036854775807');
  return (await swarm.must<{ ID: string }>('POST', '/services/create', text)).ID;
}

function updateConfig(action: string): object {
  return {
    Parallelism: 1,
    Delay: 1_000_000,
    FailureAction: action,
    Monitor: 1_000_000_000,
    MaxFailureRatio: 0.15,
    Order: 'stop-first',
  };
}

/** The unchanged text of a member object of the first level: `memberText(service, 'Spec')`. */
export function memberText(document: string, member: string): string {
  const start = document.indexOf(`"${member}":{`) + member.length + 3;
  let depth = 0;
  let isString = false;
  for (let at = start; at < document.length; at += 1) {
    const char = document[at];
    if (isString) {
      if (char === '\\') at += 1;
      else if (char === '"') isString = false;
    } else if (char === '"') isString = true;
    else if (char === '{') depth += 1;
    else if (char === '}' && (depth -= 1) === 0) return document.slice(start, at + 1);
  }
  throw new Error(`The object has no "${member}"`);
}
