import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { createPublisher } from './history.ts';

const event = { kind: 'containers_selected', runId: 'r', names: [] } as const;

test('publish() tells all in order; a listener that throws is logged and kept', () => {
  const { outside, complaints } = createSandboxScene().startProcess();
  const { publish, subscribe } = createPublisher(outside.log);
  const heard: string[] = [];
  subscribe(() => {
    heard.push('bad');
    throw new Error('boom');
  });
  subscribe(() => heard.push('good'));
  publish(event);
  publish(event);
  expect(heard).toEqual(['bad', 'good', 'bad', 'good']);
  expect(complaints).toEqual(['A listener of events failed', 'A listener of events failed']);
});

test('subscribe() returns the way out, and the same listener may listen twice', () => {
  const { publish, subscribe } = createPublisher(createSandboxScene().startProcess().outside.log);
  let heard = 0;
  const listener = () => void (heard += 1);
  const leave = subscribe(listener);
  subscribe(listener);
  publish(event);
  leave();
  leave();
  publish(event);
  expect(heard).toBe(3);
});
