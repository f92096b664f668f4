import { afterEach, expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { ask } from '../../support/http/http-scene.ts';
import { readMigratingPage } from '../../support/pages/migrating-page.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { withClockAt } from '../../support/clock/shifted-clock.ts';

/** Fifteen seconds before four o'clock in Berlin, where it is winter: a slow machine has started by then. */
const beforeFourMs = Date.UTC(2027, 0, 15, 2, 59, 45);

describeInLab('the compose file of docs/migrating-from-watchtower.md', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  test('starts as it stands there, serves its metrics, and updates when its schedule says so', async () => {
    const { argv, environment, volumes } = readMigratingPage();
    expect(volumes).toContain('/var/run/docker.sock:/var/run/docker.sock');
    const labelled = await stale('labelled', { 'com.centurylinklabs.watchtower.enable': 'true' });
    const other = await stale('other', {});

    const env = { ...environment, NODE_OPTIONS: withClockAt(beforeFourMs) };
    const service = startUpkeep(argv, { env });
    onTestFinished(() => void service.child.kill('SIGTERM'));
    await service.seen('Updates every day at 04:00 (Europe/Berlin)');
    await service.seen('labelled: updated');
    await service.seen('1 container checked, 1 updated, 0 failed');

    const token = argv[argv.indexOf('--http-api-token') + 1] ?? '';
    const { status, text } = await ask('http://127.0.0.1:8080', '/v1/metrics', { token });
    expect([status, text]).toEqual([200, expect.stringMatching(/_containers_updated 1$/m)]);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('"level":"error"')]);
    expect(await idOf('labelled')).not.toBe(labelled);
    expect(await idOf('other')).toBe(other);
  });

  /** A container whose tag has moved, and its id. */
  async function stale(name: string, Labels: Readonly<Record<string, string>>): Promise<string> {
    const image = `${registry.host}/migrating/${name}:stable`;
    await pushImage(registry, `migrating/${name}`, 'stable', catalogue['plain-v1']);
    await engine.pull(image);
    const id = await engine.run(name, image, { StopTimeout: 2, Labels });
    await pushImage(registry, `migrating/${name}`, 'stable', catalogue['plain-v2']);
    return id;
  }

  async function idOf(name: string): Promise<string | undefined> {
    return (await engine.inspect(name))?.Id;
  }
});
