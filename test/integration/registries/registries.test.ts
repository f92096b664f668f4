import type { Registry } from '../../../src/domain/outside/registry.ts';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createOciRegistry, type OciRegistryOptions } from '../../../src/adapters/oci/registry.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { parseImageReference } from '../../../src/domain/image/image-reference.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { pushImage } from '../../lab/registry/push.ts';

/** Behaviour outside the contract: TLS, mirrors, conditional requests, tokens that expire. */
describeInLab('the registry adapter', (lab) => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  function connect(options: Partial<OciRegistryOptions> = {}): Registry {
    const registry = createOciRegistry({ clock: createSystemClock(), version: 'test', ...options });
    closing.push(registry.close);
    return registry;
  }

  async function start(options: Parameters<typeof lab.startRegistry>[0]): ReturnType<typeof lab.startRegistry> {
    const registry = await lab.startRegistry(options);
    closing.push(registry.remove);
    return registry;
  }

  test('believes a registry whose authority is where Docker looks for it, and no other', async () => {
    const registry = await start({ tls: true, address: '198.18.0.1' });
    const { digest } = await pushImage(registry, 'registries/app', '1', catalogue.v1);
    const image = parseImageReference(`${registry.host}/registries/app:1`);
    await expect(connect().resolve(image)).rejects.toThrow('unknown authority');
    const certsFolder = mkdtempSync(join(lab.dir, 'certs-'));
    mkdirSync(join(certsFolder, registry.host));
    writeFileSync(join(certsFolder, registry.host, 'ca.crt'), registry.ca ?? '');
    expect(await connect({ certsFolder }).resolve(image)).toBe(digest);
  });

  test('sees through a mirror that a tag has moved', async () => {
    const upstream = await start({});
    const mirror = await start({ mirrorOf: upstream.url });
    const { digest } = await pushImage(upstream, 'library/mirrored', '1', catalogue.v1);
    const registry = connect({ hubMirrors: () => Promise.resolve([mirror.url]) });
    expect(await registry.resolve(parseImageReference('mirrored:1'))).toBe(digest);
    const { digest: moved } = await pushImage(upstream, 'library/mirrored', '1', catalogue.v2);
    expect(await registry.resolve(parseImageReference('mirrored:1'))).toBe(moved);
  });

  test('is told that nothing has changed, and that something has', async () => {
    const upstream = await start({});
    const { hostname, port } = new URL(upstream.url);
    const proxy = await createFaultProxy({ listen: { port: 0 }, upstream: { host: hostname, port: Number(port) } });
    closing.push(proxy.close);
    const { digest } = await pushImage(upstream, 'registries/app', '1', catalogue.v1);
    const image = parseImageReference(`127.0.0.1:${proxy.port}/registries/app:1`);
    const registry = connect();
    for (let i = 0; i < 3; i += 1) expect(await registry.resolve(image)).toBe(digest);
    const { digest: moved } = await pushImage(upstream, 'registries/app', '1', catalogue.v2);
    expect(await registry.resolve(image)).toBe(moved);
    const statuses = proxy.calls.filter(({ path }) => path.includes('/manifests/')).map(({ status }) => status);
    expect(statuses).toEqual([200, 304, 304, 200]);
  });
});
