import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

type Files = { readonly HostConfig?: object; readonly Config?: object };

describeInLab('a container that an older engine made', (lab) => {
  /** Starts the engine again with the container's files as another version, or another time, has written them. */
  async function aged(body: object, files: Files) {
    const engine = await lab.startEngine({ name: 'older' });
    const push = (spec: (typeof catalogue)['plain-v1']) => pushImage(lab.registry, 'older/web', 'stable', spec);
    const image = `${lab.registry.host}/older/web:stable`;
    await push(catalogue['plain-v1']);
    await engine.pull(image);
    const id = await engine.run('web', image, body);
    await engine.stop();
    const change = (file: string, read: (json: Record<string, object>) => Record<string, object>) => {
      const path = join(engine.dir, 'data/containers', id, file);
      writeFileSync(path, JSON.stringify(read(JSON.parse(readFileSync(path, 'utf8')) as Record<string, object>)));
    };
    change('hostconfig.json', (json) => ({ ...json, ...files.HostConfig }));
    change('config.v2.json', (json) => ({ ...json, Config: { ...json['Config'], ...files.Config } }));
    await engine.start();
    await engine.call('POST', `/containers/${id}/start`);
    await push(catalogue['plain-v2']);
    return engine;
  }

  test.each<readonly [string, object, Files]>([
    ['without a cgroup namespace', {}, { HostConfig: { CgroupnsMode: '' } }],
    ['without an IPC mode', {}, { HostConfig: { IpcMode: '' } }],
    ['with a limit of kernel memory', {}, { HostConfig: { KernelMemory: 9_437_184 } }],
    [
      'under the host’s former name',
      { HostConfig: { NetworkMode: 'host', UTSMode: 'host' } },
      { Config: { Hostname: 'former' } },
    ],
  ])('%s is updated', { skip: isPodman }, async (_, body, files) => {
    const engine = await aged(body, files);
    try {
      const { outcomes, run } = await upkeepScene({ socket: engine.socket }).update();
      expect(outcomes['web'], run.stderr).toMatchObject({ outcome: 'updated' });
    } finally {
      await engine.remove();
    }
  });
});
