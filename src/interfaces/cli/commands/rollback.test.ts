import { expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { containerOutcome, session } from '../../../../test/support/scene/fake-application.ts';
import type { OutcomeKind } from '../../../domain/run/session.ts';
import { rollback } from './rollback.ts';

test.each<[OutcomeKind, number]>([
  ['updated', 0],
  ['rolled_back', 1],
  ['failed', 1],
  ['skipped', 3],
  ['deferred', 3],
])('a container that is %s ends the command with %i', async (outcome, code) => {
  const containers = [containerOutcome('web', { outcome }), containerOutcome('db', { outcome: 'updated' })];
  const { context } = createCommandScene(['rollback', 'web', 'db'], { update: () => session(containers) });
  expect(await rollback(context)).toBe(code);
});
