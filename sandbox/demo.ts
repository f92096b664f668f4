import type { Registry } from '../src/domain/outside/registry.ts';
import type { ContainerRecipe, HostConfig } from '../src/domain/container/container.ts';
import type { Clock, Prober, Engine } from '../src/domain/outside/outside.ts';
import type { ServiceSettings } from '../src/domain/settings/effective-settings.ts';
import type { Behaviour } from './base/behaviour.ts';
import { createSandboxEngine, realisticLatencyMs, type SandboxEngine } from './engine/engine.ts';
import { createSandboxRegistry } from './registry/registry.ts';
import type { RegistryStore, Release, RegistryFault } from './registry/registry-store.ts';

/** An engine with containers, and registries with future releases, all in memory. */
export type DemoWorld = {
  readonly engine: Engine;
  readonly registry: Registry;
  readonly prober: Prober;
  /** Publishes the releases of the next round; returns one line for each. */
  readonly nextRound: () => readonly string[];
  readonly countContainers: () => { readonly containers: number; readonly running: number };
  readonly close: () => void;
};

/** A shorter health window than the default, so that the demo is fast. */
export const demoSettings = { healthWindowMs: 2500, healthTimeoutMs: 4000 } as const satisfies Partial<ServiceSettings>;

/** Calls take as long as on a fast real engine, so that progress is visible. */
export async function createDemoWorld(clock: Clock): Promise<DemoWorld> {
  const { registry, store } = createSandboxRegistry({ clock, latencyMs: 120 });
  const sandbox = createSandboxEngine({ clock, registries: store, pullStepMs: 150 });
  const { control } = sandbox;
  const releases = createReleases(store, clock);
  await Promise.all(demoContainers.map((container) => provideImage(sandbox, releases, container)));
  for (const container of demoContainers)
    control.runContainer(container.name, bodyOf(container, releases), upForMs(container));
  const { engine, prober } = sandbox.connect({ latencyMs: realisticLatencyMs });
  let rounds = 0;
  let healed: (() => void) | undefined;
  return {
    engine,
    registry,
    prober,
    nextRound: () => {
      healed?.();
      const { releases: published, trouble } = demoRounds[rounds++ % demoRounds.length] ?? { releases: [] };
      const stories = published.map((release) => `${release.image} ${releases.publish(release)}: ${release.story}`);
      if (trouble !== undefined) store.misbehave(trouble.host, trouble.misbehaviour);
      healed = trouble && (() => store.behaveAgain(trouble.host));
      return trouble === undefined ? stories : [...stories, `${trouble.host} ${trouble.story}`];
    },
    countContainers: () => {
      const containers = Object.values(control.snapshot().containers);
      return { containers: containers.length, running: containers.filter(({ running }) => running).length };
    },
    close: () => control.close(),
  };
}

/** The containers of a project were started together, some days ago. */
function upForMs({ project, name }: DemoContainer): number {
  return (1 + (((project ?? name).length * 7) % 27)) * 24 * hourMs;
}

type Releases = {
  /** Publishes the next version of an image; returns it. */
  readonly publish: (release: DemoRelease) => string;
  /** Publishes the initial version if there is no version yet. */
  readonly digestOf: (container: DemoContainer) => string;
};

function createReleases(store: RegistryStore, clock: Pick<Clock, 'nowMs'>): Releases {
  const versions = new Map(demoContainers.map(({ image, version }) => [image, version]));
  const digests = new Map<string, string>();
  let count = 0;
  const publish = (image: string, version: string, behaviour = usualBehaviourOf(image), ageHours = oldHours) => {
    versions.set(image, version);
    const createdAtMs = clock.nowMs() - ageHours * hourMs;
    const { digest } = store.publish(image, { ...releaseOf(image, version, behaviour), createdAtMs });
    digests.set(image, digest);
    return digest;
  };
  return {
    publish: ({ image, change = 'patch', behaviour }) => {
      const version = versionAfter(versions.get(image) ?? '0.0.0', change);
      publish(image, version, behaviour, newHours[count % newHours.length]);
      count += 1;
      return version;
    },
    digestOf: ({ image, version }) => digests.get(image) ?? publish(image, version),
  };
}

