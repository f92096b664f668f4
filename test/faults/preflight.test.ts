import type { Engine } from '../../src/domain/outside/outside.ts';
import { expect, test } from 'vitest';
import { runTransaction } from '../../src/application/transaction/run-transaction.ts';
import { defaultSettings } from '../../src/domain/settings/effective-settings.ts';
import { createSandboxScene } from '../support/scene/sandbox-outside.ts';

const image = 'registry.test/app:stable';

test('a successor that the engine makes otherwise than asked is called off before anything is stopped', async () => {
  const { sandbox, registry, clock, startProcess } = createSandboxScene();
  registry.store.publish(image, { version: '1' });
  await sandbox.engine.pullImage({ reference: image });
  const id = sandbox.control.runContainer('web', { Image: image, HostConfig: { Memory: 64_000_000 } });
  const { digest } = registry.store.publish(image, { version: '2' });
  const container = (await sandbox.engine.inspectContainer(id))!;
  const { outside, connection } = startProcess();
  const forgetful: Engine = {
    ...outside.engine,
    createContainer: (name, recipe) => {
      const host = recipe.body['HostConfig'] as object;
      return outside.engine.createContainer(name, {
        ...recipe,
        body: { ...recipe.body, HostConfig: { ...host, Memory: 0 } },
      });
    },
  };
  const planned = {
    id,
    after: [],
    requires: [],
    members: [
      {
        container,
        cause: 'stale' as const,
        reference: image,
        digest,
        hardDependencies: [],
        desiredEndState: 'running' as const,
        waitsFor: [],
      },
    ],
  };

  const [outcome] = await clock.run(() =>
    runTransaction({ ...outside, engine: forgetful }, defaultSettings, planned, { runId: 'run' }),
  );

  expect(outcome).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('HostConfig.Memory') });
  expect(connection.calls.map(({ kind }) => kind)).not.toContain('stopContainer');
  expect(Object.entries(sandbox.control.snapshot().containers).map(([name, { running }]) => [name, running])).toEqual([
    ['web', true],
  ]);
});
