import { expect, test } from 'vitest';
import type { StepEvent } from '../service/parts.ts';
import { createPullThrottle } from './event-streams.ts';

const pull = (container: string): StepEvent => ({
  kind: 'pull_progress',
  runId: 'run',
  container,
  progress: { layersDone: 0, layers: 1, bytes: 1, totalBytes: 2 },
});

function start() {
  let nowMs = 0;
  return { ...createPullThrottle({ monotonicMs: () => nowMs }), pass: (ms: number) => (nowMs += ms) };
}

test('pull progress is sent four times a second for each container, and at once after a new phase', () => {
  const { isDue, pass } = start();
  expect([isDue(pull('web')), isDue(pull('web')), isDue(pull('db'))]).toEqual([true, false, true]);
  pass(249);
  expect(isDue(pull('web'))).toBe(false);
  pass(1);
  expect([isDue(pull('web')), isDue(pull('web'))]).toEqual([true, false]);
  expect(isDue({ kind: 'phase_entered', runId: 'run', container: 'web', phase: 'pulling' })).toBe(true);
  expect(isDue(pull('web'))).toBe(true);
});

test('each container has its own time, also after others are due again or have begun a new phase', () => {
  const { isDue, pass } = start();
  for (const name of ['web', 'db', 'api']) {
    expect(isDue(pull(name))).toBe(true);
    pass(100);
  }
  isDue({ kind: 'phase_entered', runId: 'run', container: 'web', phase: 'pulling' });
  expect(['web', 'db', 'api'].map((name) => isDue(pull(name)))).toEqual([true, false, false]);
  pass(50);
  expect(['web', 'db', 'api'].map((name) => isDue(pull(name)))).toEqual([false, true, false]);
  pass(100);
  expect(['web', 'db', 'api'].map((name) => isDue(pull(name)))).toEqual([false, false, true]);
});
