import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
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
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('the context "nobody" is not in')]);
  });

  test('DOCKER_CONTEXT and docker context use are followed, as by the docker command', async (context) => {
    if (isPodman) skipBecause(context, 'Podman’s service speaks no TLS');
    const { caFile, serverCertificate, serverKey, dockerClient } = lab.pki;
    const certificates = ['--tlscacert', caFile, '--tlscert', serverCertificate, '--tlskey', serverKey];
    const args = ['--host', 'tcp://127.0.0.1:23763', '--tlsverify', ...certificates];
    const far = await lab.startEngine({ name: 'context-far', args });
    onTestFinished(() => far.remove());
    const image = `${lab.registry.host}/contexts/app:2`;
    await pushImage(lab.registry, 'contexts/app', '2', catalogue['plain-v1']);
    for (const [engine, name] of [
      [lab.engine, 'near-web'],
      [far, 'far-web'],
    ] as const) {
      await engine.pull(image);
      await engine.run(name, image, { StopTimeout: 1 });
    }
    onTestFinished(() => lab.engine.clear());
    const folder = mkdtempSync(join(lab.dir, 'docker-'));
    addContext(folder, 'near', `unix://${lab.engine.socket}`);
    addContext(folder, 'far', 'tcp://127.0.0.1:23763', dockerClient);
    const seen = async (env: Record<string, string>, ...words: readonly string[]) => {
      const { code, stdout, stderr } = await runUpkeep(['containers', ...words], {
        env: { DOCKER_CONFIG: folder, ...env },
      });
      return `${code} ${/near-web|far-web/.exec(stdout)?.[0] ?? ''} ${stderr}`;
    };
    const use = (currentContext: string) =>
      writeFileSync(join(folder, 'config.json'), JSON.stringify({ currentContext }));
    expect(await seen({ DOCKER_CONTEXT: 'far' })).toMatch(/^0 far-web/);
    use('far');
    expect(await seen({})).toMatch(/^0 far-web/);
    expect(await seen({ DOCKER_CONTEXT: 'near' })).toMatch(/^0 near-web/);
    expect(await seen({ DOCKER_HOST: `unix://${lab.engine.socket}` })).toMatch(/^0 near-web/);
    expect(await seen({}, '--host', `unix://${lab.engine.socket}`)).toMatch(/^0 near-web/);
    expect(await seen({ DOCKER_CONTEXT: 'nobody' })).toMatch(/^2 .*the context "nobody" is not in/);
    use('nobody');
    expect(await seen({})).toMatch(/near-web .*not the one of .+docker context use.+nobody.+ is not in/);
    cpSync(dockerClient, folder, { recursive: true });
    expect(await seen({ DOCKER_HOST: 'tcp://127.0.0.1:23763', DOCKER_TLS_VERIFY: '1' })).toMatch(/^0 far-web/);
  });

  test('nor does an empty variable, a name of the usual engine or another home change what is followed', async (context) => {
    if (isPodman) skipBecause(context, 'Podman’s service speaks no TLS');
    const other = await lab.startEngine({ name: 'context-other' });
    onTestFinished(() => other.remove());
    const image = `${lab.registry.host}/contexts/app:3`;
    await pushImage(lab.registry, 'contexts/app', '3', catalogue['plain-v1']);
    for (const [engine, name] of [
      [lab.engine, 'near-web'],
      [other, 'far-web'],
    ] as const) {
      await engine.pull(image);
      await engine.run(name, image, { StopTimeout: 1 });
    }
    onTestFinished(() => lab.engine.clear());
    const home = mkdtempSync(join(lab.dir, 'home-'));
    const folder = join(home, '.docker');
    addContext(folder, 'far', `unix://${other.socket}`);
    const use = (config: object) => writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    use({ currentContext: 'far', auths: {} });
    const seen = async (env: Record<string, string>, ...words: readonly string[]) => {
      const { code, stdout, stderr } = await runUpkeep(['containers', ...words], { env: { HOME: home, ...env } });
      return `${code} ${/near-web|far-web/.exec(stdout)?.[0] ?? ''} ${stderr}`;
    };
    expect(await seen({})).toMatch(/^0 far-web/);
    expect(await seen({ DOCKER_CONTEXT: '' })).toMatch(/^0 far-web/);
    expect(await seen({ DOCKER_HOST: '' })).toMatch(/^0 far-web/);
    expect(await seen({ DOCKER_CONTEXT: 'default' })).toMatch(/^0 near-web/);
    expect(await seen({}, '--context', 'default')).toMatch(/^0 near-web/);
    expect(await seen({ DOCKER_CONTEXT: 'far', DOCKER_HOST: `unix://${lab.engine.socket}` })).toMatch(/^0 near-web/);
    expect(await seen({ DOCKER_CONFIG: mkdtempSync(join(lab.dir, 'empty-')) })).toMatch(/^0 near-web/);
    use({ currentContext: 'default' });
    expect(await seen({})).toMatch(/^0 near-web/);
    use({ currentContext: 'gone' });
    // Said on standard error, with the remedy.
    expect(await seen({})).toMatch(/^0 near-web .*gone.* --host or --context/);
    const service = await runUpkeep(['check'], { env: { HOME: home, DOCKER_CONTEXT: 'far' } });
    expect([service.code, service.stdout]).toEqual([0, expect.stringContaining('far-web')]);
  });
});
