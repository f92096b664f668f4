import { behaviours, type Behaviour } from '../../sandbox/base/behaviour.ts';
import { startWholeService, type WholeService, type WholeServiceOptions } from '../support/http/whole-service.ts';

/** A container of a home server, with the newer release in its registry. */
export type HomeContainer = {
  readonly project?: string;
  readonly name: string;
  readonly image: string;
  readonly version: string;
  readonly newer?: string;
  /** Its reference if it has another tag. */
  readonly newerImage?: string;
  /** Of the newer release. */
  readonly behaviour?: Behaviour;
  readonly labels?: Readonly<Record<string, string>>;
  /** Without a HEALTHCHECK. */
  readonly plain?: true;
  readonly from?: 'digest' | 'build';
  /** Age of the newer release. */
  readonly ageMs?: number;
  readonly megabytes?: number;
};

const hour = 3_600_000;

const migrationFails: Behaviour = {
  exitsAfterMs: 20,
  exitCode: 1,
  logLines: [
    'logger=settings level=info msg="Starting Grafana" version=11.3.0',
    'logger=migrator level=info msg="Executing migration" id="add unique index"',
    'Error: ✗ migration failed: UNIQUE constraint failed: dashboard.org_id, dashboard.uid',
  ],
};

/** The home server of the prototype, with the same names, and the same states if the service supports them. */
export const home: readonly HomeContainer[] = [
  {
    project: 'monitoring',
    name: 'grafana',
    image: 'grafana/grafana:latest',
    version: '11.2.2',
    newer: '11.3.0',
    behaviour: migrationFails,
    megabytes: 118,
    labels: { 'upkeep.health-window': '300ms' },
  },
  { project: 'media', name: 'prowlarr', image: 'lscr.io/linuxserver/prowlarr:latest', version: '1.25.4' },
  {
    project: 'immich',
    name: 'immich-server',
    image: 'ghcr.io/immich-app/immich-server:release',
    version: 'v1.118.2',
    newer: 'v1.119.0',
    megabytes: 412,
    ageMs: 50 * hour,
    labels: { 'upkeep.depends-on': 'immich-redis' },
  },
  {
    project: 'immich',
    name: 'immich-machine-learning',
    image: 'ghcr.io/immich-app/immich-machine-learning:release',
    version: 'v1.118.2',
    newer: 'v1.119.0',
    megabytes: 286,
    ageMs: 50 * hour,
  },
  {
    project: 'home',
    name: 'home-assistant',
    image: 'ghcr.io/home-assistant/home-assistant:stable',
    version: '2024.11.2',
    newer: '2024.11.3',
    behaviour: behaviours.neverHealthy,
    megabytes: 231,
    ageMs: 11 * hour,
    labels: { 'upkeep.depends-on': 'mosquitto', 'upkeep.health-timeout': '1500ms' },
  },
  {
    project: 'edge',
    name: 'traefik',
    image: 'traefik:v3',
    version: '3.2.0',
    newer: '3.2.1',
    megabytes: 44,
    ageMs: 120 * hour,
    plain: true,
  },
  {
    name: 'vaultwarden',
    image: 'vaultwarden/server:latest',
    version: '1.32.4',
    newer: '1.32.5',
    megabytes: 63,
    ageMs: 7 * hour,
  },
  {
    project: 'cloud',
    name: 'nextcloud',
    image: 'nextcloud:29-apache',
    version: '29.0.9',
    newer: '30.0.2',
    newerImage: 'nextcloud:30-apache',
    megabytes: 402,
    ageMs: 60 * hour,
    labels: { 'upkeep.policy': 'major', 'upkeep.approve': 'major', 'upkeep.depends-on': 'nextcloud-db' },
  },
  {
    project: 'media',
    name: 'jellyfin',
    image: 'jellyfin/jellyfin:latest',
    version: '10.10.1',
    newer: '10.10.3',
    ageMs: 29 * hour,
    labels: { 'upkeep.cooldown-delay': '2d' },
  },
  {
    project: 'home',
    name: 'mosquitto',
    image: 'eclipse-mosquitto:2',
    version: '2.0.18',
    newer: '2.0.20',
    megabytes: 9,
    labels: { 'upkeep.monitor-only': 'true' },
  },
  {
    project: 'immich',
    name: 'immich-postgres',
    image: 'tensorchord/pgvecto-rs:pg16',
    version: '0.3.0',
    from: 'digest',
  },
  { name: 'blog', image: 'blog:local', version: '1', from: 'build', plain: true },
  { project: 'cloud', name: 'nextcloud-db', image: 'mariadb:11.4', version: '11.4.4' },
  { project: 'edge', name: 'authelia', image: 'authelia/authelia:4.38', version: '4.38.17' },
  { project: 'edge', name: 'crowdsec', image: 'crowdsecurity/crowdsec:v1.6', version: '1.6.3' },
  { project: 'home', name: 'zigbee2mqtt', image: 'koenkk/zigbee2mqtt:1', version: '1.41.0', plain: true },
  { project: 'immich', name: 'immich-redis', image: 'redis:7-alpine', version: '7.4.1' },
  { project: 'media', name: 'gluetun', image: 'qmcgaw/gluetun:v3', version: '3.39.1' },
  {
    project: 'media',
    name: 'qbittorrent',
    image: 'lscr.io/linuxserver/qbittorrent:latest',
    version: '5.0.1',
    plain: true,
  },
  {
    project: 'media',
    name: 'sonarr',
    image: 'lscr.io/linuxserver/sonarr:latest',
    version: '4.0.9',
    newer: '4.0.10',
    megabytes: 76,
    plain: true,
  },
  { project: 'media', name: 'radarr', image: 'lscr.io/linuxserver/radarr:latest', version: '5.14.0', plain: true },
  { project: 'monitoring', name: 'loki', image: 'grafana/loki:3', version: '3.2.1', plain: true },
  { project: 'monitoring', name: 'prometheus', image: 'prom/prometheus:v2', version: '2.55.1' },
  { project: 'paperless', name: 'paperless-broker', image: 'redis:7.2-alpine', version: '7.2.6', plain: true },
  {
    project: 'paperless',
    name: 'paperless-web',
    image: 'ghcr.io/paperless-ngx/paperless-ngx:latest',
    version: '2.13.5',
  },
];

