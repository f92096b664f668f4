import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { readTagLists, type TagList } from '../../../test/support/registry/tag-lists.ts';
import { digestOf } from '../../../test/support/scene/builders.ts';
import type { RemoteImage } from '../../domain/outside/registry.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import { createCandidateFinder } from './newer.ts';
import { readTagPolicy } from '../../domain/settings/values/versions.ts';
import type { TagPolicy } from '../../domain/image/choose-tag.ts';

const lists = readTagLists('careful');
const rows = lists.flatMap((list) => list.choices.map((choice) => ({ ...choice, list, image: list.image })));

test('there are 200 lists, and few choices that a person would make better', () => {
  expect(lists.length).toBeGreaterThanOrEqual(200);
  const better = rows.filter(({ wanted }) => wanted !== undefined);
  expect(better.length).toBeLessThanOrEqual(rows.length / 25);
});

test.each(rows)('$image:$current with policy $policy moves to $best', async ({ list, current, policy, best }) => {
  expect(list.tags).toContain(current);
  const { chosen } = await choose(list, current, policy);
  expect(chosen).toBe(best);
  if (chosen === '-') return;
  const next = await choose(list, chosen.split(' ')[0] ?? '', policy);
  expect(next.chosen).toBe('-');
});

test.each(rows.filter(({ wanted }) => wanted !== undefined))(
  '$image:$current says why it does not move to $wanted',
  async ({ list, current, policy, best }) => {
    if (best === '-') expect((await choose(list, current, policy)).because).toContain('higher');
  },
);

const platform = { os: 'linux', architecture: 'amd64', variant: '' };
const builtAtMs = { old: Date.UTC(2021, 0, 1), own: Date.UTC(2026, 0, 1) };

async function choose(list: TagList, current: string, policy: string) {
  const registry = {
    listTags: () => Promise.resolve({ tags: list.tags.join('\n'), isCut: false }),
    resolve: () => Promise.resolve(digest),
    describe: ({ reference }: { readonly reference: { readonly tag?: string | undefined } }) =>
      Promise.resolve(imageOf(list.oldTags.includes(reference.tag ?? ''))),
  };
  const find = createCandidateFinder(registry, createFakeClock());
  const reference = parseImageReference(`registry.test/${list.image}:${current}`);
  const isOld = list.oldTags.includes(current);
  const question = { reference, policy: policyOf(policy), platform, builtAtMs: isOld ? builtAtMs.old : builtAtMs.own };
  const found = await find(question);
  return found.kind === 'found'
    ? { chosen: `${found.step.tag} ${found.step.kind}`, because: undefined }
    : { chosen: '-', because: found.because };
}

const digest = digestOf('image');

function imageOf(isOld: boolean): RemoteImage {
  const createdAtMs = isOld ? builtAtMs.old : builtAtMs.own;
  return { digest, manifestDigest: digest, configDigest: digest, platform, createdAtMs };
}

function policyOf(text: string): TagPolicy {
  const policy = readTagPolicy(text);
  if ('fault' in policy) throw new Error(policy.fault);
  return policy;
}
