import type { HostConfig } from '../../src/domain/container/container.ts';
import { behaviours, type Behaviour } from '../base/behaviour.ts';
import type { Misbehaviour } from '../registry/registry-store.ts';

/** A container of the demonstration. */
export type DemoContainer = {
  readonly name: string;
  readonly image: string;
  /** `digest`: it is created from the digest; `build`: its image is in no registry. */
  readonly from?: 'digest' | 'build';
  readonly labels?: Readonly<Record<string, string>>;
  readonly healthcheck?: boolean;
  /** The name of the container whose network it shares. */
  readonly networkOf?: string;
  readonly host?: HostConfig;
  readonly behaviour?: Behaviour;
};

/** In the order in which they are created. */
export const demoContainers: readonly DemoContainer[] = [
  {
    name: 'db',
    image: 'postgres:16',
    healthcheck: true,
    behaviour: { stopMs: 400, health: { kind: 'healthy', afterMs: 800 } },
    host: { Binds: ['db-data:/var/lib/postgresql/data'] },
  },
  { name: 'cache', image: 'redis:7', from: 'digest' },
  { name: 'api', image: 'ghcr.io/acme/api:2', labels: { 'upkeep.depends-on': 'db' }, behaviour: { stopMs: 200 } },
  {
    name: 'web',
    image: 'nginx:1.27',
    labels: { 'upkeep.depends-on': 'api' },
    host: { PortBindings: { '80/tcp': [{ HostPort: '8080' }] } },
  },
  { name: 'worker', image: 'ghcr.io/acme/worker:latest' },
  { name: 'shop', image: 'registry.example.com/shop:stable', healthcheck: true },
  { name: 'vpn', image: 'qmcgaw/gluetun:v3', behaviour: { stopMs: 300 } },
  { name: 'torrent', image: 'linuxserver/transmission:4.0.6', networkOf: 'vpn' },
  { name: 'wiki', image: 'requarks/wiki:2', labels: { 'upkeep.monitor-only': 'true' } },
  { name: 'tools', image: 'tools:dev', from: 'build' },
];

/** Events of the demo before a check. */
export type DemoRound = {
  readonly releases: readonly DemoRelease[];
  /** From this round to the next. */
  readonly trouble?: { readonly host: string; readonly misbehaviour: Misbehaviour; readonly story: string };
};

export type DemoRelease = { readonly image: string; readonly behaviour?: Behaviour; readonly story: string };

/** Over and over again. */
export const demoRounds: readonly DemoRound[] = [
  {
    releases: [
      { image: 'nginx:1.27', story: 'a new release' },
      { image: 'postgres:16', story: 'a new release; its volume stays' },
    ],
  },
  {
    releases: [
      {
        image: 'ghcr.io/acme/worker:latest',
        behaviour: behaviours.crashesAtStart,
        story: 'a release that crashes at its start',
      },
    ],
  },
  {
    releases: [
      { image: 'ghcr.io/acme/worker:latest', story: 'the crash is fixed' },
      { image: 'qmcgaw/gluetun:v3', story: 'a new release; torrent shares its network, so both move together' },
    ],
  },
  {
    releases: [
      {
        image: 'registry.example.com/shop:stable',
        behaviour: behaviours.neverHealthy,
        story: 'a release that never becomes healthy',
      },
    ],
  },
  {
    releases: [
      { image: 'registry.example.com/shop:stable', story: 'healthy again' },
      { image: 'ghcr.io/acme/api:2', story: 'a new release' },
    ],
    trouble: { host: 'ghcr.io', misbehaviour: { kind: 'unreachable' }, story: 'does not answer, so nobody can tell' },
  },
  {
    releases: [{ image: 'requarks/wiki:2', story: 'a new release, but wiki is only monitored; ghcr.io answers again' }],
  },
];
