import { describe, expect, test } from 'vitest';
import { createSandboxRegistry } from '../../../sandbox/registry/registry.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import type { Registry } from '../../domain/outside/registry.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import { createCandidateFinder } from './newer.ts';
import { readTagPolicy } from '../../domain/settings/values/versions.ts';
import type { TagPolicy } from '../../domain/image/choose-tag.ts';

const amd64 = { os: 'linux', architecture: 'amd64', variant: '' };
const arm64 = { os: 'linux', architecture: 'arm64', variant: 'v8' };
const name = 'registry.test/team/app';
const clock = createFakeClock({ auto: true });

function scene(tags: Readonly<Record<string, readonly (typeof amd64)[]>>) {
  const { registry, store } = createSandboxRegistry({ clock: createFakeClock({ auto: true }) });
  for (const [tag, platforms] of Object.entries(tags)) store.publish(`${name}:${tag}`, { version: tag, platforms });
  return { registry, store, find: createCandidateFinder(registry, clock) };
}

const nextTurn = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

function policyOf(text: string): TagPolicy {
  const policy = readTagPolicy(text);
  if ('fault' in policy) throw new Error(policy.fault);
  return policy;
}

async function answer(
  find: ReturnType<typeof createCandidateFinder>,
  tag: string,
  policy: string,
  platform = amd64,
): Promise<string> {
  const reference = parseImageReference(`${name}${tag}`);
  const found = await find({ reference, policy: policyOf(policy), platform });
  return found.kind === 'found' ? `${found.reference.tag} ${found.step.kind}` : (found.because ?? '-');
}

test('finds the highest tag with an image for the platform', async () => {
  const { find } = scene({ '1.0': [amd64, arm64], '1.1': [amd64, arm64], '1.2': [amd64], '2.0': [amd64] });
  expect(await answer(find, ':1.0', 'minor')).toBe('1.2 minor');
  expect(await answer(find, ':1.0', 'minor', arm64)).toBe('1.1 minor');
  expect(await answer(find, ':1.1', 'major')).toBe('2.0 major');
  expect(await answer(find, ':2.0', 'major')).toBe('-');
  const said = 'none of the 2 highest tags has an image for linux/arm64/v8';
  expect(await answer(find, ':1.1', 'major', arm64)).toBe(said);
});

test('ends comparisons with a pattern that take too long', async () => {
  const { registry } = scene({ '1.0': [amd64], '1.1': [amd64], '1.2': [amd64], '1.3': [amd64], '1.4': [amd64] });
  let nowMs = 0;
  const slow = { monotonicMs: () => (nowMs += 1000), sleep: nextTurn };
  const find = createCandidateFinder(registry, slow);
  await expect(answer(find, ':1.0', 'regex:1\\.(\\d)')).rejects.toMatchObject({
    message: 'Cannot compare the tags: the patterns of policy or tags take too long',
    remedy: 'Use simpler patterns in policy, tag-include and tag-exclude',
  });
  expect(await answer(find, ':1.3', 'minor')).toBe('1.4 minor');
});

test.each([
  ['major', 20_000],
  ['regex:1\\.(\\d+)', 2000],
])('of many large lists one slice is compared at a time: policy %s', async (policy, count) => {
  let readings = 0;
  // Each comparison takes half a millisecond.
  const slow = { monotonicMs: () => (readings += 1) / 2, sleep: nextTurn };
  const tags = Array.from({ length: count }, (_, index) => `1.${index}`).join('\n');
  const { registry } = scene({ '1.0': [amd64] });
  const large: Registry = { ...registry, listTags: () => Promise.resolve({ tags, isCut: false }) };
  const find = createCandidateFinder(large, slow);
  let [longest, before] = [0, 0];
  let watching = setImmediate(lookAtTurn);
  function lookAtTurn(): void {
    longest = Math.max(longest, readings - before);
    before = readings;
    watching = setImmediate(lookAtTurn);
  }
  const ended = Promise.all(
    Array.from({ length: 10 }, (_, index) => {
      const reference = parseImageReference(`registry.test/team/app-${index}:1.0`);
      return find({ reference, policy: policyOf(policy), platform: amd64 });
    }),
  ).finally(() => clearImmediate(watching));
  for (const found of await ended) expect(found).toMatchObject({ kind: 'none' });
  expect(readings).toBeGreaterThan(700);
  // A slice of 10 ms, and the short looks of each search at its policy and its candidates.
  expect(longest).toBeLessThanOrEqual(200);
});

