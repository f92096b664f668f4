import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

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
});
