import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { composeLabels, effectsScene } from './effects/scene.ts';

/** Warnings about other updaters on the same engine. */
describeInLab('other updaters on a real engine', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  async function runImage(name: string, repository: string, config: object = {}): Promise<void> {
    await pushImage(registry, repository, 'latest', catalogue['plain-v1']);
    const image = `${registry.host}/${repository}:latest`;
    await engine.pull(image);
    await engine.run(name, image, { StopTimeout: 1, ...config });
  }

  const warningsIn = (stderr: string) =>
    stderr
      .split('\n')
      .filter((line) => line.includes('on the same engine'))
      .map((line) => (JSON.parse(line) as { readonly msg: string }).msg);

  test('are named once in a run that lists twice, and not by a check, which updates nothing; one with another scope is not', async () => {
    await runImage('the-watchtower', 'containrrr/watchtower');
    await runImage('apart', 'nickfedor/watchtower', { Labels: { 'com.centurylinklabs.watchtower.scope': 'blue' } });
    await runImage('web', 'other/web');
    const expected = [expect.stringContaining('Container "the-watchtower" is an updater of the Watchtower family')];

    const run = await runUpkeep(['run', '--run-once'], { socket: engine.socket });
    expect(run.code, run.stderr).toBe(0);
    expect(warningsIn(run.stderr)).toEqual(expected);
    const check = await runUpkeep(['check'], { socket: engine.socket });
    expect(check.code, check.stderr).toBe(0);
    expect(warningsIn(check.stderr)).toEqual([]);

    await engine.call('POST', '/containers/the-watchtower/stop');
    const next = await runUpkeep(['run', '--run-once'], { socket: engine.socket });
    expect(warningsIn(next.stderr)).toEqual([]);
  });

  test.each([
    ['web.service', {}],
    ['container-shop@web.service', {}],
    // As Quadlet runs it.
    ['photos.service', { HostConfig: { AutoRemove: true } }],
  ])(
    'systemd with the unit %s keeps a container of Podman as it is, and the check says so; it is not restarted either',
    async (unit, more) => {
      const { stale, inspect } = effectsScene(lab, 'units');
      const { check, update } = upkeepScene({ socket: engine.socket });
      const Labels = { ...composeLabels('unit', 'plain:service_started:true'), PODMAN_SYSTEMD_UNIT: unit };
      await stale('plain', { config: { StopTimeout: 1, Labels: composeLabels('plain') } });
      await stale('of-a-unit', { config: { StopTimeout: 1, Labels, ...more } });
      const before = await inspect('of-a-unit');
      const checked = (await check())['of-a-unit'];
      const { outcomes: updated } = await update();
      expect(updated['plain']).toMatchObject({ outcome: 'updated' });
      // With Docker the label is a label like any other.
      if (!isPodman) {
        if (!('HostConfig' in more)) expect(updated['of-a-unit']).toMatchObject({ outcome: 'updated' });
        return;
      }
      const reason = `run by the systemd unit "${unit}", which would start the old container again, and Upkeep cannot restart that unit: `;
      expect(checked).toMatchObject({ status: 'held', hold: 'not-replaceable' });
      expect(checked?.reason).toContain(reason);
      expect(updated['of-a-unit']).toMatchObject({ outcome: 'skipped' });
      expect(updated['of-a-unit']?.reason).toContain(`${reason}Upkeep has no folder for a record of its restart`);
      const { Id, State } = await inspect('of-a-unit');
      expect([Id, State.StartedAt]).toEqual([before.Id, before.State.StartedAt]);
    },
  );
});