/** The whole service on that home server, with the newer releases in their registries. */
export async function startHome(
  containers: readonly HomeContainer[],
  options: WholeServiceOptions = {},
): Promise<WholeService> {
  const service = await startWholeService({ service: { healthWindowMs: 300, healthTimeoutMs: 3000 }, ...options });
  const { store } = service.registry;
  const published = new Map<string, string>();
  for (const one of containers) {
    const { name, image, version, project, labels = {}, plain, from } = one;
    const all = {
      ...(project !== undefined && {
        'com.docker.compose.project': project,
        'com.docker.compose.service': name,
      }),
      ...labels,
    };
    const config =
      plain === true ? {} : { Healthcheck: { Test: ['CMD', 'probe'], Interval: 100e6, Timeout: 100e6, Retries: 2 } };
    const release = { version, config, createdAtMs: Date.now() - 40 * 24 * hour };
    let reference = image;
    if (from === 'build') service.sandbox.control.addImage(image, release);
    else {
      const digest = published.get(image) ?? store.publish(image, release).digest;
      published.set(image, digest);
      if (from === 'digest') reference = `${image}@${digest}`;
      await service.sandbox.engine.pullImage({ reference });
    }
    const body = { Image: reference, Labels: all, HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } };
    service.sandbox.control.runContainer(name, body, upForMs(project ?? name));
  }
  publishNewer(service, containers);
  return service;
}

/** The containers of a project were started together, some days ago. */
function upForMs(project: string): number {
  return (1 + ((project.length * 7) % 27)) * 24 * hour;
}

/** Moves the tags to the newer releases. */
export function publishNewer({ registry }: Pick<WholeService, 'registry'>, containers: readonly HomeContainer[]): void {
  for (const { image, newer, newerImage = image, behaviour, plain, ageMs = 48 * hour, megabytes = 40 } of containers) {
    if (newer === undefined) continue;
    registry.store.publish(newerImage, {
      version: newer,
      config: {
        Labels: { 'org.opencontainers.image.source': `https://example.com/${image.replace(/:.*/, '')}` },
        ...(plain !== true && { Healthcheck: { Test: ['CMD', 'probe'], Interval: 100e6, Timeout: 100e6, Retries: 2 } }),
      },
      ...(behaviour && { behaviour }),
      createdAtMs: Date.now() - ageMs,
      layers: [{ bytes: megabytes * 1e6 }],
    });
  }
}
