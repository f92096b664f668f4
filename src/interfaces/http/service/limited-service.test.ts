import { describe, expect, test } from 'vitest';
import { aTrackedContainer } from '../../../../test/support/scene/tracked-container.ts';
import type { ComposeState } from '../../../domain/compose/compose-state.ts';
import type { Inventory, TrackedContainer } from '../../../domain/inventory.ts';
import { limitService } from './limited-service.ts';
import type { Service } from './parts.ts';

const shared: ComposeState = { state: 'refused', reason: 'shared', detail: 'vault has it', services: ['vault'] };

const inventory: Inventory = {
  revision: 1,
  known: true,
  scope: '',
  containers: [aTrackedContainer({ name: 'app', compose: shared }), aTrackedContainer({ id: 'c2', name: 'vault' })],
  unfinished: [],
  images: [],
  updatesAvailable: 0,
};
const whole = { inventory: () => inventory, history: () => [], unwatched: () => [] } as unknown as Service;
const limited = limitService(whole, { images: [], containers: ['app'] });

test('other services of a compose file are in no list and no event of a limited caller', () => {
  const { containers } = limited.service.inventory();
  expect(containers).toMatchObject([{ name: 'app', compose: { state: 'refused', reason: 'shared' } }]);
  const event = limited.limitEvent({ kind: 'compose_file', container: 'app', state: shared, atMs: 0 });
  expect(event).toMatchObject({ state: { detail: 'another container has it' } });
  expect(JSON.stringify([containers, event])).not.toContain('vault');
});

test('an event about the compose file of another container is not sent', () => {
  expect(limited.limitEvent({ kind: 'compose_file', container: 'vault', state: shared, atMs: 0 })).toBeUndefined();
});

test('of two containers of one name, on two engines, only the own one has events and is told of', () => {
  const containers = [
    aTrackedContainer({ name: 'app', engine: 'near', image: 'acme/app:1' }),
    aTrackedContainer({ id: 'c2', name: 'app', engine: 'far', image: 'other/app:1' }),
  ];
  const both = { ...whole, inventory: () => ({ ...inventory, containers }) } as unknown as Service;
  const { limitEvent, service } = limitService(both, { images: ['acme/*'], containers: [] });
  expect(service.inventory().containers).toMatchObject([{ engine: 'near' }]);
  const event = { kind: 'compose_file', container: 'app', state: shared, atMs: 0 } as const;
  expect(limitEvent({ ...event, engine: 'far' })).toBeUndefined();
  expect(limitEvent({ ...event, engine: 'near' })).toMatchObject({ container: 'app' });
});

test('a service of others with the name of an own container is neither decided about nor told of', async () => {
  const containers = [
    aTrackedContainer({ name: 'app', image: 'acme/app:1' }),
    aTrackedContainer({ id: 's1', name: 'app', image: 'vault:1', kind: 'service', updateAvailable: true }),
  ];
  const candidate = { digest: `sha256:${'a'.repeat(64)}`, tag: undefined } as const;
  const decision = { id: 'd1', container: 'app', kind: 'skip', digest: candidate.digest, by: 'anna', atMs: 0 } as const;
  const taken: string[] = [];
  const both = {
    ...whole,
    inventory: () => ({ ...inventory, containers }),
    notesOf: () => ({ name: 'app', image: 'vault:1', releases: [] }),
    decisions: {
      list: () => Promise.resolve([decision]),
      candidateOf: () => candidate,
      take: (request: { readonly by: string }) => Promise.resolve(taken.push(request.by)),
      withdraw: (_: string, by: string) => Promise.resolve(taken.push(by)),
    },
  } as unknown as Service;
  const { service } = limitService(both, { images: ['acme/*'], containers: [] });
  expect(service.decisions.candidateOf('app')).toBeUndefined();
  const request = { kind: 'approve', container: 'app', digest: candidate.digest, by: 'ci' } as const;
  expect(await service.decisions.take(request)).toMatchObject({ kind: 'conflict' });
  expect(await service.decisions.list()).toEqual([]);
  expect(await service.decisions.withdraw('d1', 'ci')).toBeUndefined();
  expect(service.notesOf('app')).toBeUndefined();
  expect(taken).toEqual([]);
  // A caller that may see both decides about both.
  const { service: wider } = limitService(both, { images: [], containers: ['app'] });
  expect(wider.decisions.candidateOf('app')).toEqual(candidate);
  expect(wider.notesOf('app')).toMatchObject({ image: 'vault:1' });
});

