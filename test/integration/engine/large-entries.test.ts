import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';

/** An engine needs a second for each list with such a label, and several on a busy machine. */
const patient = { timeout: 240_000 };

/** One container's labels must not affect the others. */
describeInLab('containers that are too large to be read', (lab) => {
  const { engine, registry } = lab;
  const image = `${registry.host}/large/web:stable`;
  afterEach(() => engine.clear());

  async function scene() {
    await pushImage(registry, 'large/web', 'stable', catalogue.v1);
    await engine.pull(image);
    await engine.run('web', image);
    await engine.create('bulky', image, { Labels: { 'some.label': 'x'.repeat(66 * 1_048_576) } });
    // The list does not show the environment, so that only its inspection is too large.
    await engine.create('wordy', image, { Env: [`A=${'x'.repeat(9_000_000)}`] });
    await pushImage(registry, 'large/web', 'stable', catalogue.v2);
  }

  const upkeep = (...args: readonly string[]) => runUpkeep(args, { socket: engine.socket });

  test(
    'a label of 66 MB leaves out its own container, with a warning that names it, and no other',
    patient,
    async () => {
      await scene();
      const check = await upkeep('check', '--json', '--include-stopped');
      expect(check.code).toBe(0);
      const listed = (JSON.parse(check.stdout) as { containers: readonly { name: string; status: string }[] })
        .containers;
      expect(Object.fromEntries(listed.map(({ name, status }) => [name, status]))).toEqual({
        web: 'stale',
        wordy: 'held',
      });
      expect(check.stderr).toContain(String.raw`The container \"bulky\" (`);

      const update = await upkeep('update', '--json', '--include-stopped', '--health-window', '200ms');
      const { containers } = JSON.parse(update.stdout) as { containers: readonly { name: string; outcome: string }[] };
      expect(Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]))).toEqual({
        web: 'updated',
        wordy: 'skipped',
      });
      expect((await engine.inspect('bulky'))?.State.Status).toBe('created');
    },
  );

  test('the service starts, updates and hears of changes beside such a container', patient, async () => {
    await scene();
    const api = ['--http-api-endpoints', 'health,containers', '--http-api-port', '0'];
    const service = startUpkeep(['run', ...api, '--update-on-start', '--health-window', '200ms'], {
      socket: engine.socket,
      env: { UPKEEP_HTTP_API_TOKEN: 'a-token-of-the-test' },
    });
    await service.seen('web: updated');
    const [, address = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    const names = async () => {
      const headers = { authorization: 'Bearer a-token-of-the-test' };
      const reply = await fetch(`${address}/v1/containers`, { headers });
      const { containers = [] } = (await reply.json()) as { containers?: { name: string }[] };
      return containers.map(({ name }) => name);
    };
    await engine.run('later', image);
    await engine.call('POST', '/containers/bulky/rename?name=bulkier');
    await expect.poll(names, { timeout: 10_000 }).toEqual(expect.arrayContaining(['later', 'web']));
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });
});
