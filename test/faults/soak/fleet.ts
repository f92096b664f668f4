import type { LabEngine } from '../../lab/engine/engine.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { imageIdOf } from '../../lab/engine/image-id.ts';
import type { Lab } from '../../lab/lab.ts';
import { pushImage } from '../../lab/registry/push.ts';

/** Many containers of a few repositories on one engine, with tags that move together. */
export type Fleet = {
  readonly engine: LabEngine;
  readonly members: readonly Member[];
  /** Moves every tag; nothing is pulled. */
  readonly release: () => Promise<Release>;
};

export type Member = {
  readonly name: string;
  readonly repository: string;
  /** Whether it should run, or only exist. */
  readonly runs: boolean;
  /** As for `POST /containers/create`. */
  readonly body: object;
};

export type Release = {
  /** Part of every environment, label and command from its images. */
  readonly version: string;
  /** By repository. */
  readonly imageIds: ReadonlyMap<string, string>;
};

/** Clears the engine, and creates all members at the first release. */
export async function launchFleet(lab: Lab, engine: LabEngine, count: number): Promise<Fleet & { first: Release }> {
  await engine.clear();
  await engine.call('POST', '/networks/create', { Name: 'inner', IPAM: { Config: [{ Subnet: '10.99.0.0/24' }] } });
  const members = Array.from({ length: count }, (_, index) => memberAt(index));
  const repositories = [...new Set(members.map(({ repository }) => repository))];
  const imageOf = (repository: string) => `${lab.registry.host}/${repository}:stable`;
  let releases = 0;
  const release = async (): Promise<Release> => {
    releases += 1;
    const version = `release-${releases}`;
    const imageIds = new Map<string, string>();
    for (const repository of repositories) {
      const spec = { ...webServer(version), files: { repository } };
      imageIds.set(repository, imageIdOf(await pushImage(lab.registry, repository, 'stable', spec)));
    }
    return { version, imageIds };
  };

  const first = await release();
  for (const repository of repositories) await engine.pull(imageOf(repository));
  for (const { name, repository, runs, body } of members)
    await (runs ? engine.run : engine.create)(name, imageOf(repository), body);
  return { engine, members, release, first };
}

/** Each repository has all policies, and each policy all traits; one of twenty was never started. */
function memberAt(index: number): Member {
  const nth = Math.floor(index / repositoryCount);
  const name = `c${String(index).padStart(3, '0')}`;
  const { HostConfig, ...body } = traits[(index + nth) % traits.length]!(name, index);
  return {
    name,
    repository: `soak/r${index % repositoryCount}`,
    runs: index % 20 !== 19,
    body: {
      StopTimeout: 1,
      Labels: { 'soak.member': name },
      Env: [`MEMBER=${name}`],
      ...body,
      HostConfig: { RestartPolicy: policies[nth % policies.length], ...HostConfig },
    },
  };
}

const repositoryCount = 10;

const policies = [
  { Name: 'always' },
  { Name: 'unless-stopped' },
  { Name: 'on-failure', MaximumRetryCount: 3 },
  { Name: 'no' },
];

type Trait = (name: string, index: number) => { readonly HostConfig?: object; readonly [field: string]: unknown };

const traits: readonly Trait[] = [
  (name) => ({ HostConfig: { Binds: [`data-${name}:/data`] } }),
  () => ({ Volumes: { '/scratch': {} } }),
  (_name, index) => ({
    HostConfig: { PortBindings: { '8080/tcp': [{ HostIp: '127.0.78.1', HostPort: String(20_000 + index) }] } },
  }),
  (name) => ({
    HostConfig: { NetworkMode: 'inner' },
    NetworkingConfig: { EndpointsConfig: { inner: { Aliases: [`also-${name}`] } } },
  }),
  (name) => ({
    Hostname: name,
    HostConfig: {
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'size=1m' },
      CapDrop: ['NET_RAW'],
      ExtraHosts: ['db:10.0.0.9'],
    },
  }),
];
