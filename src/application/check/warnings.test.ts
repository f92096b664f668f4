import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const everything = { images: [], containers: [] };

test('another updater is named at the start, and not again with each check, but again when it is another container', async () => {
  const { sandbox, startProcess } = createSandboxScene();
  const image = 'containrrr/watchtower:latest';
  sandbox.control.addImage(image, { version: '1' });
  const id = sandbox.control.runContainer('watchtower', { Image: image });
  const { outside, complaints, connection } = startProcess();
  const { recover, check } = createApplication(outside, defaultSettings);
  const said = () => complaints.filter((line) => line.includes('is an updater of the Watchtower family'));

  await recover();
  expect(said()).toEqual([expect.stringContaining('Container "watchtower" is')]);
  await check(everything);
  await check(everything);
  expect(said()).toHaveLength(1);

  await connection.engine.removeContainer(id);
  sandbox.control.runContainer('watchtower', { Image: image });
  await check(everything);
  expect(said()).toHaveLength(2);
});

test('a check alone names it too, and looks at the scope of its own container', async () => {
  const { sandbox, startProcess } = createSandboxScene();
  sandbox.control.addImage('upkeep', { version: '1' });
  const labels = (scope: string) => ({ Image: 'upkeep', Labels: { 'upkeep.scope': scope } });
  const containerId = sandbox.control.runContainer('own', labels('blue'));
  sandbox.control.runContainer('apart', labels('green'));
  sandbox.control.runContainer('double', labels('blue'));
  const { outside, complaints } = startProcess();
  const own = { ...outside, instance: { ...outside.instance, containerId } };
  await createApplication(own, defaultSettings).check(everything);
  expect(complaints.filter((line) => line.includes('is another Upkeep'))).toEqual([
    expect.stringContaining('Container "double" is another Upkeep'),
  ]);
});
