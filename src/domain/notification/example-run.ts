import type { RunFacts, StartFacts } from './run-facts.ts';
import type { ContainerOutcome } from '../run/session.ts';

/** An example run with one container for each reported outcome. */
export function exampleRun(endedAtMs: number): RunFacts {
  const containers: readonly ContainerOutcome[] = [
    outcome('web', 'nginx:1.27', 'updated', '', { downtimeMs: 2100 }),
    outcome('db', 'postgres:16', 'fresh', ''),
    outcome('api', 'acme/api:2', 'rolled_back', 'The new version did not become healthy', {
      log: 'starting\nfatal: cannot open /data/app.db\n',
    }),
    outcome('worker', 'acme/worker:2', 'failed', 'The image could not be pulled: no space left on device'),
    outcome(
      'metrics',
      'prom/prometheus:v3',
      'skipped',
      'A newer image of "prom/prometheus:v3" is available; monitored only',
      { from: '3.1.0', to: '3.2.0', sourceUrl: 'https://github.com/prometheus/prometheus' },
    ),
    outcome('tool', 'acme/tool:1', 'unknown', 'The registry denies access'),
  ];
  return factsOf(endedAtMs, containers);
}

/** An example run that found everything up to date. */
export function exampleRunWithoutNews(endedAtMs: number): RunFacts {
  return factsOf(endedAtMs, [outcome('web', 'nginx:1.27', 'fresh', ''), outcome('db', 'postgres:16', 'fresh', '')]);
}

export function exampleStart(atMs: number, version: string): StartFacts {
  return {
    version,
    engineApiVersion: '1.52',
    services: ['discord', 'smtp'],
    scope: '',
    schedule: 'Updates every 24h',
    nextRunAtMs: atMs + 86_400_000,
    runOnce: false,
    updateOnStart: false,
    servesApi: false,
    atMs,
  };
}

function factsOf(endedAtMs: number, containers: readonly ContainerOutcome[]): RunFacts {
  const startedAtMs = endedAtMs - 65_000;
  const moved = containers.filter(({ outcome: kind }) => kind === 'updated' || kind === 'rolled_back');
  return {
    runId: '00000000-0000-4000-8000-000000000000',
    purpose: 'update',
    trigger: 'schedule',
    startedAtMs,
    endedAtMs,
    error: undefined,
    containers,
    news: new Set(containers.flatMap(({ name, outcome: kind }) => (kind === 'fresh' ? [] : [name]))),
    steps: moved.flatMap(({ name: key }) => [
      { kind: 'started', key, atMs: startedAtMs + 5000 } as const,
      { kind: 'ended', key, atMs: startedAtMs + 20_000 } as const,
    ]),
    removedImages: [],
    imageLabels: new Map([
      [
        idOf('web', 'd0a1'),
        {
          'org.opencontainers.image.source': 'https://github.com/nginx/docker-nginx',
          'org.opencontainers.image.version': '1.27.3',
        },
      ],
    ]),
  };
}

function outcome(
  name: string,
  image: string,
  kind: ContainerOutcome['outcome'],
  reason: string,
  parts: Partial<ContainerOutcome> = {},
): ContainerOutcome {
  const oldId = idOf(name, '01d1');
  const newId = kind === 'fresh' || kind === 'unknown' ? oldId : idOf(name, 'd0a1');
  return {
    name,
    containerId: idOf(name, 'c791').slice('sha256:'.length),
    ...(kind === 'updated' && { newContainerId: idOf(name, 'f00b').slice('sha256:'.length) }),
    image,
    outcome: kind,
    reason,
    oldImageId: oldId,
    // A container that is held back has no new image pulled.
    newImageId: kind === 'skipped' ? oldId : newId,
    oldDigest: oldId,
    newDigest: newId,
    ...parts,
  };
}

/** Looks like a real id, and is the same each time. */
function idOf(name: string, begin: string): string {
  const letters = Array.from(name, (letter) => (letter.codePointAt(0) ?? 0).toString(16)).join('');
  return `sha256:${(begin + letters).padEnd(64, '0').slice(0, 64)}`;
}
