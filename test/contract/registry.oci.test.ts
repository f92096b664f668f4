import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOciRegistry } from '../../src/adapters/oci/registry.ts';
import { createSystemClock } from '../../src/adapters/process/clock.ts';
import { isDigest, type Digest } from '../../src/domain/image/image-reference.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { createFaultProxy, type ProxiedCall } from '../lab/proxy/fault-proxy.ts';
import type { Lab } from '../lab/lab.ts';
import { pushArtifact, pushImage, pushIndex } from '../lab/registry/push.ts';
import type { RegistryOptions } from '../lab/registry/registry.ts';
import { users } from '../lab/registry/token-server.ts';
import { signatureArtifact } from '../support/registry/cosign.ts';
import { registryContract, type RegistryFixture } from './registry.ts';

describeInLab('Registries', (lab) => {
  for (const auth of ['none', 'basic', 'token'] as const) {
    registryContract(`docker-registry (auth: ${auth})`, () => registryFixture(lab, auth));
  }
});

const username = 'reader';

async function registryFixture(lab: Lab, auth: NonNullable<RegistryOptions['auth']>): Promise<RegistryFixture> {
  const registry = await lab.startRegistry({ auth });
  const { hostname, port } = new URL(registry.url);
  // Our requests pass this proxy, which counts and refuses them; pushes are sent directly.
  let proxy = await createFaultProxy({ listen: { port: 0 }, upstream: { host: hostname, port: Number(port) } });
  const proxyPort = proxy.port;
  const host = `127.0.0.1:${proxyPort}`;
  const opened: { close: () => Promise<void> }[] = [];
  const visit = (password?: string) => {
    const login = password === undefined ? {} : { dockerConfigPath: writeLogin(lab.dir, host, password) };
    const visitor = createOciRegistry({ clock: createSystemClock(), version: 'test', ...login });
    opened.push(visitor);
    return visitor;
  };
  const password = auth === 'none' ? undefined : (users[username] ?? '');
  let isDown = false;
  const comeUp = async () => {
    if (!isDown) return;
    proxy = await createFaultProxy({ listen: { port: proxyPort }, upstream: { host: hostname, port: Number(port) } });
    isDown = false;
  };

  return {
    registry: visit(password),
    connect: () => visit(password),
    strangers: auth === 'none' ? undefined : { nobody: visit(), impostor: visit('wrong-secret') },
    credentials: password === undefined ? undefined : { kind: 'password', username, password, serverAddress: host },
    host,
    publish: async (repository, tag, { version, platforms, created }) => {
      const spec = { files: { 'etc/version': `${version}\n` }, ...(created !== undefined && { created }) };
      const pushed =
        platforms === undefined
          ? await pushImage(registry, repository, tag, spec)
          : await pushIndex(registry, repository, tag, spec, { platforms, attestations: true });
      return { ...pushed, digest: asDigest(pushed.digest) };
    },
    sign: (repository, digest, found) =>
      pushArtifact(registry, repository, `${digest.replace(':', '-')}.sig`, signatureArtifact(found)),
    requests: () => proxy.calls.filter(isAnswered).length,
    listings: () => proxy.calls.filter(({ path, status }) => path.includes('/tags/list') && status === 200).length,
    limit: (retryAfterS) => {
      const headers = { 'retry-after': String(retryAfterS) };
      proxy.arm({ times: 1000, fault: { kind: 'answer', when: 'before', status: 429, headers, body: '{}' } });
    },
    goDown: async () => {
      isDown = true;
      await proxy.close();
    },
    comeUp,
    reset: async () => {
      await comeUp();
      proxy.disarm();
    },
    close: async () => {
      for (const visitor of opened) await visitor.close();
      await proxy.close();
      await registry.remove();
    },
  };
}

/** Without the requests for tokens, and those that were sent to another host. */
function isAnswered({ path, status = 0 }: ProxiedCall): boolean {
  return path.includes('/manifests/') && (status === 200 || status === 304);
}

/** Writes a config file as `docker login` does. */
function writeLogin(dir: string, host: string, password: string): string {
  const path = join(mkdtempSync(join(dir, 'login-')), 'config.json');
  const auth = Buffer.from(`${username}:${password}`).toString('base64');
  writeFileSync(path, JSON.stringify({ auths: { [host]: { auth } } }));
  return path;
}

function asDigest(text: string): Digest {
  if (isDigest(text)) return text;
  throw new Error(`"${text}" is not a digest`);
}