describe('a service of others with the name of an own container', () => {
  const ids = { oldImageId: '', newImageId: '', oldDigest: '', newDigest: '' };
  const counts = { scanned: 2, updated: 1, failed: 1, restarted: 0, skipped: 0, rolledBack: 0 };
  const own = {
    ...ids,
    kind: 'container',
    name: 'app',
    image: 'acme/app:1',
    outcome: 'updated',
    reason: 'done',
  } as const;
  const foreign = {
    ...own,
    kind: 'service',
    image: 'vault:1',
    outcome: 'failed',
    reason: 'the seal is broken',
  } as const;
  const run = { runId: 'r', trigger: 'command', timestampMs: 0, durationMs: 0, ...counts } as const;
  const { name, outcome, reason } = foreign;
  const past = { ...run, containers: [own, foreign], failures: [{ name, outcome, reason }] };
  const underWay = [
    { name: 'app', kind: 'container', phase: 'pulling' },
    { name: 'app', kind: 'service', phase: 'starting' },
  ] as const;
  const containers = [
    aTrackedContainer({ name: 'app', image: 'acme/app:1', kind: 'container' }),
    aTrackedContainer({ id: 's1', name: 'app', image: 'vault:1', kind: 'service' }),
  ];
  const both = {
    ...whole,
    inventory: () => ({ ...inventory, containers }),
    history: () => [past],
    status: () => ({ run: { runId: 'r', trigger: 'command', startedAtMs: 0, containers: underWay } }),
  } as unknown as Service;
  const { service, limitEvent, limitMetrics } = limitService(both, { images: ['acme/*'], containers: [] });
  const ofService = limitService(both, { images: ['vault'], containers: [] });

  test('has no steps', () => {
    const step = { kind: 'phase_entered', runId: 'r', container: 'app', phase: 'starting' } as const;
    expect(limitEvent({ ...step, entryKind: 'service' })).toBeUndefined();
    expect(limitEvent({ ...step, entryKind: 'container' })).toBeDefined();
    expect(limitEvent(step)).toBeDefined();
    expect(ofService.limitEvent({ ...step, entryKind: 'service' })).toBeDefined();
    expect(ofService.limitEvent(step)).toBeUndefined();
    const progress = { layersDone: 0, layers: 1, bytes: 0, totalBytes: 1 };
    const pull = { kind: 'pull_progress', runId: 'r', container: 'app', progress } as const;
    expect([limitEvent(pull), ofService.limitEvent(pull)]).toEqual([pull, undefined]);
  });

  test('is in no run under way', () => {
    expect(service.status().run?.containers).toEqual([underWay[0]]);
    expect(ofService.service.status().run?.containers).toEqual([underWay[1]]);
  });

  test('has no failure in the history', () => {
    expect(service.history()).toMatchObject([{ failures: [], containers: [{ outcome: 'updated' }] }]);
    expect(ofService.service.history()).toMatchObject([{ failures: [{ reason: 'the seal is broken' }] }]);
  });

  test('has no metrics', () => {
    const state = (image: string) => `upkeep_container_state{container="app",image="${image}",state="running"} 1`;
    const text = ['# HELP', state('acme/app:1'), state('vault:1'), 'upkeep_containers_scanned 2'].join('\n');
    expect(limitMetrics(text).split('\n')).toEqual(['# HELP', state('acme/app:1'), 'upkeep_containers_scanned 2']);
    expect(ofService.limitMetrics(text).split('\n')).toContain(state('vault:1'));
  });
});

test.each<[string, Partial<TrackedContainer>, number | undefined]>([
  ['not been checked', { staleness: undefined }, undefined],
  ['been checked in vain', { staleness: 'unknown' }, undefined],
  ['no newer version', { staleness: 'fresh' }, 0],
  ['a newer version', { staleness: 'stale', updateAvailable: true }, 1],
])('the number of updates of a limited caller whose container has %s is told as that', (_, changes, count) => {
  const containers = [
    aTrackedContainer({ name: 'app', engine: 'near', ...changes }),
    aTrackedContainer({ id: 'c2', name: 'vault', engine: 'near', staleness: 'stale', updateAvailable: true }),
  ];
  const engine = { name: 'near', reachable: true, containers: 2, updatesAvailable: 1 };
  const both = {
    ...whole,
    inventory: () => ({ ...inventory, containers, updatesAvailable: 1 }),
    status: () => ({ updatesAvailable: 1 }),
    engines: () => [engine],
  } as unknown as Service;
  const { service } = limitService(both, { images: [], containers: ['app'] });
  expect(service.inventory().updatesAvailable).toBe(count);
  expect(service.status().updatesAvailable).toBe(count);
  expect(service.engines?.()[0]?.updatesAvailable).toBe(count);
});
