import { afterAll, beforeAll, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { startFront, type Front } from '../../lab/registry/registry-front.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

/** One new image behind two tags, and several containers of each. */
describeInLab('a registry', (lab) => {
  const repository = 'asked/once';
  const containers = { aa: 'stable', bb: 'stable', cc: 'stable', dd: '2', ee: '2' };
  const outcomeOfAll = (outcome: string) =>
    Object.fromEntries(Object.keys(containers).map((name) => [name, expect.objectContaining({ outcome })]));
  const upkeep = upkeepScene({ socket: lab.engine.socket });
  const release = async (image: 'plain-v1' | 'plain-v2') => {
    for (const tag of new Set(Object.values(containers)))
      await pushImage(lab.registry, repository, tag, catalogue[image]);
  };
  let front: Front;

  beforeAll(async () => {
    front = await startFront({ upstreams: {}, otherwise: lab.registry.url });
    await release('plain-v1');
    for (const [name, tag] of Object.entries(containers)) {
      const image = `127.0.0.1:${front.port}/${repository}:${tag}`;
      await lab.engine.pull(image);
      await lab.engine.run(name, image, { StopTimeout: 1 });
    }
    await release('plain-v2');
  });

  afterAll(async () => {
    await lab.engine.clear();
    await front.close();
  });

  /** Upkeep's own requests, each with its count. */
  async function requestsDuring(run: () => Promise<unknown>): Promise<ReadonlyMap<string, number>> {
    const before = front.calls.length;
    await run();
    const counts = new Map<string, number>();
    for (const { method, path, agent } of front.calls.slice(before)) {
      const request = `${method} ${path}`;
      if (!agent.startsWith('docker/')) counts.set(request, (counts.get(request) ?? 0) + 1);
    }
    return counts;
  }

  test('is asked once for each tag, and once for what the new image holds, with a canary and its followers', async () => {
    const requests = await requestsDuring(async () =>
      expect((await upkeep.update()).outcomes).toEqual(outcomeOfAll('updated')),
    );
    const ofTags = [...requests.keys()].filter(
      (request) => request.includes('/manifests/') && !request.includes('sha'),
    );
    expect(ofTags.toSorted()).toEqual([
      `HEAD /v2/${repository}/manifests/2`,
      `HEAD /v2/${repository}/manifests/stable`,
    ]);
    expect([...requests.keys()].filter((request) => request.includes('sha256:')).length).toBeGreaterThan(0);
    expect([...requests].filter(([, times]) => times > 1)).toEqual([]);
  });

  test('is asked for nothing but the tags by the next run', async () => {
    const requests = await requestsDuring(async () =>
      expect((await upkeep.update()).outcomes).toEqual(outcomeOfAll('fresh')),
    );
    expect([...requests.keys()].toSorted()).toEqual([
      `HEAD /v2/${repository}/manifests/2`,
      `HEAD /v2/${repository}/manifests/stable`,
    ]);
  });
});
