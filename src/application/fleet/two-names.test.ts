import { expect, onTestFinished, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createFleetScene } from '../../../test/support/scene/fleet-scene.ts';

test('an update through one name of an engine is not repaired through its other name', async () => {
  const clock = createFakeClock({ auto: true });
  const scene = createFleetScene({ names: ['near', 'also'], sameAs: { also: 'near' }, clock });
  onTestFinished(() => scene.close());
  const { application, registry, events } = scene;
  registry.store.publish('app:1', { version: '1' });
  await scene.run('near', 'web', 'app:1');
  registry.store.publish('app:1', { version: '2' });
  const request = { images: [], containers: [], trigger: 'http' } as const;
  const isBegun = new Promise<void>((resolve) => {
    application.subscribe((event) => {
      if (event.kind === 'phase_entered' && event.phase === 'checking health') resolve();
    });
  });
  const update = application.update({ ...request, engines: ['near'] });
  await isBegun;
  await application.update({ ...request, engines: ['also'] });
  const { containers } = await update;
  expect(containers.map(({ outcome }) => outcome)).toEqual(['updated']);
  expect(events.filter(({ kind }) => kind === 'earlier_updates_settled')).toEqual([]);
});
