import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { addContext } from '../../support/scene/docker-context.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';

/** Contexts of Docker's own client: a socket, and TCP with TLS. */
describeInLab('contexts', (lab) => {
  test('with their TLS files are the engines of a run', async (context) => {
    if (isPodman) skipBecause(context, 'Podman’s service speaks no TLS');
    const { caFile, serverCertificate, serverKey, dockerClient } = lab.pki;
    const certificates = ['--tlscacert', caFile, '--tlscert', serverCertificate, '--tlskey', serverKey];
    const args = ['--host', 'tcp://127.0.0.1:23762', '--tlsverify', ...certificates];
    const secured = await lab.startEngine({ name: 'context-tls', args });
    onTestFinished(() => secured.remove());
    const image = `${lab.registry.host}/contexts/app:1`;
    await pushImage(lab.registry, 'contexts/app', '1', catalogue['plain-v1']);
    for (const engine of [lab.engine, secured]) {
      await engine.pull(image);
      await engine.run('web', image, { StopTimeout: 1 });
    }
    onTestFinished(() => lab.engine.clear());
    await pushImage(lab.registry, 'contexts/app', '1', catalogue['plain-v2']);

    const folder = mkdtempSync(join(lab.dir, 'docker-'));
    addContext(folder, 'near', `unix://${lab.engine.socket}`);
    addContext(folder, 'far', 'tcp://127.0.0.1:23762', dockerClient);
    const upkeep = (...words: readonly string[]) => runUpkeep(words, { env: { DOCKER_CONFIG: folder } });

    const update = await upkeep('update', '--context', 'all', '--json', '--health-window', '500ms');
    expect(update.code, update.stderr).toBe(0);
    expect(JSON.parse(update.stdout)).toMatchObject({
      containers: [
        { engine: 'far', name: 'web', outcome: 'updated' },
        { engine: 'near', name: 'web', outcome: 'updated' },
      ],
    });
    const alone = await upkeep('check', '--context', 'far');
    expect([alone.code, alone.stdout], alone.stderr).toEqual([0, expect.stringContaining('1 up to date')]);
    const unknown = await upkeep('check', '--context', 'nobody');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('the context "nobody" is not in')]);
  });
});
