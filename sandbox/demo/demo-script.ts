import type { HostConfig } from '../../src/domain/container/container-settings.ts';
import type { Behaviour } from '../base/behaviour.ts';
import type { RegistryFault } from '../registry/registry-store.ts';

/** A container of the demonstration. */
export type DemoContainer = {
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
export const demoContainers: readonly DemoContainer[] = [
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
export type DemoRound = {
  readonly releases: readonly DemoRelease[];
  /** Lasts until the next round. */
  readonly trouble?: { readonly host: string; readonly misbehaviour: RegistryFault; readonly story: string };
};

export type DemoRelease = {
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
export const demoRounds: readonly DemoRound[] = [
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