const hourMs = 3_600_000;

/** Ages of the initial releases, and of newer releases in turn. */
const oldHours = 40 * 24;
const newHours = [5, 29, 11, 50, 7];

function versionAfter(version: string, change: 'minor' | 'patch'): string {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return change === 'minor' ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`;
}

function releaseOf(image: string, version: string, behaviour: Behaviour): Release {
  const container = demoContainers.find((each) => each.image === image);
  return {
    version,
    behaviour,
    layers: [{ bytes: 28_000_000 }, { bytes: 9_000_000 }, { bytes: 1200 }],
    config: {
      Labels: { 'org.opencontainers.image.title': image },
      ...(container?.healthcheck === true && { Healthcheck: quickHealthcheck }),
    },
  };
}

/** Durations in nanoseconds. */
const quickHealthcheck = { Test: ['CMD', 'probe'], Interval: 500e6, Timeout: 500e6, Retries: 2 };

function usualBehaviourOf(image: string): Behaviour {
  return demoContainers.find((container) => container.image === image)?.behaviour ?? {};
}

async function provideImage(
  { engine, control }: SandboxEngine,
  releases: Releases,
  container: DemoContainer,
): Promise<void> {
  const { image, version, from } = container;
  if (from === 'build') control.addImage(image, releaseOf(image, version, {}));
  else await engine.pullImage({ reference: referenceOf(container, releases) });
}

function bodyOf(container: DemoContainer, releases: Releases): ContainerRecipe['body'] {
  const { name, project, labels = {}, host = {}, networkOf } = container;
  return {
    Image: referenceOf(container, releases),
    Labels: { ...labels, ...(project !== undefined && composeLabels(project, name)) },
    HostConfig: {
      RestartPolicy: { Name: 'unless-stopped' },
      ...host,
      ...(networkOf !== undefined && { NetworkMode: `container:${networkOf}` }),
    },
  };
}

/** https://docs.docker.com/reference/compose-file/services/#labels */
function composeLabels(project: string, service: string): Readonly<Record<string, string>> {
  return { 'com.docker.compose.project': project, 'com.docker.compose.service': service };
}

function referenceOf(container: DemoContainer, releases: Releases): string {
  const { image, from } = container;
  if (from === 'build') return image;
  const digest = releases.digestOf(container);
  return from === 'digest' ? `${image}@${digest}` : image;
}

/** A container of the demonstration. */
type DemoContainer = {
  readonly name: string;
  readonly image: string;
  /** Version of its image at the start. */
  readonly version: string;
  /** The compose project; undefined: it was started with `docker run`. */
  readonly project?: string;
  /** `digest`: it is created from the digest; `build`: its image was built locally. */
  readonly from?: 'digest' | 'build';
  readonly labels?: Readonly<Record<string, string>>;
  readonly healthcheck?: boolean;
  /** The name of the container whose network it shares. */
  readonly networkOf?: string;
  readonly host?: HostConfig;
  readonly behaviour?: Behaviour;
};

/** The containers of a home server, in the order of their creation. */
const demoContainers: readonly DemoContainer[] = [
  {
    name: 'traefik',
    image: 'traefik:v3',
    version: '3.2.0',
    project: 'edge',
    host: { PortBindings: { '443/tcp': [{ HostPort: '443' }] } },
  },
  { name: 'vaultwarden', image: 'vaultwarden/server:latest', version: '1.32.4', behaviour: { stopMs: 200 } },
  {
    name: 'nextcloud-db',
    image: 'mariadb:11.4',
    version: '11.4.3',
    project: 'cloud',
    healthcheck: true,
    behaviour: { stopMs: 400, health: { kind: 'healthy', afterMs: 800 } },
    host: { Binds: ['nextcloud-db:/var/lib/mysql'] },
  },
  {
    name: 'nextcloud',
    image: 'nextcloud:30-apache',
    version: '30.0.1',
    project: 'cloud',
    labels: { 'upkeep.depends-on': 'nextcloud-db' },
  },
  {
    name: 'mosquitto',
    image: 'eclipse-mosquitto:2',
    version: '2.0.18',
    project: 'home',
    labels: { 'upkeep.monitor-only': 'true' },
  },
  {
    name: 'home-assistant',
    image: 'ghcr.io/home-assistant/home-assistant:stable',
    version: '2024.11.2',
    project: 'home',
    labels: { 'upkeep.depends-on': 'mosquitto' },
    behaviour: { stopMs: 300 },
  },
  { name: 'gluetun', image: 'qmcgaw/gluetun:v3', version: '3.39.0', project: 'media', behaviour: { stopMs: 300 } },
  {
    name: 'qbittorrent',
    image: 'lscr.io/linuxserver/qbittorrent:latest',
    version: '5.0.1',
    project: 'media',
    networkOf: 'gluetun',
  },
  { name: 'jellyfin', image: 'jellyfin/jellyfin:latest', version: '10.10.1', project: 'media' },
  {
    name: 'immich-postgres',
    image: 'tensorchord/pgvecto-rs:pg14',
    version: '0.2.0',
    project: 'immich',
    from: 'digest',
  },
  {
    name: 'immich-server',
    image: 'ghcr.io/immich-app/immich-server:release',
    version: '1.118.2',
    project: 'immich',
    healthcheck: true,
  },
  { name: 'prometheus', image: 'prom/prometheus:v2', version: '2.55.0', project: 'monitoring' },
  { name: 'grafana', image: 'grafana/grafana:latest', version: '11.2.2', project: 'monitoring' },
  { name: 'blog', image: 'blog:local', version: '1.0.0', from: 'build' },
];

/** Events of the demo before a check. */
type DemoRound = {
  readonly releases: readonly DemoRelease[];
  /** Lasts until the next round. */
  readonly trouble?: { readonly host: string; readonly misbehaviour: RegistryFault; readonly story: string };
};

type DemoRelease = {
  readonly image: string;
  /** Default `patch`. */
  readonly change?: 'minor' | 'patch';
  readonly behaviour?: Behaviour;
  readonly story: string;
};

const failsItsMigration: Behaviour = {
  exitsAfterMs: 0,
  exitCode: 1,
  logLines: ['Starting DB migrations', 'Error: migration failed: UNIQUE constraint failed: dashboard.uid'],
};

const staysUnhealthy: Behaviour = {
  health: { kind: 'unhealthy', output: 'connect ECONNREFUSED 127.0.0.1:2283' },
  logLines: ['Immich Server: waiting for the database'],
};

/** The rounds repeat. The first one shows most: an update, and a rollback. */
const demoRounds: readonly DemoRound[] = [
  {
    releases: [
      {
        image: 'grafana/grafana:latest',
        change: 'minor',
        behaviour: failsItsMigration,
        story: 'its migration of the database will fail',
      },
      { image: 'vaultwarden/server:latest', story: 'a good release' },
      { image: 'traefik:v3', story: 'a good release' },
    ],
  },
  {
    releases: [
      { image: 'grafana/grafana:latest', story: 'the migration is fixed' },
      {
        image: 'qmcgaw/gluetun:v3',
        change: 'minor',
        story: 'a good release; qbittorrent shares its network, so both move together',
      },
    ],
  },
  {
    releases: [
      {
        image: 'ghcr.io/immich-app/immich-server:release',
        change: 'minor',
        behaviour: staysUnhealthy,
        story: 'it will never become healthy',
      },
      { image: 'mariadb:11.4', story: 'a good release; its volume stays' },
    ],
  },
  {
    releases: [
      { image: 'ghcr.io/immich-app/immich-server:release', story: 'healthy again' },
      { image: 'ghcr.io/home-assistant/home-assistant:stable', story: 'a good release' },
    ],
    trouble: {
      host: 'ghcr.io',
      misbehaviour: { kind: 'unreachable' },
      story: 'does not answer, so its images cannot be checked',
    },
  },
  {
    releases: [
      { image: 'eclipse-mosquitto:2', story: 'a good release, but mosquitto is only monitored; ghcr.io answers again' },
    ],
  },
];
