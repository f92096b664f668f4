import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { upkeepScene } from '../../support/scene/upkeep-scene.ts';

const policyNames = ['no', 'on-failure', 'unless-stopped', 'always'];

/** Each as gVisor: the engine cannot change a running container, and so refuses `POST /containers/ID/update` with 500. */
describeInLab('a runtime without "update"', (lab) => {
  const image = (name: string) => `${lab.registry.host}/runtimes/${name}:stable`;
  const push = (name: string, spec: keyof typeof catalogue) =>
    pushImage(lab.registry, `runtimes/${name}`, 'stable', catalogue[spec]);

  async function stale(engine: LabEngine, name: string, next: keyof typeof catalogue, HostConfig: object) {
    await push(name, 'plain-v1');
    await engine.pull(image(name));
    const id = await engine.run(name, image(name), { StopTimeout: 1, HostConfig });
    await push(name, next);
    return id;
  }

  describe.skipIf(isPodman)('of an OCI runtime', () => {
    let engine: LabEngine;
    beforeAll(async () => {
      const path = join(lab.dir, 'runc-without-update');
      const refusal =
        'for word in "$@"; do [ "$word" = update ] && { echo "update is not implemented" >&2; exit 1; }; done';
      writeFileSync(path, `#!/bin/sh\n${refusal}\nexec runc "$@"\n`, { mode: 0o755 });
      engine = await lab.startEngine({ name: 'noupdate', args: ['--add-runtime', `fixed=${path}`] });
    });
    afterEach(() => engine.clear());
    afterAll(() => engine.remove());

    const policy = (Name: string) => ({ Runtime: 'fixed', RestartPolicy: { Name, MaximumRetryCount: 0 } });

    test.each(policyNames)(
      'set-up runtime without "update": a container with the policy %s is updated',
      async (name) => {
        const id = await stale(engine, 'web', 'plain-v2', policy(name));
        const { outcomes } = await upkeepScene({ socket: engine.socket }).update();
        expect(outcomes['web']).toMatchObject({ outcome: 'updated', reason: '' });
        const web = (await engine.inspect('web'))!;
        expect(web).toMatchObject({ State: { Status: 'running' }, HostConfig: policy(name) });
        expect(web.Id).not.toBe(id);
      },
    );

    test.each(policyNames)('a failing version of one with the policy %s is rolled back', async (name) => {
      const Id = await stale(engine, 'web', 'crash', policy(name));
      const { outcomes } = await upkeepScene({ socket: engine.socket }).update();
      expect(outcomes['web']).toMatchObject({ outcome: 'rolled_back' });
      expect(await engine.inspect('web')).toMatchObject({ Id, State: { Status: 'running' }, HostConfig: policy(name) });
      expect((await engine.call('GET', '/containers/json?all=1')).body).toHaveLength(1);
    });

    test('a stopped one is revived', async () => {
      await stale(engine, 'web', 'plain-v2', policy('always'));
      await engine.call('POST', '/containers/web/stop');
      const revive = ['--include-stopped', '--revive-stopped'];
      const { outcomes } = await upkeepScene({ socket: engine.socket, args: revive }).update();
      expect(outcomes['web']).toMatchObject({ outcome: 'updated', reason: '' });
      expect(await engine.inspect('web')).toMatchObject({ State: { Status: 'running' }, HostConfig: policy('always') });
    });

    test.each([
      ['plain-v2', 3],
      ['crash', 5],
    ] as const)('is repaired after a kill at changes (%s, each %i)', async (next, apart) => {
      const socketPath = join(lab.dir, `runtimes-${next}.sock`);
      for (let at = apart; at <= 36; at += apart) {
        await stale(engine, 'web', next, policy('unless-stopped'));
        const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
        let wasKilled = false;
        await runUpkeep(['update', '--json', '--health-window', '1s'], {
          socket: socketPath,
          onStart: (child) => {
            const kill = () => void (wasKilled = child.kill('SIGKILL'));
            proxy.arm({ at, fault: { kind: 'kill', when: 'after', kill } });
          },
        });
        await proxy.close();
        if (!wasKilled) return;
        await runUpkeep(['recover', '--health-window', '1s'], { socket: engine.socket });
        const { body } = await engine.call('GET', '/containers/json?all=1');
        expect(body, `killed at change ${at}`).toMatchObject([{ Names: ['/web'], State: 'running' }]);
        expect(await engine.inspect('web')).toMatchObject({ HostConfig: policy('unless-stopped') });
        await engine.clear();
      }
      expect.fail('there are more changes than expected');
    });
  });
});
