import { describe, expect, test } from 'vitest';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { makeCosignKey } from '../../../test/support/registry/cosign.ts';
import { readVerificationKeys } from '../../adapters/process/verification-keys.ts';
import type { Registry } from '../../domain/outside/registry.ts';
import { versionKinds, readTagPolicy } from '../../domain/settings/values/versions.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';

const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };
const arm64 = { os: 'linux', architecture: 'arm64', variant: 'v8' };
const repository = 'registry.test/team/app';

type Parts = {
  readonly tags: Readonly<
    Record<string, Parameters<ReturnType<typeof createSandboxScene>['registry']['store']['publish']>[1]>
  >;
  readonly labels?: Readonly<Record<string, string>>;
  /** The repository, in the container's spelling. */
  readonly name?: string;
  readonly keys?: readonly string[];
  readonly removesItself?: boolean;
};

/** `app` runs the first of the tags, and has a policy label. */
async function setScene({ tags, labels = {}, name = repository, keys = [], removesItself = false }: Parts) {
  const scene = createSandboxScene();
  const { store } = scene.registry;
  for (const [tag, release] of Object.entries(tags)) store.publish(`${name}:${tag}`, release);
  const reference = `${name}:${Object.keys(tags)[0]}`;
  await scene.sandbox.engine.pullImage({ reference });
  const Name = removesItself ? 'no' : 'always';
  const HostConfig = { RestartPolicy: { Name, MaximumRetryCount: 0 }, AutoRemove: removesItself };
  scene.sandbox.control.runContainer('app', { Image: reference, Labels: labels, HostConfig });
  const verificationKeys = await readVerificationKeys(keys);
  const { outside } = scene.startProcess();
  let signatureLists = 0;
  const unreadable: string[] = [];
  const registry: Registry = {
    ...outside.registry,
    describe: async (request, signal) => {
      if (!unreadable.includes(request.reference.tag ?? '')) return outside.registry.describe(request, signal);
      throw new ServiceError('registry-invalid', 'Cannot look into it: its manifest can be read in two ways');
    },
    signaturesOf: (...args) => {
      signatureLists += 1;
      return outside.registry.signaturesOf(...args);
    },
  };

  const as = <Result>(
    work: (application: Application) => Promise<Result>,
    settings: Partial<ServiceSettings> = {},
  ): Promise<Result> => {
    const world = { ...outside, registry, verificationKeys };
    const chosen = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000, ...settings };
    return scene.clock.run(() => work(createApplication(world, chosen)));
  };
  return {
    ...scene,
    store,
    signatureLists: () => signatureLists,
    /** Tags whose manifests are broken. */
    unreadable,
    check: async (settings?: Partial<ServiceSettings>) => {
      const { containers } = await as((application) => application.check({ images: [], containers: [] }), settings);
      return containers[0];
    },
    update: async (settings?: Partial<ServiceSettings>, retryFailed = false) => {
      const request = { trigger: 'command', images: [], containers: [], retryFailed } as const;
      const { containers } = await as((application) => application.update(request), settings);
      return containers[0];
    },
    rollBack: () => as((application) => application.rollBack(['app'])),
    image: () => scene.sandbox.control.snapshot().containers['app']?.settings.Config.Image,
    localTags: () =>
      Object.keys(scene.sandbox.control.snapshot().tags)
        .filter((tag) => tag.includes('team/app'))
        .map((tag) => tag.split(':').at(-1) ?? '')
        .toSorted(),
  };
}

const version = (text: string, more = {}) => ({ version: text, ...more });

const minor = { 'upkeep.policy': 'minor' };

