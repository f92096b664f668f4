import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createServiceClient } from '../../../src/adapters/service/client.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { openDecisions } from '../../../src/composition/memory.ts';
import { createDecide, createUnskip } from '../../../src/interfaces/cli/commands/decide.ts';
import {
  type DecisionSource,
  createLocalDecisions,
  createRemoteDecisions,
} from '../../../src/interfaces/cli/context/decision-sources.ts';
import { createTestLog } from '../../support/test-log.ts';
import { apiToken, startHttp } from '../../support/http/http-scene.ts';
import { createCommandScene } from '../../support/scene/command-scene.ts';
import { createFleetScene, type FleetScene } from '../../support/scene/fleet-scene.ts';

const hosts = ['--host', 'near=tcp://near', '--host', 'far=tcp://far'];

/** `web` waits for a version on both engines, `db` on one. */
async function openFleet(): Promise<FleetScene> {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-decisions-'));
  const memoryOf = (engine: string) => openDecisions(folder, { log: createTestLog() }, engine);
  const scene = createFleetScene({ names: ['near', 'far'], clock: createSystemClock(), memoryOf });
  onTestFinished(async () => {
    await scene.close();
    rmSync(folder, { recursive: true });
  });
  for (const name of ['web', 'db']) scene.registry.store.publish(`${name}:1`, { version: '1' });
  for (const engine of ['near', 'far']) await scene.run(engine, 'web', 'web:1');
  await scene.run('near', 'db', 'db:1');
  scene.registry.store.publish('db:1', { version: '2' });
  await scene.run('far', 'db', 'db:1');
  scene.registry.store.publish('web:1', { version: '2' });
  await scene.application.follow();
  await scene.application.check({ images: [], containers: [] });
  return scene;
}

const sources: Readonly<Record<string, (scene: FleetScene) => Promise<DecisionSource>>> = {
  'in this process': ({ application }) => Promise.resolve(createLocalDecisions(application)),
  'at a running service': async ({ application }) => {
    const http = await startHttp(application);
    onTestFinished(http.stop);
    const parts = { clock: createSystemClock(), log: createTestLog() };
    return createRemoteDecisions(createServiceClient({ url: http.url, token: apiToken, ...parts }));
  },
};

describe.each(Object.entries(sources))('decisions about containers of several engines %s', (_where, open) => {
  async function run(scene: FleetScene, ...words: readonly string[]) {
    const [word = ''] = words;
    const { context, fake } = createCommandScene([...words, ...hosts]);
    const source = await open(scene);
    const code = await (word === 'unskip' ? createUnskip(source) : createDecide('skip', source))(context);
    return { code, out: fake.out(), err: fake.err() };
  }

  test('a name that waits on both is refused, and decided about with --engine', async () => {
    const scene = await openFleet();
    const unclear = await run(scene, 'skip', 'web');
    expect(unclear).toMatchObject({ code: 1, out: '' });
    expect(unclear.err).toContain('Cannot skip "web": it is on several engines (near, far): name one with --engine');
    const named = await run(scene, 'skip', 'web', '--engine', 'far');
    expect(named).toMatchObject({ code: 0, out: expect.stringMatching(/^far\/web: skipped /), err: '' });
    const { containers } = await scene.application.check({ images: [], containers: ['web'] });
    expect(containers).toMatchObject([
      { engine: 'near', status: 'stale' },
      { engine: 'far', status: 'held', hold: 'skipped' },
    ]);
  });

  test('of a name on both, the one that waits is meant', async () => {
    const scene = await openFleet();
    expect(await run(scene, 'skip', 'db')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^near\/db: skipped /),
    });
  });

  test('several names of one container are one decision', async () => {
    const scene = await openFleet();
    expect(await run(scene, 'skip', 'db', 'd.*', '--engine', 'near')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^near\/db: skipped .*\n$/),
    });
    expect(await run(scene, 'unskip', 'db', 'd.*')).toMatchObject({ code: 0, err: '' });
  });

  test('what was decided on both is taken back on the one that is named', async () => {
    const scene = await openFleet();
    expect((await run(scene, 'skip', 'web', '--engine', 'near,far')).code).toBe(0);
    expect((await run(scene, 'unskip', 'web')).err).toContain('it is on several engines (near, far)');
    expect(await run(scene, 'unskip', 'web', '--engine', 'near')).toMatchObject({ code: 0 });
    expect(await scene.application.decisions.list()).toMatchObject([{ engine: 'far', container: 'web' }]);
  });
});
