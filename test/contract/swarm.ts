import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { swarmChangingRows } from './swarm/changing.ts';
import { swarmClaimRows } from './swarm/claims.ts';
import type { SwarmFixture } from './swarm/fixture.ts';
import { swarmReadingRows } from './swarm/reading.ts';

/** Contract of every `Swarm`: the same rows for the sandbox and a real one of three nodes. */
export function swarmContract(name: string, setup: () => Promise<SwarmFixture>): void {
  describe(`${name} is a Swarm`, () => {
    let fixture: SwarmFixture;
    beforeAll(async () => {
      fixture = await setup();
    });
    afterEach(() => fixture.reset());
    afterAll(() => fixture?.close());
    for (const rows of [swarmReadingRows, swarmChangingRows, swarmClaimRows]) rows(() => fixture);
  });
}
