import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabRegistry } from '../../lab/registry/registry.ts';
import { updateDoor } from './door.ts';
import { engineTeam, shareOut } from './engine-team.ts';
import { campaigns, type Incident } from './campaigns.ts';

export type DoorScope = {
  /** The point to repeat, named as in a failure. */
  readonly only?: string | undefined;
  readonly reportFile?: string | undefined;
  /** Only shapes with one of these words in their name. */
  readonly words: readonly string[];
};

/** Campaign P: the helper, or Upkeep before there is one, dies at every call; then dockerd does. */
export function describeDoors({ only, reportFile, words }: DoorScope): void {
  const title = 'The proxy that leads to the engine is updated, and the updater or dockerd is killed';
  const incidents: readonly (Incident & { readonly engineDies: boolean })[] = ['A', 'C'].flatMap((letter) => {
    const { incidents: own = [], engineDies = false } = campaigns[letter] ?? {};
    return own.map((incident) => ({ ...incident, engineDies }));
  });
  const shapes = [
    { name: 'own socket proxy', good: true },
    { name: 'own socket proxy, the new version ends at once', good: false },
  ].filter(({ name }) => words.some((word) => name.includes(word)));

  describeInLab(`P: ${title}`, (lab) => {
    const args = ['--insecure-registry', '198.18.0.0/16'];
    const { engines, note } = engineTeam(lab, { letter: 'P', title, args, reportFile });
    let registry: LabRegistry;
    beforeAll(async () => void (registry = await lab.startRegistry({ address: '198.18.0.1' })));
    afterAll(() => registry.remove());

    test.each(shapes)('$name', { timeout: 7_200_000 }, async ({ name, good }) => {
      const [first] = engines;
      if (first === undefined) throw new Error('there is no engine');
      const clean = await updateDoor({ engine: first, registry }, good);
      expect(clean.faults).toEqual([]);
      const points = clean.calls
        .flatMap(({ change = 0 }) => incidents.map((incident) => ({ change, incident })))
        .filter(({ change, incident }) => only === undefined || only === `${incident.name} ${change}`);
      const results = await shareOut({ engines }, points, async (engine, { change, incident }) => {
        const restarts: Promise<unknown>[] = [];
        const restart = (work: Promise<unknown>) => void restarts.push(work);
        const fault = (kill: () => void) => incident.fault({ engine, kill, restart });
        const { engineDies } = incident;
        const { faults } = await updateDoor({ engine, registry }, good, { change, fault, restarts, engineDies });
        return { point: `${incident.name} ${change}`, faults };
      });
      const lost = results.filter(({ faults }) => faults.length > 0);
      note({ shape: name, points: results.length, lost: lost.length, byEngine: 0 });
      expect(lost.map(({ point, faults }) => `--point "${point}": ${faults.join('; ')}`)).toEqual([]);
    });
  });
}