describe('a container with a policy', () => {
  test.each([
    ['patch', '1.2.9', 'patch'],
    ['minor', '1.3.0', 'minor'],
    ['major', '2.0.0', 'major'],
    ['regex:(1)\\.(\\d+)\\.(\\d+)', '1.3.0', 'minor'],
  ])('%s is moved to %s, and then there is nothing to do', async (policy, tag, kind) => {
    const all = ['1.2.3', '1.2.9', '1.3.0', '2.0.0', '3.0.0-rc.1', 'latest'];
    const { check, update, image } = await setScene({
      tags: Object.fromEntries(all.map((each) => [each, version(each)])),
      labels: { 'upkeep.policy': policy },
    });
    const candidate = `${repository}:${tag}`;
    expect(await check()).toMatchObject({ status: 'stale', candidate, candidateKind: kind });
    const tagChange = { from: `${repository}:1.2.3`, to: candidate };
    expect(await update()).toMatchObject({ outcome: 'updated', image: candidate, tagChange, from: '1.2.3', to: tag });
    expect(image()).toBe(candidate);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
    expect(image()).toBe(candidate);
  });

  test('follows its own tag first where no higher one may be applied, and its label counts over the option', async () => {
    const tags = { '1.2': version('1.2.0'), '2.0': version('2.0.0') };
    const { check, update, store, image } = await setScene({ tags, labels: minor });
    const major = readTagPolicy('major');
    if ('fault' in major) throw new Error(major.fault);
    expect(await check({ tagPolicy: major })).toMatchObject({ status: 'fresh' });
    store.publish(`${repository}:1.2`, version('1.2.1'));
    expect(await check()).toMatchObject({ status: 'stale', candidate: `${repository}:1.2`, candidateKind: 'digest' });
    expect(await update()).toMatchObject({ outcome: 'updated', to: '1.2.1' });
    store.publish(`${repository}:1.3`, version('1.3.0'));
    expect(await update()).toMatchObject({ outcome: 'updated', to: '1.3.0' });
    expect(image()).toBe(`${repository}:1.3`);
  });

  test('takes only tags that are included and not excluded', async () => {
    const tags = Object.fromEntries(['1.0', '1.1', '1.2', '1.3'].map((tag) => [tag, version(tag)]));
    const labels = { ...minor, 'upkeep.tag-include': '[0-2]$', 'upkeep.tag-exclude': '^1\\.2' };
    const { update, image } = await setScene({ tags, labels });
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.1`);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test('moves to the next lower tag where the highest has no image for its platform', async () => {
    const tags = {
      '1.0': version('1.0', { platforms: [amd64, arm64] }),
      '1.1': version('1.1', { platforms: [amd64, arm64] }),
      '1.2': version('1.2', { platforms: [arm64] }),
    };
    const { update, image } = await setScene({ tags, labels: minor });
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.1`);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test.each(['web', 'docker.io/web', 'index.docker.io/library/web'])('keeps its spelling of %s', async (name) => {
    const tags = { '1.0': version('1.0'), '1.1': version('1.1') };
    const { update, image } = await setScene({ tags, labels: minor, name });
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${name}:1.1`);
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test.each([
    [{ 'upkeep.policy': 'ptach' }, 'Cannot read the label policy with "ptach"'],
    [{ ...minor, 'upkeep.tag-include': '^(?!x)' }, 'Cannot read the label tag-include with "^(?!x)"'],
    [{ ...minor, 'upkeep.tag-exclude': '(' }, 'Cannot read the label tag-exclude with "("'],
    [{ 'upkeep.tag-exclude': 'a b' }, 'Cannot read the label tag-exclude with "a b"'],
    [{ 'upkeep.cooldown-delay': '3 dayz' }, 'Cannot read the label cooldown-delay with "3 dayz"'],
  ])('is unknown where a label cannot be read: %j', async (labels, said) => {
    const tags = { '1.0': version('1.0'), '1.1': version('1.1') };
    const { check, update, image, store } = await setScene({ tags, labels });
    const checked = await check();
    expect(checked).toMatchObject({ status: 'unknown' });
    expect(checked?.error).toContain(said);
    store.publish(`${repository}:1.0`, version('1.0.1'));
    expect(await update()).toMatchObject({ outcome: 'unknown' });
    expect(image()).toBe(`${repository}:1.0`);
  });

  test('is unknown where the registry lists no tags, and follows the digest of its own all the same', async () => {
    const { check, store } = await setScene({ tags: { '1.0': version('1.0'), '1.1': version('1.1') }, labels: minor });
    store.misbehave('registry.test', { kind: 'lists-no-tags' });
    expect(await check()).toMatchObject({
      status: 'unknown',
      error: expect.stringContaining('does not list the tags'),
    });
    store.publish(`${repository}:1.0`, version('1.0.1'));
    const checked = await check();
    expect(checked).toMatchObject({ status: 'stale', candidateKind: 'digest' });
    expect(checked?.reason).toContain('the higher tags are not known');
  });

  test('that a label names the image of follows the digest only', async () => {
    const original = 'com.centurylinklabs.zodiac.original-image';
    const labels = { ...minor, [original]: `${repository}:1.0` };
    const { check } = await setScene({ tags: { '1.0': version('1.0'), '1.1': version('1.1') }, labels });
    const checked = await check();
    expect(checked).toMatchObject({ status: 'fresh', reason: expect.stringContaining('a label names its image') });
  });

  test('is moved to a tag that is old enough while a higher one is too young', async () => {
    const dayMs = 86_400_000;
    const old = { createdAtMs: Date.UTC(2020, 0, 1) };
    const { check, update, clock, store, image } = await setScene({
      tags: { '1.0': version('1.0', old), '1.1': version('1.1', old) },
      labels: minor,
    });
    store.publish(`${repository}:1.2`, version('1.2', { createdAtMs: clock.nowMs() }));
    const settings = { cooldownMs: 3 * dayMs };
    expect(await check(settings)).toMatchObject({ candidate: `${repository}:1.2` });
    expect(await update(settings)).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.1`);
    expect(await update(settings)).toMatchObject({ outcome: 'deferred', reason: expect.stringContaining('too young') });
  });

  test('that is of Compose is updated with a word about the file', async () => {
    const compose = { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'app' };
    const tags = { '1.0': version('1.0'), '1.1': version('1.1') };
    const { update } = await setScene({ tags, labels: { ...minor, ...compose } });
    const said = `the compose file may still name "${repository}:1.0": write "${repository}:1.1" there`;
    expect(await update()).toMatchObject({ outcome: 'updated', reason: expect.stringContaining(said) });
  });

  test('leaves no old image behind with --cleanup, though that has its tag', async () => {
    const tags = { '1.0': version('1.0'), '1.1': version('1.1') };
    const { update, localTags, sandbox } = await setScene({ tags, labels: minor });
    sandbox.control.runContainer('other', { Image: `${repository}:1.0`, Labels: { 'upkeep.enable': 'false' } });
    await update({ cleanup: true });
    expect(localTags()).toEqual(['1.0', '1.1']);
    sandbox.control.removeContainer('other');
    await update({ cleanup: true });
    expect(localTags()).toEqual(['1.1']);
  });
});

