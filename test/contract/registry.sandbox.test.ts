import { createSandboxRegistry } from '../../sandbox/registry/registry.ts';
import { createFakeClock } from '../support/clock/fake-clock.ts';
import { registryContract, type RegistryFixture } from './registry.ts';

registryContract('The sandbox', () => Promise.resolve(sandboxFixture(false)));
registryContract('The sandbox with passwords', () => Promise.resolve(sandboxFixture(true)));

const host = 'registry.test';
const login = { kind: 'password', username: 'reader', serverAddress: host } as const;

function sandboxFixture(isPrivate: boolean): RegistryFixture {
  const clock = createFakeClock({ auto: true });
  const credentials = isPrivate ? { ...login, password: 'read-secret' } : undefined;
  const own = credentials && { credentials: { [host]: credentials } };
  const { registry, store } = createSandboxRegistry({ clock, ...own });
  const visit = (password?: string) => {
    const known = password === undefined ? {} : { credentials: { [host]: { ...login, password } } };
    return createSandboxRegistry({ clock, store, ...known }).registry;
  };
  const behaveAgain = () => {
    if (isPrivate) store.misbehave(host, { kind: 'private', username: 'reader', password: 'read-secret' });
    else store.behaveAgain(host);
    return Promise.resolve();
  };
  void behaveAgain();

  return {
    registry,
    connect: () => visit(credentials?.password),
    strangers: isPrivate ? { nobody: visit(), impostor: visit('wrong-secret') } : undefined,
    credentials,
    host,
    publish: (repository, tag, { version, platforms, created }) => {
      const manifest = store.publish(`${host}/${repository}:${tag}`, {
        version,
        ...(platforms !== undefined && { platforms }),
        ...(created !== undefined && { createdAtMs: Date.parse(created) }),
      });
      const images = manifest.kind === 'index' ? manifest.images : [manifest.image];
      return Promise.resolve({
        digest: manifest.digest,
        configDigest: images[0]?.id ?? '',
        manifestDigests: images.map(({ manifestDigest }) => manifestDigest),
      });
    },
    sign: (repository, digest, found) => {
      for (const each of found) store.sign(`${host}/${repository}@${digest}`, each);
      return Promise.resolve();
    },
    requests: store.requests,
    listings: store.listings,
    limit: (retryAfterS) => store.misbehave(host, { kind: 'rate-limited', max: 0, windowMs: retryAfterS * 1000 }),
    goDown: () => Promise.resolve(store.misbehave(host, { kind: 'unreachable' })),
    comeUp: behaveAgain,
    reset: behaveAgain,
    close: () => Promise.resolve(),
  };
}
