import { expect, test } from 'vitest';
import { applicationWith, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

test('an engine that does not answer in the middle of an update is told once, and the update goes on when it is back', async () => {
  const { scene } = await createStaleWeb();
  const { outside, complaints } = scene.startProcess();
  const { control } = scene.sandbox;
  const application = applicationWith(outside, {
    async stopContainer(id, order) {
      const outcome = await outside.engine.stopContainer(id, order);
      control.stopEngine('graceful');
      void scene.clock.sleep(60_000).then(control.startEngine);
      return outcome;
    },
  });
  const { containers } = await scene.clock.run(() => application.update(updateAll));
  expect(containers).toMatchObject([{ name: 'web', outcome: 'updated' }]);
  expect(complaints.filter((line) => line.includes('does not answer'))).toHaveLength(1);
});
