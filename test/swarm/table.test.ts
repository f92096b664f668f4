import { expect, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import type { ImageSpec } from '../lab/registry/image.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import type { LabSwarm } from '../lab/swarm/swarm.ts';
import { isSampled } from '../support/sampled.ts';
import { deploy, update, type DeployWish } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

type Version = { readonly name: string; readonly next: ImageSpec; readonly wish?: DeployWish; readonly good?: true };

const versions: readonly Version[] = [
  { name: 'good', next: catalogue.v2, good: true },
  { name: 'crashing', next: catalogue.crash },
  { name: 'crashing-later', next: catalogue['crash-later'] },
  { name: 'sick', next: catalogue.sick },
  { name: 'failing-in-part', next: catalogue.crash, wish: { replicas: 3, update: { MaxFailureRatio: 0.5 } } },
];

type Manner = {
  readonly name: string;
  /** `index` of the service among the simultaneous updates. */
  readonly wish: (swarm: LabSwarm, index: number) => Promise<DeployWish> | DeployWish;
};

const stopAndHealth: readonly Manner[] = [
  { name: 'stop-first', wish: () => ({ update: { Order: 'stop-first' } }) },
  { name: 'start-first', wish: () => ({ update: { Order: 'start-first' } }) },
  { name: 'global', wish: () => ({ global: true }) },
  { name: 'host port', wish: (_, index) => ({ hostPort: 18_100 + index }) },
  { name: 'secrets and configs', wish: secretsAndConfigs },
];

const cases = stopAndHealth.flatMap((policy) =>
  ['rollback', 'pause', 'continue'].map((action) => ({
    title: `${policy.name}, on failure ${action}`,
    policy,
    action,
  })),
);

/** Each test updates a service with a good version and four with bad ones, all in one run. */
describeInSwarm('an update of services', {}, (swarm) => {
  test.each(cases.filter((_, number) => isSampled(number, cases.length)).map((one) => [one.title, one] as const))(
    'is proven or taken back, and told as it is (%s)',
    async (_, { policy, action }) => {
      const services = [];
      for (const [index, version] of versions.entries()) {
        const wish = await policy.wish(swarm(), index);
        const deployed = await deploy(swarm(), version.name, catalogue.v1, {
          ...wish,
          ...version.wish,
          update: { FailureAction: action, ...wish.update, ...version.wish?.update },
        });
        services.push({ deployed, version });
      }
      const digests = new Map<string, string>();
      for (const { deployed, version } of services) digests.set(version.name, await deployed.publish(version.next));

      const report = await update(swarm());
      for (const { deployed, version } of services) {
        const entry = report.of(version.name);
        const next = digests.get(version.name) ?? '';
        expect(
          await untruth(swarm(), deployed, next, entry),
          `${version.name}: ${JSON.stringify(entry)}`,
        ).toBeUndefined();
        expect(entry, JSON.stringify(entry)).toMatchObject({
          outcome: version.good ? 'updated' : 'rolled_back',
        });
        if (!version.good) expect(entry.reason).not.toBe('');
      }

      const again = await update(swarm());
      for (const { version } of services)
        expect(again.of(version.name), version.name).toMatchObject({ outcome: version.good ? 'fresh' : 'skipped' });
    },
  );

  test('without replicas is made, and nothing is started', async () => {
    const none = await deploy(swarm(), 'none', catalogue.v1, { replicas: 0 });
    const next = await none.publish(catalogue.crash);
    expect((await update(swarm())).of('none')).toMatchObject({ outcome: 'updated' });
    const { Spec } = await swarm().service(none.id);
    expect(Spec.TaskTemplate.ContainerSpec.Image).toContain(next);
    expect(await swarm().tasks(none.id)).toEqual([]);
  });

  test('that failed is tried again when a person asks for it, and made when the tag moves on', async () => {
    const web = await deploy(swarm(), 'web', catalogue.v1);
    await web.publish(catalogue.crash);
    expect((await update(swarm())).of('web').outcome).toBe('rolled_back');
    expect((await update(swarm())).of('web').outcome).toBe('skipped');
    expect((await update(swarm(), '--retry-failed', 'web')).of('web').outcome).toBe('rolled_back');
    const good = await web.publish(webServer('v3'));
    const entry = (await update(swarm())).of('web');
    expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'updated' });
    expect(await untruth(swarm(), web, good, entry)).toBeUndefined();
    expect(await swarm().must<unknown[]>('GET', '/configs')).toEqual([]);
  });
});

async function secretsAndConfigs(swarm: LabSwarm, index: number): Promise<DeployWish> {
  const idOf = async (kind: 'secrets' | 'configs') =>
    (await swarm.must<{ ID: string }>('POST', `/${kind}/create`, { Name: `${kind}-${index}`, Data: 'eA==' })).ID;
  const File = { Name: 'it', UID: '0', GID: '0', Mode: 292 };
  const [secret, config] = [await idOf('secrets'), await idOf('configs')];
  return {
    container: {
      Secrets: [{ SecretID: secret, SecretName: `secrets-${index}`, File }],
      Configs: [{ ConfigID: config, ConfigName: `configs-${index}`, File: { ...File, Name: '/it' } }],
    },
  };
}
