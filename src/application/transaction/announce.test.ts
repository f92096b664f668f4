import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createPhaseWatch } from './run-transaction.ts';

test('a phase lasts until the next one of the same container; one that comes again adds up', async () => {
  const clock = createFakeClock({ auto: true });
  const watch = createPhaseWatch(clock);
  watch.enter('web', 'pulling');
  await clock.sleep(100);
  watch.enter('db', 'pulling');
  watch.enter('web', 'stopping');
  await clock.sleep(20);
  watch.enter('web', 'pulling');
  await clock.sleep(3);
  expect(watch.read('web')).toEqual({ pulling: 103, stopping: 20 });
  expect(watch.read('db')).toEqual({ pulling: 23 });
  expect(watch.read('other')).toBeUndefined();
});
