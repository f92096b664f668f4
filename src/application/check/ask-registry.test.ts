import type { Outside } from '../../domain/outside/outside.ts';
import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { indexImages } from '../../domain/container/lookup.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import type { Verdict } from '../../domain/check/verdict.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { askRegistries, createCooldownClock } from './registry-verdict.ts';
import { createCandidateFinder, createTagSightings } from './newer.ts';

const arm64 = { os: 'linux', architecture: 'arm64', variant: 'v8' };

test.each([
  ['386', 'amd64'],
  ['amd64', 'amd64'],
  ['arm64', 'amd64'],
])('an image for %s on an engine of %s is asked about for its own architecture', async (architecture) => {
  const { registry, sandbox, startProcess, clock } = createSandboxScene();
  const platforms = ['amd64', '386', 'arm64'].map((each) => ({ os: 'linux', architecture: each, variant: '' }));
  const platform = platforms.find((each) => each.architecture === architecture)!;
  registry.store.publish('app:1', { version: '1', platforms });
  await sandbox.engine.pullImage({ reference: 'app:1', platform });
  const { id: imageId } = (await sandbox.engine.inspectImage('app:1'))!;
  registry.store.publish('app:1', { version: '2', platforms });
  const { outside } = startProcess();
  const verdicts: Verdict[] = [];
  const subject = {
    imageId,
    image: undefined,
    reference: parseImageReference('app:1'),
    effective: defaultSettings,
    failedVersions: [],
    retryFailed: false,
  };
  await clock.run(() =>
    askRegistries([{ subject, setVerdict: (verdict) => void verdicts.push(verdict) }], optionsOf(outside)),
  );
  expect(verdicts).toMatchObject([{ status: 'stale', newest: { platform: { architecture } } }]);
});

test('a service of a swarm is asked about for the platform of its nodes, and stays with its tag', async () => {
  const { registry, startProcess, clock } = createSandboxScene();
  const name = 'registry.test/app';
  for (const tag of ['1.0', '1.1']) registry.store.publish(`${name}:${tag}`, { version: tag, platforms: [arm64] });
  const { outside } = startProcess();
  const verdicts: Verdict[] = [];
  const effective = { ...defaultSettings, tagPolicy: { kind: 'minor' } } as const;
  const subject = {
    imageId: '',
    image: undefined,
    reference: parseImageReference(`${name}:1.0`),
    effective,
    failedVersions: [],
    retryFailed: false,
  };
  const setVerdict = (verdict: Verdict) => void verdicts.push(verdict);
  await clock.run(() => askRegistries([{ subject, platform: arm64, setVerdict }], optionsOf(outside)));
  expect(verdicts).toMatchObject([{ status: 'stale', newest: { platform: arm64 } }]);
  expect(verdicts[0]).not.toHaveProperty('candidate');
  expect(registry.store.listings()).toBe(0);
});

function optionsOf(outside: Outside) {
  return {
    outside,
    images: indexImages([]),
    tags: createTagSightings({ clock: outside.clock, store: undefined }),
    cooldownClock: createCooldownClock(outside),
    limit: 1,
    find: createCandidateFinder(outside.registry, outside.clock),
  };
}