describe('a higher tag that fails', () => {
  const scene = () =>
    setScene({
      tags: { '1.0': version('1.0'), '1.1': version('1.1', { behaviour: behaviours['crashesAtStart'] }) },
      labels: minor,
    });

  test('leaves the old reference, is not tried again, and gives way to a higher one', async () => {
    const { update, check, image, store, localTags } = await scene();
    const tagChange = { from: `${repository}:1.0`, to: `${repository}:1.1` };
    expect(await update()).toMatchObject({ outcome: 'rolled_back', image: `${repository}:1.0`, tagChange });
    expect(image()).toBe(`${repository}:1.0`);
    expect(localTags()).toEqual(['1.0', '1.1']);
    expect(await update()).toMatchObject({ outcome: 'skipped' });
    const held = { status: 'held', hold: 'failed', candidate: `${repository}:1.1`, candidateKind: 'minor' };
    expect(await check()).toMatchObject(held);
    store.publish(`${repository}:1.2`, version('1.2'));
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.2`);
  });

  test('is remembered while the own tag moves on', async () => {
    const { update, check, image, store } = await scene();
    await update();
    store.publish(`${repository}:1.0`, version('1.0.1'));
    expect(await update()).toMatchObject({ outcome: 'updated', to: '1.0.1', image: `${repository}:1.0` });
    expect(await check()).toMatchObject({ status: 'held', hold: 'failed', candidate: `${repository}:1.1` });
    expect(await update()).toMatchObject({ outcome: 'skipped' });
    expect(image()).toBe(`${repository}:1.0`);
  });

  test('never gets its local tag on the old image', async () => {
    const { update, sandbox } = await scene();
    await update();
    const [old, higher] = await Promise.all(
      ['1.0', '1.1'].map((tag) => sandbox.engine.inspectImage(`${repository}:${tag}`)),
    );
    expect(old?.id).not.toBe(higher?.id);
    expect(higher?.config.Labels?.['org.opencontainers.image.version']).toBe('1.1');
  });
});

describe('a container with --rm', () => {
  test.each(['good', 'crashesAtStart'] as const)(
    'keeps the tag that is its image, with a higher one that is %s',
    async (one) => {
      const { update, image, sandbox, check } = await setScene({
        tags: { '1.0': version('1.0'), '1.1': version('1.1', { behaviour: behaviours[one] }) },
        labels: minor,
        removesItself: true,
      });
      const isGood = one === 'good';
      const { outcome } = (await update({ updateAutoRemove: true })) ?? {};
      expect(outcome).toBe(isGood ? 'updated' : 'rolled_back');
      expect(image()).toBe(`${repository}:${isGood ? '1.1' : '1.0'}`);
      const { app } = sandbox.control.snapshot().containers;
      expect(app).toMatchObject({ running: true });
      expect(app?.settings.Config.Labels?.['org.opencontainers.image.version']).toBe(isGood ? '1.1' : '1.0');
      const [old, higher] = await Promise.all(
        ['1.0', '1.1'].map((tag) => sandbox.engine.inspectImage(`${repository}:${tag}`)),
      );
      expect([old, higher].map((each) => each?.config.Labels?.['org.opencontainers.image.version'])).toEqual([
        '1.0',
        '1.1',
      ]);
      expect(await check({ updateAutoRemove: true })).toMatchObject({ status: isGood ? 'fresh' : 'held' });
    },
  );
});

describe('upkeep rollback after an update to another tag', () => {
  test.each([0, 3_600_000])(
    'returns to the old reference, where the old container was kept for %d ms',
    async (keepOldMs) => {
      const tags = { '1.0': version('1.0'), '1.1': version('1.1') };
      const { update, rollBack, check, image } = await setScene({ tags, labels: minor });
      await update({ keepOldMs });
      expect(image()).toBe(`${repository}:1.1`);
      const { containers } = await rollBack();
      expect(containers).toMatchObject([{ outcome: 'went_back', image: `${repository}:1.0` }]);
      expect(image()).toBe(`${repository}:1.0`);
      expect(await check()).toMatchObject({ status: 'held', hold: 'went-back', candidate: `${repository}:1.1` });
      expect(await update()).toMatchObject({ outcome: 'skipped' });
      await update({}, true);
      expect(image()).toBe(`${repository}:1.1`);
    },
  );
});

describe('an image that must be signed', () => {
  async function signedScene(labels: Readonly<Record<string, string>> = minor, isKeyGiven = true) {
    const key = makeCosignKey('team');
    const other = makeCosignKey('ops');
    const tags = Object.fromEntries(['1.0', '1.1', '1.2'].map((tag) => [tag, version(tag)]));
    const scene = await setScene({ tags, labels, keys: isKeyGiven ? [key.file, other.file] : [] });
    const sign = async (tag: string, by = key, name = repository, optional?: object) => {
      const { digest } = await scene.store.fetch(parseImageReference(`${repository}:${tag}`));
      scene.store.sign(`${repository}@${digest}`, by.signImage(digest, name, optional));
    };
    return { ...scene, sign, key, other };
  }

  test('is held without a signature, and the next lower signed one is taken', async () => {
    const { check, update, sign, image } = await signedScene();
    const held = await check();
    expect(held).toMatchObject({ status: 'held', hold: 'unsigned', candidate: `${repository}:1.2` });
    expect(held?.reason).toContain('not signed by "team" or "ops": it has no signature');
    expect(await update()).toMatchObject({ outcome: 'skipped' });
    await sign('1.1');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.1`);
    expect(await update()).toMatchObject({ outcome: 'skipped' });
    await sign('1.2');
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(await update()).toMatchObject({ outcome: 'fresh' });
  });

  test('is the highest signed one below any number of unsigned ones, up to a limit that is told', async () => {
    const { check, update, sign, store, image } = await signedScene();
    await sign('1.1');
    for (let n = 3; n < 122; n += 1) store.publish(`${repository}:1.${n}`, version(`1.${n}`));
    expect(await check()).toMatchObject({ status: 'stale', candidate: `${repository}:1.1` });
    expect(await update()).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.1`);
    for (let n = 122; n < 903; n += 1) store.publish(`${repository}:1.${n}`, version(`1.${n}`));
    const held = await check();
    expect(held).toMatchObject({ status: 'held', hold: 'unsigned', candidate: `${repository}:1.902` });
    expect(held?.reason).toContain(
      'the 900 highest tags are unsigned or cannot be used, and lower ones were not looked at',
    );
    await sign('1.4');
    expect(await check()).toMatchObject({ status: 'stale', candidate: `${repository}:1.4` });
  });

  test.each<readonly [string, (nowMs: number) => object, Partial<ServiceSettings>]>([
    ['of another platform', () => ({ platforms: [arm64] }), {}],
    ['that are too young', (nowMs) => ({ createdAtMs: nowMs }), { cooldownMs: 3_600_000 }],
  ])('is the highest signed one below many %s', async (_, release, settings) => {
    const { update, sign, store, image, clock } = await signedScene();
    await sign('1.1');
    await clock.run(() => clock.sleep(86_400_000));
    for (let n = 2; n < 40; n += 1)
      store.publish(`${repository}:1.${n}`, { ...version(`1.${n}`), ...release(clock.nowMs()) });
    expect(await update(settings)).toMatchObject({ outcome: 'updated' });
    expect(image()).toBe(`${repository}:1.1`);
  });

  test('is not hidden by an older image of its line that is not signed', async () => {
    const key = makeCosignKey('team');
    const tags = {
      '1.0.0': version('1.0.0'),
      '1.1.1': version('1.1.1'),
      '1.1.9': version('1.1.9', { createdAtMs: 1.6e12 }),
    };
    const scene = await setScene({ tags, labels: minor, keys: [key.file] });
    const { digest } = await scene.store.fetch(parseImageReference(`${repository}:1.1.1`));
    scene.store.sign(`${repository}@${digest}`, key.signImage(digest, repository));
    expect(await scene.check()).toMatchObject({ status: 'stale', candidate: `${repository}:1.1.1` });
  });

  test.each([true, false])('is the highest below those that nobody can read; signed: %s', async (isSigned) => {
    const key = makeCosignKey('team');
    const tags = Object.fromEntries(['1.0', '1.1', '1.2', '1.3'].map((tag) => [tag, version(tag)]));
    const scene = await setScene({ tags, labels: minor, ...(isSigned && { keys: [key.file] }) });
    const { digest } = await scene.store.fetch(parseImageReference(`${repository}:1.1`));
    scene.store.sign(`${repository}@${digest}`, key.signImage(digest, repository));
    scene.unreadable.push('1.2', '1.3');
    const found = await scene.check();
    expect(found).toMatchObject({ status: 'stale', candidate: `${repository}:1.1` });
    expect(found?.reason).toContain(
      '; "1.3" is higher, but was passed over: Cannot look into it: its manifest can be read in two ways',
    );
    scene.unreadable.push('1.1');
    expect(await scene.check()).toMatchObject({ status: 'unknown' });
    scene.store.publish(`${repository}:1.0`, version('1.0.1'));
    expect(await scene.check()).toMatchObject(isSigned ? { status: 'held', hold: 'unsigned' } : { status: 'stale' });
  });

  test.each([
    ['of another key', { 'upkeep.verify': 'ops' }, repository, 'none of its signatures is of that key'],
    ['of another repository', { 'upkeep.verify': 'team' }, 'registry.test/team/other', 'is of another repository'],
    ['of a key that is not given', { 'upkeep.verify': 'boss' }, repository, 'no key of that name is given'],
  ])('is held with a signature %s', async (_, labels, name, why) => {
    const { check, sign, key } = await signedScene({ ...minor, ...labels });
    await sign('1.2', key, name);
    const held = await check();
    expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
    expect(held?.reason).toContain(why);
  });

  test('is held with a signature of another digest', async () => {
    const { check, store, key } = await signedScene();
    const [one, two] = await Promise.all(
      ['1.1', '1.2'].map((tag) => store.fetch(parseImageReference(`${repository}:${tag}`))),
    );
    store.sign(`${repository}@${two?.digest}`, key.signImage(one?.digest ?? '', repository));
    expect((await check())?.reason).toContain('its signature is of another digest');
  });

  test('needs none where its label says off, and one for its own tag too', async () => {
    const { check, store } = await signedScene({ 'upkeep.verify': 'off' });
    store.publish(`${repository}:1.0`, version('1.0.1'));
    expect(await check()).toMatchObject({ status: 'stale' });
    const strict = await signedScene({});
    strict.store.publish(`${repository}:1.0`, version('1.0.1'));
    expect(await strict.check()).toMatchObject({ status: 'held', hold: 'unsigned', candidateKind: 'digest' });
    await strict.sign('1.0');
    expect(await strict.check()).toMatchObject({ status: 'stale', candidateKind: 'digest' });
  });

  test.each([
    [
      'an empty label',
      { 'upkeep.verify': '' },
      { verifyWith: { kind: 'off' } },
      'the label upkeep.verify cannot be read: it is empty',
    ],
    ['a label of spaces', { 'upkeep.verify': '  ' }, {}, 'the label upkeep.verify cannot be read: it is empty'],
    [
      'a label with a slip',
      { 'upkeep.verify': 'team,,ops' },
      {},
      'the label upkeep.verify cannot be read: it is not any, off,',
    ],
    [
      'an empty drop-in label',
      { 'com.centurylinklabs.watchtower.verify': '' },
      { verifyWith: { kind: 'off' } },
      'it is empty',
    ],
    [
      'an empty annotation',
      { 'upkeep.verify-annotation': '' },
      { verifyWith: { kind: 'off' } },
      'the label upkeep.verify-annotation cannot be read: it is empty',
    ],
    [
      'an annotation without a value',
      { 'upkeep.verify-annotation': 'env=' },
      {},
      'the label upkeep.verify-annotation cannot be read: it is not at most',
    ],
  ] as const)('is held by %s, signed or not, with and without keys', async (_, label, settings, why) => {
    for (const isKeyGiven of [true, false]) {
      const { check, sign } = await signedScene({ ...minor, ...label }, isKeyGiven);
      await sign('1.2');
      const held = await check(settings);
      expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
      expect(held?.reason).toContain(why);
    }
  });

  test.each([
    [{ 'upkeep.verify': 'any' }, {}],
    [{ 'upkeep.verify-annotation': 'env=prod' }, { verifyWith: { kind: 'off' } }],
    [{}, { verifyAnnotations: { kind: 'annotations', text: 'env=prod', required: [['env', 'prod']] } }],
  ] as const)(
    'is held without any key where the label %j or the setting %j asks for a signature',
    async (label, settings) => {
      const { check } = await signedScene({ ...minor, ...label }, false);
      const held = await check(settings);
      expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
      expect(held?.reason).toContain('not signed: no key is given with --verify-key');
    },
  );

  test('may be signed under another name where an option or a label allows it', async () => {
    const elsewhere = 'ghcr.test/team/app';
    const allowing = (text: string) => ({ verifyIdentities: versionKinds.identities.parse(text) ?? fail(text) });
    const why = `its signature is of another repository, "${elsewhere}"`;
    const { check, sign, key } = await signedScene();
    await sign('1.2', key, elsewhere);
    expect((await check())?.reason).toContain(why);
    expect((await check(allowing(`registry.test/team/*=ghcr.test/other/*`)))?.reason).toContain(why);
    expect((await check(allowing('registry.tesd/*=ghcr.test/*')))?.reason).toContain(why);
    expect(await check(allowing(`${repository}=${elsewhere}`))).toMatchObject({ status: 'stale' });
    expect(await check(allowing('registry.test/*=ghcr.test/*'))).toMatchObject({ status: 'stale' });

    const labelled = await signedScene({ ...minor, 'upkeep.verify-identity': elsewhere });
    await labelled.sign('1.2', labelled.key, elsewhere);
    expect(await labelled.check()).toMatchObject({ status: 'stale' });
    for (const text of ['', `${repository}=${elsewhere}`]) {
      const broken = await signedScene({ ...minor, 'upkeep.verify-identity': text });
      await broken.sign('1.2', broken.key, elsewhere);
      const held = await broken.check(allowing(`${repository}=${elsewhere}`));
      expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
      expect(held?.reason).toContain('; the label upkeep.verify-identity cannot be read: it is ');
    }
  });

  test('is not asked about, where no key is given or the label says off', async () => {
    for (const scene of [await signedScene(minor, false), await signedScene({ ...minor, 'upkeep.verify': 'off' })]) {
      expect(await scene.update()).toMatchObject({ outcome: 'updated' });
      expect(scene.signatureLists()).toBe(0);
    }
    const { check, signatureLists } = await signedScene();
    await check();
    expect(signatureLists()).toBe(2);
  });

  test('may have to have an annotation, which the label of the image itself does not decide', async () => {
    const required = { verifyAnnotations: versionKinds.annotations.parse('env=prod') ?? fail('env=prod') };
    const { check, sign, key } = await signedScene({ ...minor });
    await sign('1.2', key, repository, { env: 'test' });
    expect(await check()).toMatchObject({ status: 'stale' });
    expect((await check(required))?.reason).toContain('its signature has no annotation "env=prod"');
    await sign('1.2', key, repository, { env: 'prod', by: 'x' });
    expect(await check(required)).toMatchObject({ status: 'stale' });
    const labelled = await signedScene({ ...minor, 'upkeep.verify-annotation': 'env=stage' });
    await labelled.sign('1.2', labelled.key, repository, { env: 'prod' });
    expect((await labelled.check(required))?.reason).toContain('no annotation "env=stage"');
    expect(await labelled.check({ verifyWith: { kind: 'off' } })).toMatchObject({ status: 'held', hold: 'unsigned' });
  });

  test('is not believed with no-pull, and is unknown where the registry does not answer', async () => {
    const { check, sandbox, store, clock } = await signedScene({});
    store.publish(`${repository}:1.0`, version('1.0.1'));
    await clock.run(() => sandbox.engine.pullImage({ reference: `${repository}:1.0` }));
    const held = await check({ noPull: true });
    expect(held).toMatchObject({ status: 'held', hold: 'unsigned' });
    expect(held?.reason).toContain('because no-pull is on');
  });
});

function fail(text: string): never {
  throw new Error(text);
}
