import type { EngineEvent } from '../../../src/domain/outside/engine.ts';
import type { Engine } from '../../../src/domain/outside/outside.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { createDockerEngine, type DockerEngineOptions } from '../../../src/adapters/docker/engine.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { isPodman } from '../../lab/engine/podman.ts';
import { skipBecause } from '../../lab/skip-because.ts';

/** Behaviour outside the contract of `Engine`: other transports, and an engine that becomes unreachable. */
describeInLab('the docker adapter', (lab) => {
  const image = `${lab.registry.host}/app:plain-v1`;

  afterEach(() => lab.engine.clear());

  function connect(host: string, options: Partial<DockerEngineOptions> = {}): Engine {
    const engine = createDockerEngine({ host, clock: createSystemClock(), ...options });
    onTestFinished(() => engine.close());
    return engine;
  }

  function listen(engine: Engine): EngineEvent[] {
    const heard: EngineEvent[] = [];
    void (async () => {
      for await (const event of engine.events(new AbortController().signal)) heard.push(event);
    })();
    return heard;
  }

  test('speaks TLS with an engine that wants a certificate', async (context) => {
    if (isPodman) skipBecause(context, 'Podman’s service speaks no TLS');
    const { caFile, serverCertificate, serverKey, dockerClient } = lab.pki;
    const certificates = ['--tlscacert', caFile, '--tlscert', serverCertificate, '--tlskey', serverKey];
    const raw = await lab.startEngine({
      name: 'tls',
      args: ['--host', 'tcp://127.0.0.1:23760', '--tlsverify', ...certificates],
    });
    onTestFinished(() => raw.remove());
    const file = (name: string) => readFileSync(join(dockerClient, name));
    const tls = { ca: file('ca.pem'), cert: file('cert.pem'), key: file('key.pem'), verify: true };
    const engine = connect('tcp://127.0.0.1:23760', { tls });
    expect(await engine.info()).toMatchObject({ kind: 'docker' });
    expect(await engine.startContainer('nobody')).toMatchObject({ kind: 'refused', status: 404 });
    await expect(connect('tcp://127.0.0.1:23760').info()).rejects.toThrow('it wants TLS');
    const { ca, verify } = tls;
    await expect(connect('tcp://127.0.0.1:23760', { tls: { ca, verify } }).info()).rejects.toMatchObject({
      code: 'engine-unreachable',
    });
  });

  test('hears events again, and reads again, once an engine that was killed is back', async () => {
    const raw = await lab.startEngine({ name: 'killed' });
    onTestFinished(() => raw.remove());
    await raw.pull(image);
    const engine = connect(`unix://${raw.socket}`);
    const heard = listen(engine);
    await expect.poll(() => heard, { timeout: 15_000 }).toEqual([{ kind: 'connected' }]);
    await raw.kill();
    expect(await engine.startContainer('nobody')).toMatchObject({ kind: 'refused', status: 503 });
    await expect(engine.listContainers()).rejects.toMatchObject({ code: 'engine-unreachable' });
    await raw.start();
    expect(await engine.listContainers()).toEqual([]);
    await expect.poll(() => heard.length, { timeout: 15_000 }).toBe(2);
    const created = await engine.createContainer('one', { body: { Image: image }, laterEndpoints: [] });
    await expect
      .poll(() => heard.slice(1))
      .toMatchObject([
        { kind: 'connected' },
        { kind: 'container', action: 'create', id: created.kind === 'done' && created.id },
      ]);
  });

  test('does not claim to know what became of a change whose answer was lost', async () => {
    await lab.engine.pull(image);
    const socketPath = join(lab.dir, 'lost.sock');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: lab.engine.socket } });
    onTestFinished(() => proxy.close());
    const engine = connect(`unix://${socketPath}`);
    const create = (name: string) => engine.createContainer(name, { body: { Image: image }, laterEndpoints: [] });
    proxy.arm({ at: 1, fault: { kind: 'reset', when: 'after' } });
    proxy.arm({ at: 2, fault: { kind: 'reset', when: 'before' } });
    expect(await create('lost-after')).toMatchObject({ kind: 'unknown' });
    expect(await create('lost-before')).toMatchObject({ kind: 'unknown' });
    expect(await engine.inspectContainer('lost-after')).toBeDefined();
    expect(await engine.inspectContainer('lost-before')).toBeUndefined();
    expect(await create('lost-after')).toMatchObject({ kind: 'refused', status: 409 });
  });

  test('waits for a removal that another began', async () => {
    await lab.engine.pull(image);
    const engine = connect(`unix://${lab.engine.socket}`);
    for (let round = 0; round < 5; round++) {
      const id = await lab.engine.run(`both-${round}`, image);
      const outcomes = await Promise.all([engine.removeContainer(id), engine.removeContainer(id)]);
      for (const { kind } of outcomes) expect(['done', 'noop']).toContain(kind);
      expect(await engine.inspectContainer(id)).toBeUndefined();
    }
  });
});
