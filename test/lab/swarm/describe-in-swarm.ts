import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { describeInLab } from '../describe-in-lab.ts';
import { isPodman } from '../engine/podman.ts';
import { startSwarm } from './swarm.ts';
import type { LabSwarm, SwarmOptions } from './swarm.ts';

/**
 * `describe()` for tests that need a swarm of three nodes. The swarm starts before the first test, is repaired and
 * emptied after each, and removed after the last. Podman has no swarm, so the tests do not exist there.
 */
export function describeInSwarm(name: string, options: SwarmOptions, suite: (swarm: () => LabSwarm) => void): void {
  if (isPodman) return;
  describeInLab(name, (lab) => {
    let swarm: LabSwarm | undefined;
    const currentSwarm = (): LabSwarm => {
      expect(swarm, 'the swarm').toBeDefined();
      return swarm as LabSwarm;
    };
    beforeAll(async () => {
      swarm = await startSwarm(lab, options);
    });
    afterEach(() => swarm?.reset());
    afterAll(() => swarm?.remove());
    suite(currentSwarm);
  });
}