test('a search for a higher tag ends with its signal, in the middle of a list', async () => {
  const tags = Array.from({ length: 20_000 }, (_, index) => `1.${index}`).join('\n');
  const { registry } = scene({ '1.0': [amd64] });
  const stop = new AbortController();
  let comparisons = 0;
  const slow = {
    monotonicMs: () => ((comparisons += 1) === 200 && stop.abort(new Error('enough')), comparisons),
    sleep: nextTurn,
  };
  const large: Registry = { ...registry, listTags: () => Promise.resolve({ tags, isCut: false }) };
  const reference = parseImageReference(`${name}:1.0`);
  const question = { reference, policy: policyOf('regex:1\\.(\\d+)'), platform: amd64 };
  await expect(createCandidateFinder(large, slow)(question, stop.signal)).rejects.toThrow('enough');
  expect(comparisons).toBeLessThan(300);
});

test('large lists are forgotten in the run, the earliest first, and asked for again', async () => {
  const { registry } = scene({ '1.0': [amd64] });
  const asked: string[] = [];
  const large: Registry = {
    ...registry,
    listTags: ({ repository }) => {
      asked.push(repository);
      return Promise.resolve({ tags: 'x'.repeat(2 * 1024 * 1024), isCut: true });
    },
  };
  const find = createCandidateFinder(large, clock);
  const look = (index: number) => {
    const reference = parseImageReference(`registry.test/r${index}:1.0`);
    return find({ reference, policy: policyOf('minor'), platform: amd64 });
  };
  for (let index = 0; index < 20; index += 1) await look(index);
  expect(asked).toHaveLength(20);
  for (const index of [19, 18, 10, 0, 0, 1]) await look(index);
  expect(asked.slice(20)).toEqual(['r0', 'r1']);
});

test('gives way to the next lower tag where one is gone since the listing', async () => {
  const { registry, store } = scene({ '1.0': [amd64], '1.1': [amd64], '1.2': [amd64] });
  const racing: Registry = {
    ...registry,
    listTags: async (reference, signal) => {
      const list = await registry.listTags(reference, signal);
      store.untag(`${name}:1.2`);
      return list;
    },
  };
  expect(await answer(createCandidateFinder(racing, clock), ':1.0', 'minor')).toBe('1.1 minor');
});

test.each([
  ['1.3', true],
  ['1.1', false],
])('where the highest tag of the last check is gone, only a higher one is new: %s is new: %s', async (tag, isNew) => {
  const { find } = scene({ '1.0': [amd64], [tag]: [amd64] });
  const question = { reference: parseImageReference(`${name}:1.0`), policy: policyOf('minor'), platform: amd64 };
  expect(await find({ ...question, highestBefore: '1.2' })).toMatchObject({ step: { tag }, isNew });
});

test('ends after five tags without an image for the platform', async () => {
  const tags = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`1.${n}`, [n < 10 ? arm64 : amd64]]));
  const { find, store } = scene(tags);
  const before = store.requests();
  const said = 'none of the 5 highest tags has an image for linux/arm64/v8';
  expect(await answer(find, ':1.0', 'minor', arm64)).toBe(said);
  expect(store.requests() - before).toBeLessThanOrEqual(10);
});

test('lists a repository once for all containers of a run, and anew for the next run', async () => {
  const { find, store, registry } = scene({ '1.0': [amd64], '1.1': [amd64], '2.0': [amd64] });
  await Promise.all(['minor', 'major', 'major'].map((policy) => answer(find, ':1.0', policy)));
  expect(await answer(find, ':1.1', 'major')).toBe('2.0 major');
  expect(store.listings()).toBe(1);
  expect(store.requests()).toBe(4);
  await answer(createCandidateFinder(registry, clock), ':1.0', 'minor');
  expect(store.listings()).toBe(2);
});

test.each([
  [':1.0', 'digest', '-'],
  [':latest', 'major', 'its tag "latest" names no version, so only its digest is followed'],
  ['', 'major', 'its tag "latest" names no version, so only its digest is followed'],
  [`:1.0@sha256:${'a'.repeat(64)}`, 'major', '-'],
  [`@sha256:${'a'.repeat(64)}`, 'major', '-'],
  [':1.0', 'regex:v(\\d+)', 'the pattern of its policy does not match its own tag "1.0"'],
])('asks no registry about %j with policy %s', async (tag, policy, expected) => {
  const { find, store } = scene({ '1.0': [amd64] });
  expect(await answer(find, tag, policy)).toBe(expected);
  expect(store.listings() + store.requests()).toBe(0);
});

