import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../test/support/clock/fake-clock.ts';
import { parseImageReference } from '../../src/domain/image/image-reference.ts';
import { createSandboxEngine } from '../engine/engine.ts';
import { createSandboxRegistry } from './registry.ts';
import type { RegistryFault } from './registry-store.ts';

const reference = parseImageReference('registry.test/shop/web:1');

function setUp() {
  const clock = createFakeClock();
  const { registry, store } = createSandboxRegistry({ clock });
  const { digest } = store.publish('registry.test/shop/web:1', { version: '1' });
  const { engine } = createSandboxEngine({ clock, registries: store });
  return { clock, registry, store, digest, engine };
}

describe('misbehaviour', () => {
  test.each<[RegistryFault, string]>([
    [{ kind: 'denied' }, 'registry-denied'],
    [{ kind: 'private', username: 'reader', password: 'x' }, 'registry-denied'],
    [{ kind: 'not-found' }, 'registry-not-found'],
    [{ kind: 'unreachable' }, 'registry-unreachable'],
    [{ kind: 'silent', deadlineMs: 30_000 }, 'timeout'],
    [{ kind: 'rate-limited', max: 0, windowMs: 60_000 }, 'registry-rate-limited'],
  ])('%o throws, and makes pulls fail', async (misbehaviour, code) => {
    const { registry, store, engine, clock } = setUp();
    store.misbehave('registry.test', misbehaviour);
    await expect(clock.run(() => registry.resolve(reference))).rejects.toMatchObject({ code });
    const pull = clock.run(() => engine.pullImage({ reference: 'registry.test/shop/web:1' }));
    await expect(pull).rejects.toMatchObject({ code: 'pull-failed' });
  });

  test('of a repository goes before that of its host, and ends', async () => {
    const { registry, store, digest } = setUp();
    store.misbehave('registry.test', { kind: 'unreachable' });
    store.misbehave('registry.test/shop/web', { kind: 'denied' });
    await expect(registry.resolve(reference)).rejects.toMatchObject({ code: 'registry-denied' });
    store.behaveAgain('registry.test/shop/web');
    await expect(registry.resolve(reference)).rejects.toMatchObject({ code: 'registry-unreachable' });
    store.behaveAgain('registry.test');
    expect(await registry.resolve(reference)).toBe(digest);
  });

  test('rate-limited lets so many through in a window, and tells how long the rest of it is', async () => {
    const { registry, store, clock } = setUp();
    store.misbehave('registry.test', { kind: 'rate-limited', max: 2, windowMs: 60_000 });
    await registry.resolve(reference);
    await registry.resolve(reference);
    await clock.advance(20_000);
    await expect(registry.resolve(reference)).rejects.toMatchObject({ retryAfterMs: 40_000 });
    await clock.advance(40_000);
    await registry.resolve(reference);
  });

  test('slow takes so long, by the clock', async () => {
    const { registry, store, clock } = setUp();
    store.misbehave('registry.test', { kind: 'slow', ms: 700 });
    await clock.run(() => registry.resolve(reference));
    expect(clock.monotonicMs()).toBe(700);
  });

  test('stalls-pulls: a pull fails after the time without progress that it was given', async () => {
    const { engine, store, clock } = setUp();
    store.misbehave('registry.test', { kind: 'stalls-pulls' });
    const request = { reference: 'registry.test/shop/web:1', idleTimeoutMs: 5000 };
    await expect(clock.run(() => engine.pullImage(request))).rejects.toMatchObject({ code: 'pull-failed' });
    expect(clock.monotonicMs()).toBe(5000);
  });

  test('a pull that the caller gives up ends at once', async () => {
    const { engine, store, clock } = setUp();
    store.misbehave('registry.test', { kind: 'stalls-pulls' });
    const abort = new AbortController();
    const pull = engine.pullImage({ reference: 'registry.test/shop/web:1' }, abort.signal);
    const failure = expect(pull).rejects.toThrow('enough');
    await clock.advance(1000);
    abort.abort(new Error('enough'));
    await failure;
  });

  test('a private registry lets an engine in that brings the password', async () => {
    const { engine, store } = setUp();
    store.misbehave('registry.test', { kind: 'private', username: 'reader', password: 'x' });
    const credentials = {
      kind: 'password',
      username: 'reader',
      password: 'x',
      serverAddress: 'registry.test',
    } as const;
    await engine.pullImage({ reference: 'registry.test/shop/web:1', credentials });
    expect(await engine.inspectImage('registry.test/shop/web:1')).toBeDefined();
  });
});

describe('publish()', () => {
  test('gives the same content the same digest, and other content another', () => {
    const { store } = setUp();
    const publish = (version: string) => store.publish('registry.test/shop/web:2', { version }).digest;
    expect(publish('2')).toBe(publish('2'));
    expect(publish('3')).not.toBe(publish('2'));
  });

  test('keeps what a tag pointed at before, by its digest', async () => {
    const { store, registry, digest } = setUp();
    store.publish('registry.test/shop/web:1', { version: '2' });
    store.untag('registry.test/shop/web:1');
    await expect(registry.resolve(reference)).rejects.toMatchObject({ code: 'registry-not-found' });
    const platform = { os: 'linux', architecture: 'amd64', variant: '' };
    expect(await registry.describe({ reference, digest, platform })).toMatchObject({ digest });
  });
});
