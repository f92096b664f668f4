import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { LabEngine } from '../lab/engine/engine.ts';
import { faultsAfter, lookBefore } from './rig/inspection.ts';
import { shapes } from './rig/shapes.ts';
import { type Circumstances, setStage } from './rig/stage.ts';

/**
 * A process in another PID namespace may be alive or dead: Upkeep cannot check it. Without a repair, the
 * report must not be a success.
 */

const shape = shapes.find(({ name }) => name.startsWith('always'))!;
const elsewhere: Circumstances = { within: ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'] };

describeInLab('an updater that died in another PID namespace', (lab) => {
  let engine: LabEngine;
  beforeAll(async () => void (engine = await lab.startEngine({ name: 'asked1' })));
  afterAll(() => engine.remove());

  test.each([
    ['inside of one, started outside', elsewhere, {}],
    ['outside, started inside of one', {}, elsewhere],
    ['in one, started in another', elsewhere, elsewhere],
  ] as const)('killed %s: it is repaired, or said that a repair is pending', async (_, first, second) => {
    const stage = await setStage(lab, engine, shape);
    const before = await lookBefore(stage, shape);
    await stage.run(['update'], {
      ...first,
      rules: (kill) => [
        {
          at: ({ path, change }) => change !== undefined && path.includes('/stop'),
          fault: { kind: 'kill', when: 'after', kill },
        },
      ],
    });
    expect((await stage.engine.inspect('web'))?.State.Running).toBe(false);
    const next = await stage.run(['update', '--json'], second);
    const faults = await faultsAfter(stage, shape, before);
    if (faults.length === 0) return;
    expect(next.output).toContain('repair pending');
    expect(next.code).not.toBe(0);
  });
});
