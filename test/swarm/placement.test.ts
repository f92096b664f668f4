import { expect, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { buildImage } from '../lab/registry/image.ts';
import { pushArtifact, pushImage, pushIndex } from '../lab/registry/push.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { blobOf, makeCosignKey, signatureArtifact } from '../support/registry/cosign.ts';
import { ociIndex } from '../support/registry/registry-content.ts';
import { deploy, update } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

const platform = (architecture: string) => ({ Architecture: architecture, OS: 'linux' });

describeInSwarm('an update of a service that only some nodes can run', {}, (swarm) => {
  test('is taken back where no node has room for a new task, and tried again later', async () => {
    const { MemTotal } = await swarm().must<{ MemTotal: number }>('GET', '/info');
    const web = await deploy(swarm(), 'web', catalogue['plain-v1'], {
      replicas: 3,
      update: { Order: 'start-first' },
      task: { Resources: { Reservations: { MemoryBytes: Math.floor(MemTotal * 0.6) } } },
    });
    const next = await web.publish(catalogue['plain-v2']);
    const entry = (await update(swarm(), '--pull-timeout', '15s')).of('web');
    expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'rolled_back' });
    expect(entry.reason).toMatch(/No task has moved for (?:1[5-9]|[2-5]\d)s.*insufficient resources/);
    expect(await untruth(swarm(), web, next, entry)).toBeUndefined();
    expect(await swarm().must<unknown[]>('GET', '/configs')).toEqual([]);
    await swarm().change(web.id, (spec) => (spec.UpdateConfig = { ...spec.UpdateConfig, Order: 'stop-first' }));
    const again = (await update(swarm())).of('web');
    expect(again, JSON.stringify(again)).toMatchObject({ outcome: 'updated' });
  });

  test('writes the platforms of the next index where the spec names some', async () => {
    const web = await deploy(swarm(), 'web', catalogue['plain-v1'], {
      task: { Placement: { Platforms: [platform('amd64'), platform('arm64')] } },
    });
    const platforms = async () => (await swarm().service(web.id)).Spec.TaskTemplate['Placement'];
    await web.publish(catalogue['plain-v2']);
    expect((await update(swarm())).of('web').outcome).toBe('updated');
    expect(await platforms()).toEqual({ Platforms: [platform('amd64')] });
    const { digest } = await pushIndex(swarm().registry, 'swarm/web', 'stable', catalogue['plain-v1']);
    expect((await update(swarm())).of('web').outcome).toBe('updated');
    expect(await platforms()).toEqual({ Platforms: [platform('amd64'), platform('arm64')] });
    expect(runningTasks(await swarm().tasks(web.id), digest)).toHaveLength(2);
  });
});

describeInSwarm('an update of a service whose images must be signed', {}, (swarm) => {
  test('runs the signed image of an index that names an unsigned one too, on every node', async () => {
    const web = await deploy(swarm(), 'web', catalogue['plain-v1'], { replicas: 3 });
    const { registry } = swarm();
    const entry = async (version: string, platform: object) => {
      const pushed = await pushImage(registry, 'swarm/web', version, webServer(version));
      const { mediaType, bytes } = buildImage(webServer(version)).manifest;
      return { ...pushed, json: { mediaType, digest: pushed.digest, size: bytes.length, platform } };
    };
    const evil = await entry('evil', { architecture: 'amd64' });
    const good = await entry('good', { os: 'linux', architecture: 'amd64' });
    const text = JSON.stringify({ schemaVersion: 2, mediaType: ociIndex, manifests: [evil.json, good.json] });
    const index = blobOf(ociIndex, Buffer.from(text));
    await pushArtifact(registry, 'swarm/web', 'stable', { manifest: index, blobs: [] });
    const key = makeCosignKey('team');
    const verify = ['--verify-key', key.file];
    expect((await update(swarm(), ...verify)).of('web')).toMatchObject({ outcome: 'skipped' });
    const signature = signatureArtifact([key.signImage(good.digest, `${registry.host}/swarm/web`)]);
    await pushArtifact(registry, 'swarm/web', `${good.digest.replace(':', '-')}.sig`, signature);
    const done = (await update(swarm(), ...verify)).of('web');
    expect(done, JSON.stringify(done)).toMatchObject({ outcome: 'updated' });
    expect(runningTasks(await swarm().tasks(web.id), good.digest)).toHaveLength(3);
    const images = [];
    for (const { engine } of swarm().nodes)
      for (const { ImageID } of (await engine.call('GET', '/containers/json')).body as { ImageID: string }[])
        images.push(ImageID);
    expect(images).toHaveLength(3);
    expect(images.every((id) => id === good.configDigest || id === good.digest)).toBe(true);
    expect((await update(swarm(), ...verify)).of('web')).toMatchObject({ outcome: 'fresh' });
  });
});

describeInSwarm('a swarm that keeps no history of its tasks', { taskHistory: 0 }, (swarm) => {
  test('is told of a version that failed by us alone, also after its manager was killed', async () => {
    const services = [];
    for (const action of ['rollback', 'pause', 'continue']) {
      const web = await deploy(swarm(), `web-${action}`, catalogue.v1, { update: { FailureAction: action } });
      services.push({ web, next: await web.publish(catalogue.crash) });
    }
    const first = await update(swarm());
    for (const { web, next } of services) {
      const entry = first.of(web.name);
      expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'rolled_back' });
      expect(await untruth(swarm(), web, next, entry)).toBeUndefined();
    }
    await swarm().node(1).lose();
    await swarm().node(1).back();
    await swarm().allReady(3);
    const again = await update(swarm());
    expect(again.entries.map(({ outcome }) => outcome)).toEqual(['skipped', 'skipped', 'skipped']);
  });
});
