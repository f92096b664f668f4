import { expect, test } from 'vitest';
import { containerOutcome, session } from '../../../test/support/scene/fake-application.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import { createLastOutcomes } from './inventory.ts';

const ended = (runId: string, ...containers: readonly ContainerOutcome[]): ServiceEvent => ({
  kind: 'scan_completed',
  runId,
  purpose: 'update',
  scanned: 1,
  updated: 0,
  failed: 0,
  restarted: 0,
  skipped: 0,
  atMs: 9000,
  session: { ...session(containers), runId },
});

test('the newest outcome with news is kept, and one of a run without news does not hide it', () => {
  const outcomes = createLastOutcomes();
  const failed = containerOutcome('web', { outcome: 'rolled_back', reason: 'it exited' });
  outcomes.onEvent({ kind: 'update_failed', runId: 'r1', outcome: failed, atMs: 5000 });
  expect(outcomes.of({ name: 'web' })).toEqual({ outcome: failed, atMs: 5000, runId: 'r1' });
  outcomes.onEvent(ended('r1', { ...failed, from: '1', to: '2' }));
  expect(outcomes.of({ name: 'web' })).toMatchObject({ outcome: { from: '1', to: '2' }, atMs: 5000 });
  const before = outcomes.revision();
  outcomes.onEvent(ended('r2', containerOutcome('web')));
  expect([outcomes.of({ name: 'web' })?.runId, outcomes.revision()]).toEqual(['r1', before]);
  outcomes.onEvent(ended('r3', containerOutcome('web', { outcome: 'updated' })));
  expect(outcomes.of({ name: 'web' })).toMatchObject({ outcome: { outcome: 'updated' }, atMs: 9000, runId: 'r3' });
  expect(outcomes.of({ name: 'db' })).toBeUndefined();
});

test('a service and a container of the same name have their own outcomes', () => {
  const outcomes = createLastOutcomes();
  const failed = containerOutcome('web', { outcome: 'rolled_back', reason: 'it exited', kind: 'service' });
  outcomes.onEvent({ kind: 'update_failed', runId: 'r1', outcome: failed, atMs: 5000 });
  outcomes.onEvent(ended('r1', failed, containerOutcome('web', { outcome: 'skipped', kind: 'container' })));
  expect(outcomes.of({ name: 'web', kind: 'service' })).toMatchObject({ outcome: failed, atMs: 5000 });
  expect(outcomes.of({ name: 'web', kind: 'container' })).toMatchObject({ outcome: { outcome: 'skipped' } });
});

test('a later run that only finds the container held back does not hide why', () => {
  const outcomes = createLastOutcomes();
  const failed = containerOutcome('web', { outcome: 'rolled_back', reason: 'it exited', log: 'fatal: no disk' });
  const held = containerOutcome('web', { outcome: 'skipped', verdict: 'held', reason: 'failed here today' });
  outcomes.onEvent(ended('r1', failed));
  outcomes.onEvent(ended('r2', held));
  expect(outcomes.of({ name: 'web' })).toMatchObject({ outcome: failed, runId: 'r1' });
  outcomes.onEvent(ended('r3', containerOutcome('web', { outcome: 'deferred', reason: 'another run has begun' })));
  expect(outcomes.of({ name: 'web' })).toMatchObject({ outcome: { outcome: 'deferred' } });
  outcomes.onEvent(ended('r4', { ...held, name: 'db' }));
  expect(outcomes.of({ name: 'db' })).toMatchObject({ outcome: { verdict: 'held' } });
});
