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

test.each([
  ['at once', 0],
  ['after a while', 90_000],
])(
  'failure 43: a stop signal %s does not wait for an engine that is gone, and the next start finishes the update',
  async (_, afterMs) => {
    const { scene } = await createStaleWeb();
    const { outside, connection: ours } = scene.startProcess();
    const { control } = scene.sandbox;
    const stopping = new AbortController();
    let abortedAtMs = 0;
    const application = applicationWith(outside, {
      async stopContainer(id, order) {
        const outcome = await outside.engine.stopContainer(id, order);
        control.stopEngine('graceful');
        void scene.clock.sleep(afterMs).then(() => {
          abortedAtMs = scene.clock.monotonicMs();
          stopping.abort();
        });
        return outcome;
      },
    });
    const { containers } = await scene.clock.run(() => application.update(updateAll, stopping.signal));
    expect(scene.clock.monotonicMs() - abortedAtMs).toBeLessThan(10_000);
    expect(containers).toMatchObject([{ name: 'web', outcome: 'failed' }]);

    ours.crash();
    control.startEngine();
    const { outside: later, connection } = scene.startProcess();
    await scene.clock.run(() => applicationWith(later, {}).recover());
    expect(await connection.engine.listContainers()).toMatchObject([{ name: 'web', status: 'running' }]);
  },
);

test('a stop signal during a repair does not wait for an engine that is gone', async () => {
  const { scene } = await createStaleWeb();
  const { control } = scene.sandbox;
  const dying = scene.sandbox.connect({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'before' } }] });
  const first = scene.startProcess(dying);
  await scene.clock.run(() => applicationWith(first.outside, {}).update(updateAll)).catch(() => undefined);
  dying.crash();

  const { outside } = scene.startProcess();
  const stopping = new AbortController();
  const application = applicationWith(outside, {
    async startContainer() {
      control.stopEngine('graceful');
      stopping.abort();
      return { kind: 'unknown', message: 'the engine is gone' };
    },
  });
  const begunAtMs = scene.clock.monotonicMs();
  const { transactions } = await scene.clock.run(() => application.recover(stopping.signal));
  expect(scene.clock.monotonicMs() - begunAtMs).toBeLessThan(10_000);
  expect(transactions).toMatchObject([{ containers: ['web'], result: 'failed' }]);
});
