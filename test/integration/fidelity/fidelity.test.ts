import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { supportsApi } from '../../../src/domain/container/recipe/networks.ts';
import type { HostConfig } from '../../../src/domain/container/container.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { asFresh, comparable, volumesOf, withoutPins } from './comparable.ts';
import { images } from './images.ts';
import { createScene } from './scene.ts';
import { whyNotWithPodman } from './podman.ts';
import { type Shape, shapes } from './shapes.ts';

describeInLab('a successor on a real engine', (lab) => {
  const engine = createDockerEngine({ host: `unix://${lab.engine.socket}`, clock: createSystemClock() });
  const scene = createScene(lab, engine);

  beforeAll(async () => {
    for (const [tag, spec] of Object.entries(images)) {
      await pushImage(lab.registry, 'fidelity', tag, spec);
      await lab.engine.pull(`${lab.registry.host}/fidelity:${tag}`);
    }
    for (const [index, Name] of ['front', 'back'].entries()) {
      // With a subnet, Podman does not report whether the address was requested.
      const IPAM = isPodman ? undefined : { Config: [{ Subnet: `10.231.${index + 1}.0/24` }] };
      await lab.engine.call('POST', '/networks/create', { Name, IPAM });
    }
  });
  afterEach(scene.clear);
  afterAll(async () => {
    await engine.close();
    await lab.engine.clear();
  });

  test.for(shapes)('is as its predecessor was: $name', async (shape, context) => {
    const { apiVersion } = await engine.info();
    if (!isSpoken(shape, apiVersion)) skipBecause(context, `not with API ${apiVersion}`);
    const why = isPodman ? whyNotWithPodman(shape.name) : undefined;
    if (why !== undefined) skipBecause(context, why);
    const first = await scene.run(shape);
    const second = await scene.succeed(first, 'one', 'one');
    if (!shape.created && !shape.changesWhenStopped) {
      const [running, stopped] = await scene.recipesAroundStop(first);
      expect(stopped).toEqual(running);
    }
    const running = await scene.replace(shape, first, second);
    expect(withoutPins(comparable(running.raw))).toEqual(withoutPins(comparable(first.raw)));
    expect(shape.keeps?.(running.raw)).toEqual(shape.keeps?.(first.raw));
    expect(volumesOf(running.raw)).toEqual(volumesOf(first.raw));

    const third = await scene.succeed(running, 'one', 'one');
    expect(comparable(third.raw)).toEqual(comparable(second.raw));

    const other = await scene.succeed(running, 'one', 'two');
    const fresh = await scene.create(shape, 'fresh', 'two');
    if (!shape.unlikeFresh) expect(asFresh(other.raw)).toEqual(asFresh(fresh.raw));
    const back = await scene.succeed(other, 'two', 'one');
    if (!shape.unlikeFresh) expect(asFresh(back.raw)).toEqual(asFresh(third.raw));
    expect(volumesOf(back.raw)).toEqual(expect.arrayContaining([...volumesOf(first.raw)]));
  });

  test.for<readonly [string, HostConfig]>([
    [
      'network, IPC, processes and volumes',
      {
        NetworkMode: 'container:other',
        IpcMode: 'container:other',
        PidMode: 'container:other',
        VolumesFrom: ['OTHER:ro'],
      },
    ],
    ['links', { Links: ['other:alias', 'other'] }],
  ])('follows another that is replaced with it: %s', async ([, HostConfig], context) => {
    if (isPodman) skipBecause(context, 'Podman removes no container before those that share its namespaces');
    const shape = {
      name: 'holds on',
      body: { HostConfig },
      other: { HostConfig: { IpcMode: 'shareable' }, Volumes: { '/shared': {} } },
    };
    const subject = await scene.run(shape);
    const other = await scene.see('other');
    const newOther = await scene.succeed(other, 'one', 'one');
    const replacedIds = new Map([other.container.id, other.container.name].map((key) => [key, newOther.container.id]));
    const newSubject = await scene.succeed(subject, 'one', 'one', replacedIds);
    await scene.replace({}, other, newOther);
    const running = await scene.replace({}, subject, newSubject, replacedIds);
    const { NetworkMode, Links } = running.container.settings.HostConfig;
    if (HostConfig.Links) expect(Links?.toSorted()).toEqual(['/other:/subject/alias', '/other:/subject/other']);
    else expect(NetworkMode).toBe(`container:${newOther.container.id}`);
    expect(volumesOf(running.raw)).toEqual(volumesOf(subject.raw));
  });
});

function isSpoken({ since, until }: Shape, apiVersion: string): boolean {
  if (since !== undefined && !supportsApi(apiVersion, since)) return false;
  return until === undefined || !supportsApi(apiVersion, until);
}
