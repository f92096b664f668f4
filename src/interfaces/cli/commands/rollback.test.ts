import { expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { digestOf, idOf } from '../../../../test/support/scene/builders.ts';
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

test('a container is said to be rolled back, not updated, while the command runs', async () => {
  const { context, fake } = createCommandScene(['rollback', 'web'], {
    update: (application) => {
      const change = { image: 'nginx:1.27', from: 'x', to: digestOf('old'), isRollback: true } as const;
      application.publish({ kind: 'update_started', runId: '1', container: 'web', ...change, atMs: 0 });
      return session([containerOutcome('web', { outcome: 'updated' })]);
    },
  });
  await rollback(context);
  expect(fake.out()).toContain(`web: rolling back nginx:1.27 to ${idOf('old').slice(0, 12)}\n`);
});
