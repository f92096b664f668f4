import { expect, test } from 'vitest';
import { containerOutcome } from '../../../../test/support/scene/fake-application.ts';
import { createUnderWay } from './under-way.ts';

test('createUnderWay() names what has been begun in the engine and is not over', () => {
  const { hear, names } = createUnderWay();
  const enter = (container: string, phase: 'pulling' | 'preparing' | 'stopping') =>
    hear({ kind: 'phase_entered', runId: '1', container, phase });
  enter('db', 'pulling');
  enter('web', 'pulling');
  enter('web', 'preparing');
  enter('\u001b[2Japi', 'stopping');
  expect(names()).toEqual(['web', String.raw`\x1b[2Japi`]);
  hear({ kind: 'update_completed', runId: '1', outcome: containerOutcome('web'), atMs: 0 });
  expect(names()).toEqual([String.raw`\x1b[2Japi`]);
});
