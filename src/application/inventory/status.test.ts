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
  const { hear, read } = createRunProgress();
  for (const event of [started, updating('web'), { ...updating('web'), entryKind: 'service' } as const]) hear(event);
  hear({ kind: 'update_completed', runId, outcome: containerOutcome('web', { kind: 'service' }), atMs: 6000 });
  expect(read()?.containers).toEqual([{ name: 'web', phase: 'waiting' }]);
});

test('the run under way is told with the phases of its containers, until it ends', () => {
  const { hear, read } = createRunProgress();
  expect(read()).toBeUndefined();
  for (const event of [started, updating('web'), updating('db'), pulled(1, 0)]) hear(event);
  expect(read()).toEqual({
    runId,
    trigger: 'http',
    startedAtMs: 5000,
    containers: [
      { name: 'web', phase: 'pulling' },
      { name: 'db', phase: 'waiting' },
    ],
  });
  hear(pulled(50, 75));
  expect(read()?.containers[0]).toEqual({ name: 'web', phase: 'pulling', percent: 66 });
  hear({ kind: 'phase_entered', runId, container: 'web', phase: 'checking health' });
  expect(read()?.containers[0]).toEqual({ name: 'web', phase: 'checking health' });
  hear({ kind: 'phase_entered', runId, container: 'db', phase: 'starting', tasks: { running: 2, wanted: 4 } });
  expect(read()?.containers[1]).toEqual({ name: 'db', phase: 'starting', tasks: { running: 2, wanted: 4 } });
  hear({ kind: 'update_completed', runId, outcome: containerOutcome('web'), atMs: 6000 });
  hear({ kind: 'phase_entered', runId: 'another', container: 'x', phase: 'stopping' });
  expect(read()?.containers.map(({ name }) => name)).toEqual(['db']);
  hear({ kind: 'scan_failed', runId, purpose: 'update', error: 'the engine is away', atMs: 7000 });
  expect(read()).toBeUndefined();
});

test('a rollback is told as one', () => {
  const { hear, read } = createRunProgress();
  for (const event of [started, { ...updating('web'), isRollback: true } as const]) hear(event);
  expect(read()).toMatchObject({ isRollback: true, containers: [{ name: 'web' }] });
});

test('a check is no run', () => {
  const { hear, read } = createRunProgress();
  hear({ ...started, purpose: 'check' });
  expect(read()).toBeUndefined();
});
