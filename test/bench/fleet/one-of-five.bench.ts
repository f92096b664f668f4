import { expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { followEvents } from '../../support/http/event-reader.ts';
import { engineFaults } from '../../support/scene/engine-faults.ts';
import { five, four, startFiveEngines } from '../../support/scene/five-engines.ts';
import { serveFleet, updatedEngines } from '../../support/scene/serve-fleet.ts';
import { median, reportRatio } from '../rig/ratios.ts';

/** The floor: the same update by a service without the fifth engine. */
describeInLab('four engines of five', (lab) => {
  const rounds = 3;
  const most = 1.2;

  test('are updated while something happens to the fifth', { timeout: 3_600_000 }, async () => {
    const fleet = await startFiveEngines(lab, 'bench-fleet/app');
    onTestFinished(() => fleet.remove());

    /** The time until the four are updated. */
    async function measure(names: readonly string[], strike = () => {}, heal = async () => {}): Promise<number> {
      const upkeep = await serveFleet(fleet.hosts(names), { args: ['--health-window', '500ms'] });
      await upkeep.lists(names.length);
      const events = await followEvents(upkeep.url);
      await fleet.release();
      strike();
      const begunAt = performance.now();
      const update = upkeep.ask('/v1/update', 'POST');
      await expect
        .poll(() => updatedEngines(events), { timeout: 60_000, interval: 5 })
        .toEqual(expect.arrayContaining([...four]));
      const ms = performance.now() - begunAt;
      await heal();
      await update;
      if (names.includes('five')) {
        await expect.poll(() => upkeep.isReachable('five'), { timeout: 90_000, interval: 200 }).toBe(true);
        await upkeep.read('/v1/update?engine=five', 'POST');
      }
      events.end();
      await upkeep.stop();
      return ms;
    }

    for (const { name, strike, heal } of engineFaults) {
      const [floors, times]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        floors.push(await measure(four));
        times.push(
          await measure(
            five,
            () => strike(fleet.fifth),
            () => heal(fleet.fifth),
          ),
        );
      }
      reportRatio(`four engines while the fifth ${name}`, median(times), median(floors), most);
    }
  });
});