test('a tag that cannot be judged is passed over for a lower one, and told', async () => {
  const { find } = scene({ '1.0': [amd64], '1.1': [amd64], '1.2': [amd64] });
  const error = new ServiceError('registry-invalid', 'its signatures cannot be read');
  const reference = parseImageReference(`${name}:1.0`);
  const judge = ({ step }: { readonly step: { readonly tag: string } }) =>
    step.tag === '1.2' ? Promise.reject(error) : Promise.resolve('take' as const);
  const asked = { reference, policy: policyOf('minor'), platform: amd64, isSignatureNeeded: true };
  expect(await find({ ...asked, judge })).toMatchObject({
    kind: 'found',
    step: { tag: '1.1' },
    unreadable: { tag: '1.2', error },
  });
  await expect(find({ ...asked, judge: () => Promise.reject(error) })).rejects.toBe(error);
});

test('a registry that lists no tags, or refuses, is no answer', async () => {
  const { find, store } = scene({ '1.0': [amd64], '1.1': [amd64] });
  store.misbehave('registry.test', { kind: 'lists-no-tags' });
  await expect(answer(find, ':1.0', 'minor')).rejects.toMatchObject({ code: 'registry-invalid' });
  const other = scene({ '1.0': [amd64], '1.1': [amd64] });
  other.store.misbehave('registry.test', { kind: 'rate-limited', max: 1, windowMs: 1000 });
  await expect(answer(other.find, ':1.0', 'minor')).rejects.toMatchObject({ code: 'registry-rate-limited' });
});

describe('a higher tag whose image is older', () => {
  const builtAtMs = Date.UTC(2024, 5, 12);
  const old = Date.UTC(2020, 7, 1);

  async function found(dates: Readonly<Record<string, number | undefined>>, builtAt: number | undefined) {
    const { registry, store } = createSandboxRegistry({ clock: createFakeClock({ auto: true }) });
    for (const [tag, createdAtMs] of Object.entries(dates))
      store.publish(`${name}:${tag}`, { version: tag, platforms: [amd64], ...(createdAtMs && { createdAtMs }) });
    const find = createCandidateFinder(registry, clock);
    const reference = parseImageReference(`${name}:4.6.5`);
    const before = store.requests();
    const answer = await find({ reference, policy: policyOf('major'), platform: amd64, builtAtMs: builtAt });
    return { said: answer.kind === 'found' ? answer.step.tag : answer.because, requests: store.requests() - before };
  }

  test('is passed over, with all of its line', async () => {
    const ancient = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`14.3.${at}`, old]));
    const { said, requests } = await found(
      { '4.6.5': builtAtMs, ...ancient, '14.2.9': old, '5.0.1': builtAtMs },
      builtAtMs,
    );
    expect(said).toBe('5.0.1');
    expect(requests).toBeLessThanOrEqual(4);
  });

  test('is named where there is no other', async () => {
    const { said } = await found({ '4.6.5': builtAtMs, '14.3.9': old }, builtAtMs);
    expect(said).toBe('"14.3.9" is higher, but its image is older: built on 2020-08-01, the running one on 2024-06-12');
  });

  test.each([
    ['is taken where the time of the running image is unknown', { '14.3.9': old }, undefined],
    [
      'is taken within a month, because older versions are corrected too',
      { '14.3.9': Date.UTC(2024, 4, 20) },
      builtAtMs,
    ],
    ['is taken where it is newer', { '14.3.9': Date.UTC(2025, 0, 1) }, builtAtMs],
  ])('%s', async (_, dates, builtAt) => {
    expect((await found({ '4.6.5': builtAtMs, ...dates }, builtAt)).said).toBe('14.3.9');
  });
});

test('says which higher version it does not take, and why', async () => {
  const { find } = scene({ '4.0.1-18': [amd64], '4.0.2-20': [amd64], '4.0.2-22': [amd64] });
  expect(await answer(find, ':4.0.1-18', 'patch')).toBe(
    '"4.0.2-22" is higher, but the number 22 at its end may be the version of another program',
  );
});

test('says where a higher tag may be hidden, because the list was cut', async () => {
  const { registry } = scene({ '1.0': [amd64] });
  const cut: Registry = { ...registry, listTags: () => Promise.resolve({ tags: '1.0', isCut: true }) };
  expect(await answer(createCandidateFinder(cut, clock), ':1.0', 'minor')).toBe(
    'no higher tag is among those that the registry lists, 50,000 tags or 2 MB at most',
  );
});
