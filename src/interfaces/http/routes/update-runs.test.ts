import { expect, test } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { createUpdateRuns } from './update.ts';

test('an update that is requested after the stop does not begin', async () => {
  const runs = createUpdateRuns(createFakeClock());
  await runs.stop();
  const begin = () => Promise.reject(new Error('it has begun'));
  const request = { begin, isQueued: true, inBackground: false, timeoutMs: 1000 };
  await expect(runs.answer(request, undefined as never)).rejects.toMatchObject({
    problem: { status: 503, message: 'the service is stopping' },
  });
});
