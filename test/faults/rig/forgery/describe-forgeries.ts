import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeInLab } from '../../../lab/describe-in-lab.ts';
import { anyForgeries, forgeryKinds } from './any-forgery.ts';
import { pushStreet } from '../people/engine-street.ts';
import { engineTeam, shareOut } from '../engine-team.ts';
import { harmOfForgeries, realLabels } from './forged-scene.ts';
import type { Shape } from '../shapes.ts';

export type ForgeryScope = {
  readonly shapes: readonly Shape[];
  readonly count: number;
  /** The same cases for the same seed. */
  readonly seed: number;
  readonly reportFile?: string | undefined;
};

/** Campaign N: forgers of all kinds beside updates of all shapes that are killed. */
export function describeForgeries({ shapes, count, seed, reportFile }: ForgeryScope): void {
  const title = 'The updater is killed, and someone forges journals';
  describeInLab(`N: ${title}`, (lab) => {
    const team = engineTeam(lab, { letter: 'N', title, reportFile });
    test('nothing of others changes, and the update beside them is repaired', { timeout: 7_200_000 }, async () => {
      await pushStreet(lab);
      const real = await realLabels(lab, team.engines[0]!, shapes[0]!);
      const cases = fc.sample(anyCase(shapes), { numRuns: count, seed });
      const results = await shareOut(team, cases, async (engine, { scene, forgeries }) => ({
        shape: scene.shape.name,
        said: `${scene.kind}, ${scene.shape.name}, killed ${scene.when} ${scene.killedAt}: ${JSON.stringify(forgeries)}`,
        harm: await harmOfForgeries(lab, engine, { ...scene, forgeries, real }),
      }));
      for (const { name } of shapes) {
        const own = results.filter(({ shape }) => shape === name);
        const lost = own.filter(({ harm }) => harm.length > 0).length;
        team.note({ shape: name, points: own.length, lost, byEngine: 0 });
      }
      const bad = results.filter(({ harm }) => harm.length > 0);
      expect(bad.map(({ said, harm }) => `${harm.join('; ')} (${said})`)).toEqual([]);
      expect(results).toHaveLength(count);
    });
  });
}

function anyCase(shapes: readonly Shape[]) {
  const anyScene = fc.record({
    shape: fc.constantFrom(...shapes),
    killedAt: fc.integer({ min: 1, max: 20 }),
    when: fc.constantFrom('before', 'after'),
    flags: fc.constantFrom<string[][]>([], ['--monitor-only'], ['--label-enable'], ['--scope', 'ours'], ['--cleanup']),
    kind: fc.constantFrom(...forgeryKinds),
  });
  return anyScene.chain((scene) => fc.record({ scene: fc.constant(scene), forgeries: anyForgeries(scene.kind) }));
}
