import { expect, test } from 'vitest';
import { containerOutcome } from '../../../test/support/scene/fake-application.ts';
import { createRunProgress } from './status.ts';

const runId = 'r1';
const started = { kind: 'scan_started', runId, purpose: 'update', trigger: 'http', atMs: 5000 } as const;
const updating = (container: string) =>
  ({ kind: 'update_started', runId, container, image: 'i', from: '', to: '', atMs: 5000 }) as const;
const pulled = (bytes: number, totalBytes: number) =>
  ({
    kind: 'pull_progress',
    runId,
    container: 'web',
    progress: { layersDone: 0, layers: 1, bytes, totalBytes },
  }) as const;

test('a service under way is another entry than the container of the same name', () => {
  const { onEvent, read } = createRunProgress();
  for (const event of [started, updating('web'), { ...updating('web'), entryKind: 'service' } as const]) onEvent(event);
  onEvent({ kind: 'update_completed', runId, outcome: containerOutcome('web', { kind: 'service' }), atMs: 6000 });
  expect(read()?.containers).toEqual([{ name: 'web', phase: 'waiting' }]);
});

test('the run under way is told with the phases of its containers, until it ends', () => {
  const { onEvent, read } = createRunProgress();
  expect(read()).toBeUndefined();
  for (const event of [started, updating('web'), updating('db'), pulled(1, 0)]) onEvent(event);
  expect(read()).toEqual({
    runId,
    trigger: 'http',
    startedAtMs: 5000,
    containers: [
      { name: 'web', phase: 'pulling' },
      { name: 'db', phase: 'waiting' },
    ],
  });
  onEvent(pulled(50, 75));
  expect(read()?.containers[0]).toEqual({ name: 'web', phase: 'pulling', percent: 66 });
  onEvent({ kind: 'phase_entered', runId, container: 'web', phase: 'checking health' });
  expect(read()?.containers[0]).toEqual({ name: 'web', phase: 'checking health' });
  onEvent({ kind: 'phase_entered', runId, container: 'db', phase: 'starting', tasks: { running: 2, wanted: 4 } });
  expect(read()?.containers[1]).toEqual({ name: 'db', phase: 'starting', tasks: { running: 2, wanted: 4 } });
  onEvent({ kind: 'update_completed', runId, outcome: containerOutcome('web'), atMs: 6000 });
  onEvent({ kind: 'phase_entered', runId: 'another', container: 'x', phase: 'stopping' });
  expect(read()?.containers.map(({ name }) => name)).toEqual(['db']);
  onEvent({ kind: 'scan_failed', runId, purpose: 'update', error: 'the engine is away', atMs: 7000 });
  expect(read()).toBeUndefined();
});

test('a rollback is told as one', () => {
  const { onEvent, read } = createRunProgress();
  for (const event of [started, { ...updating('web'), isRollback: true } as const]) onEvent(event);
  expect(read()).toMatchObject({ isRollback: true, containers: [{ name: 'web' }] });
});

test('a check is no run', () => {
  const { onEvent, read } = createRunProgress();
  onEvent({ ...started, purpose: 'check' });
  expect(read()).toBeUndefined();
});
