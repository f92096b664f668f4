import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTagLists } from '../../../test/support/registry/tag-lists.ts';
import type { BoundedPattern } from '../text/name-pattern.ts';
import { parseVersionTag } from './version-tag.ts';
import { readTagFilter, readTagPolicy } from '../settings/values/versions.ts';
import type { TagPolicy } from './choose-tag.ts';

import * as subject from './choose-tag.ts';

const lists = readTagLists();
const rows = lists.flatMap(({ image, tags, choices }) => choices.map((choice) => ({ image, tags, ...choice })));

describe('chooseTag() on real lists', () => {
  test('there are hundreds of them', () => {
    expect(lists.length).toBeGreaterThanOrEqual(300);
    expect(rows.every(({ tags, current }) => tags.includes(current))).toBe(true);
    expect(rows.every(({ tags, best }) => best === '-' || tags.includes(best.split(' ')[0] ?? ''))).toBe(true);
  });

  test.each(rows)('$image:$current with policy $policy moves to $best', ({ tags, current, policy, best }) => {
    expect(bestOf({ tags, current, policy: policyOf(policy) })).toBe(best);
  });

  test.each(lists)('$image: a second run finds nothing more', ({ tags, choices }) => {
    for (const { policy, best } of choices) {
      const [current = '-'] = best.split(' ');
      if (current !== '-') expect(bestOf({ tags, current, policy: policyOf(policy) })).toBe('-');
    }
  });
});

describe('chooseTag() with a pattern', () => {
  const tags = ['v1.2-a9', 'v1.10-a1', 'v1.9-a7', 'v2.0-b1', 'latest'];

  test('orders by the numbers of its groups, part by part', () => {
    const policy = policyOf('regex:v(\\d+\\.\\d+)-a\\d+');
    expect(chooseTag({ current: 'v1.2-a9', tags, policy }).candidates).toEqual([
      { tag: 'v1.10-a1', kind: 'minor' },
      { tag: 'v1.9-a7', kind: 'minor' },
    ]);
    expect(chooseTag({ current: 'v1.10-a1', tags, policy }).candidates).toEqual([]);
  });

  test('orders by several groups in their order', () => {
    const policy = policyOf('regex:4\\.0\\.0-ls(\\d+)|v(\\d+)\\.(\\d+)-[ab](\\d+)');
    expect(chooseTag({ current: 'v1.9-a7', tags, policy }).candidates[0]).toEqual({ tag: 'v2.0-b1', kind: 'major' });
  });

  test('says so when it does not mean the current tag', () => {
    const { candidates, because } = chooseTag({ current: 'latest', tags, policy: policyOf('regex:v(\\d+).*') });
    expect(candidates).toEqual([]);
    expect(because).toBe('the pattern of its policy does not match its own tag "latest"');
  });

  test('takes a number too long to be exact for none', () => {
    const policy = policyOf('regex:b(\\d+)');
    const far = ['b1', 'b2', `b${'9'.repeat(17)}`];
    expect(chooseTag({ current: 'b1', tags: far, policy }).candidates).toEqual([{ tag: 'b2', kind: 'major' }]);
  });
});

describe('chooseTag() with filters', () => {
  const tags = ['1.25.0', '1.26.0', '1.27.0', '1.28.0'];

  test('takes only what is included and not excluded, best first', () => {
    const question = { current: '1.25.0', tags, policy: policyOf('minor') };
    const found = (filters: Partial<Question>) =>
      chooseTag({ ...question, ...filters }).candidates.map(({ tag }) => tag);
    expect(found({})).toEqual(['1.28.0', '1.27.0', '1.26.0']);
    expect(found({ include: filterOf('^1\\.2[67]') })).toEqual(['1.27.0', '1.26.0']);
    expect(found({ exclude: filterOf('28') })).toEqual(['1.27.0', '1.26.0']);
    expect(found({ include: filterOf('1'), exclude: filterOf('.') })).toEqual([]);
  });
});

describe('chooseTag() leaves the versions of other programs', () => {
  test.each([
    ['v0.3.0-cu118', 'patch', 'v0.3.0-cu124 v0.3.1-cu118 v0.3.1-cu121 v0.3.1-cu124', 'v0.3.1-cu118 patch'],
    ['2.4.0-cu118', 'major', '2.4.0-cu121 2.4.0-cu124', '-'],
    ['1.2.0-cu11', 'major', '1.2.0-cu12 1.3.0-cu11 1.3.0-cu12', '1.3.0-cu11 minor'],
    ['v0.4.6.post1-cu121', 'patch', 'v0.4.6.post1-cu124 v0.4.6.post2-cu124 v0.4.7-cu121', 'v0.4.7-cu121 patch'],
    ['cu121-slim', 'major', 'cu124-slim cu128-slim', '-'],
    ['cu121-v1.2.0', 'major', 'cu124-v1.3.0 cu121-v1.2.1', 'cu121-v1.2.1 patch'],
    ['2022-CU13-ubuntu-22.04', 'major', '2022-CU14-ubuntu-22.04', '2022-CU14-ubuntu-22.04 patch'],
  ])('CUDA: %s with policy %s and %s moves to %s', expectBest);

  test.each([
    ['4.0.1_18', 'patch', '4.0.1_20 4.0.2_18 4.0.2_22', '4.0.2_18 patch'],
    ['4.0.1_18', 'major', '4.0.2_20 4.0.2_22', '-'],
    ['10.0.1_18-slim', 'major', '10.0.1_20-slim 10.0.2_18-slim 10.0.2_20-slim', '10.0.2_18-slim patch'],
    ['1.2.3_1', 'major', '1.2.3_1 1.2.4_1 1.2.4_2', '1.2.4_1 patch'],
    ['17.0.12_7-jre', 'major', '21.0.4_7-jre 17.0.13_11-jre', '21.0.4_7-jre major'],
    ['17.0.12_7-jre', 'patch', '17.0.13_11-jre 17.0.14_7-jre', '17.0.14_7-jre patch'],
    ['17_35-jdk', 'major', '18_36-jdk 21_35-jdk', '21_35-jdk major'],
  ])('behind an underscore: %s with policy %s and %s moves to %s', expectBest);

  test.each([
    ['apache-php8.1', 'apache-php8.2 apache-php8.4'],
    ['fpm-php8.1-alpine', 'fpm-php8.4-alpine'],
    ['stable-pg14', 'stable-pg16 stable-pg17'],
    ['main-py3.11', 'main-py3.12'],
    ['debian-php8.2', 'debian-php8.3'],
    ['nightly_node-18', 'nightly_node-22'],
    ['stable-cuda12.1', 'stable-cuda12.4'],
  ])('behind a word: %s stays where there is %s', (current, others) => expectBest(current, 'major', others, '-'));

  test.each([
    ['PHP8.1-apache', 'PHP8.4-apache', '-'],
    ['Java17', 'Java21', '-'],
    ['Alpine3.19', 'Alpine3.20', '-'],
    ['PG14-v0.2.0', 'PG16-v0.2.0 PG14-v0.2.1 PG16-v0.3.0', 'PG14-v0.2.1 patch'],
    ['Ubuntu22.04-1.2.0', 'Ubuntu24.04-1.2.0 Ubuntu22.04-1.3.0', 'Ubuntu22.04-1.3.0 minor'],
    ['Foo3-1.2.0', 'Foo4-1.2.0 Foo4-1.3.0', '-'],
  ])('in capitals too: %s with %s moves to %s', (current, others, best) => expectBest(current, 'major', others, best));

  test.each([
    ['3.17-R-4.3.0', 'major', '3.18-R-4.3.0 3.18-R-4.3.2 3.19-R-4.4.1', '3.18-R-4.3.0 minor'],
    ['1.2.0-r4.2', 'major', '1.3.0-r4.4', '-'],
    ['1.2.0-p7.4', 'major', '1.2.0-p8.3 1.3.0-p8.3', '-'],
    ['1.2.0-p7.4', 'major', '1.3.0-p7.4 1.3.0-p8.3', '1.3.0-p7.4 minor'],
    ['16.4.0-debian-12-r2', 'major', '16.4.0-debian-12-r3 16.5.0-debian-12-r0', '16.5.0-debian-12-r0 minor'],
    ['2.3.0p31', 'patch', '2.3.0p32', '2.3.0p32 patch'],
  ])('after a letter: %s with policy %s and %s moves to %s', expectBest);
});

test.each([
  ['999999', '1000000', '"1000000" is higher, but its single number may be an id'],
  ['v123456-alpine', 'v1234567-alpine', '"v1234567-alpine" is higher, but its single number may be an id'],
  ['v123456-alpine', 'v1234567-slim', undefined],
  ['16', '1000000', undefined],
  ['8u422-jdk', '17.0.12-jdk', '"17.0.12-jdk" is higher, but is numbered in another way'],
  ['7-jdk', '8u422-jdk', '"8u422-jdk" is higher, but is numbered in another way'],
  ['2024.1', '8960.1', '"8960.1" is higher, but is numbered in another way'],
  ['8u422', '2024.1', '"2024.1" is higher, but is a date'],
  ['4.6.5', '20.04.1', '"20.04.1" is higher, but is a date'],
  ['0.6.24', '2021.12.16', '"2021.12.16" is higher, but is a date'],
  ['2024.8.1', '20240902', '"20240902" is higher, but is dated in another way'],
])('chooseTag() says of %s why it is not %s', (current, other, because) => {
  const tags = [current, other];
  expect(chooseTag({ current, tags, policy: policyOf('major') }).because).toBe(because);
});

test.each([
  ['pg14-v0.3.0', 'pg16-v0.4.0 pg17-v0.3.0', '"pg16-v0.4.0" is higher, but begins with "pg16-v", not with "pg14-v"'],
  ['alpine3.19-v17.2.1', 'alpine3.21-v18.0', undefined],
  [
    'alpine3.19-v17.2.1',
    'alpine3.20-v17.2.1 alpine3.21-v18.0.0 ubuntu24.04-v18.0.1 v18.0.2',
    '"alpine3.21-v18.0.0" is higher, but begins with "alpine3.21-v", not with "alpine3.19-v"',
  ],
  ['16-v0.3.0', '17-v0.4.0 v0.5.0', '"17-v0.4.0" is higher, but begins with "17-v", not with "16-v"'],
  ['pg14-v0.3.0', 'pg16-v0.4.0-rc.1 pg16-v0.4.0-amd64 pg16-v0.3.0', undefined],
  ['pg14-v0.3.0', 'pg14-v0.3.1 pg16-v0.4.0', undefined],
])('chooseTag() says that %s is behind %s, which begin with another number', (current, others, because) => {
  const tags = [current, ...others.split(' ')];
  expect(chooseTag({ current, tags, policy: policyOf('major') }).because).toBe(because);
});

test('chooseTag() takes no month for a later year', () => {
  const tags = ['2024', '202402', '202403', '20240301', '2025', '2024.1', '202402.1', '2024.2'];
  const next = (current: string) =>
    chooseTag({ current, tags, policy: policyOf('major') }).candidates.map(({ tag }) => tag);
  expect(next('2024')).toEqual(['2025']);
  expect(next('202402')).toEqual(['202403']);
  expect(next('2024.1')).toEqual(['2024.2']);
});

describe('chooseTag() where nothing is chosen', () => {
  test.each([
    ['digest', '1.0.0', 'its policy follows the digest of its tag'],
    ['major', 'latest', 'its tag "latest" names no version, so only its digest is followed'],
  ])('with policy %s and tag %s says why', (policy, current, because) => {
    expect(chooseTag({ current, tags: ['1.0.0', '2.0.0', 'latest'], policy: policyOf(policy) })).toEqual({
      candidates: [],
      newCount: 0,
      because,
    });
  });

  test('an empty listing has no candidate and needs no reason', () => {
    expect(chooseTag({ current: '1.0.0', tags: [], policy: policyOf('major') })).toEqual({
      candidates: [],
      newCount: 0,
    });
  });
});

describe('chooseTag() always', () => {
  const word = fc.constantFrom('', 'v', 'release-', 'arm64v8-', 'r');
  const numbers = fc.array(fc.nat(12), { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.'));
  const date = fc.tuple(fc.integer({ min: 2019, max: 2026 }), fc.nat(13), fc.nat(32)).map((parts) => parts.join('.'));
  const before = fc.constantFrom('', '', '', '-rc.1', '-rc.2', 'b3', '-beta', '-SNAPSHOT', '-nightly');
  const end = fc.constantFrom(
    '',
    '',
    '-alpine',
    '-alpine3.19',
    '-alpine3.20',
    '-ls3',
    '-ls14',
    '-pg16',
    '-slim',
    '-1',
    '-3f2a1bc',
  );
  const made = fc.tuple(word, fc.oneof(numbers, date), before, end).map((parts) => parts.join(''));
  const anyTag = fc.oneof(
    { weight: 8, arbitrary: made },
    fc.constantFrom('latest', 'stable', 'alpine3.20', 'sha-3f2a1bc', '20240801', '2024-08-01'),
    fc.stringMatching(/^\w[\w.-]{0,127}$/),
  );
  const anyPolicy = fc.constantFrom('patch', 'minor', 'major').map(policyOf);
  const anyList = fc.array(anyTag, { maxLength: 60 });

  test('offers nothing lower, nothing of another shape, and never its own tag', () => {
    fc.assert(
      fc.property(anyTag, anyList, anyPolicy, (current, tags, policy) => {
        const own = parseVersionTag(current);
        for (const { tag } of chooseTag({ current, tags, policy }).candidates) {
          const next = parseVersionTag(tag);
          expect(tags).toContain(tag);
          expect(tag).not.toBe(current);
          expect(next).toMatchObject({ prefix: own?.prefix, form: own?.form });
          expect(next?.numbers).toHaveLength(own?.numbers.length ?? -1);
          expect(next?.suffix.shape).toBe(own?.suffix.shape);
          const back = chooseTag({ current: tag, tags: [current], policy: policyOf('major') });
          expect(back.candidates).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('never another version of another program, before or after its own', () => {
    const program = fc
      .tuple(fc.constantFrom('pg', 'php', 'jdk', 'cuda', 'foo', 'xy'), fc.integer({ min: 7, max: 30 }))
      .map((parts) => parts.join(''));
    const tagged = fc.tuple(fc.constantFrom('before', 'after'), program, numbers, fc.constantFrom('', '-apache'));
    const write = ([at, other, version, end]: readonly [string, string, string, string]) =>
      at === 'before' ? `${other}-v${version}.0${end}` : `${version}-${other}${end}`;
    fc.assert(
      fc.property(tagged, fc.array(tagged, { maxLength: 40 }), anyPolicy, (own, others, policy) => {
        const programOf = new Map([...others, own].map((one) => [write(one), one[1]]));
        for (const { tag } of chooseTag({ current: write(own), tags: [...programOf.keys()], policy }).candidates)
          expect(programOf.get(tag)).toBe(own[1]);
      }),
      { numRuns: 1000 },
    );
  });

  test('never another number without a word that several versions share', () => {
    const variants = fc.uniqueArray(fc.integer({ min: 2, max: 40 }), { minLength: 1, maxLength: 4 });
    const releases = fc.array(fc.tuple(numbers, variants), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(releases, fc.integer({ min: 2, max: 40 }), anyPolicy, (versions, own, policy) => {
        const tags = versions.flatMap(([version, others]) =>
          [own, ...others].map((other) => `${version}-${other}-slim`),
        );
        for (const { tag } of chooseTag({ current: `${versions[0]?.[0]}-${own}-slim`, tags, policy }).candidates)
          expect(tag).toMatch(new RegExp(`-${own}-slim$`));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['5.0-rc1', '4.1.6 5.0-rc1 5.0.0', '"5.0.0" is higher, but has 3 numbers, not 2'],
    ['18rc1', '17.6 18beta3 18rc1 18.0', '"18.0" is higher, but has 2 numbers, not 1'],
    [
      'v2.0-beta.3-alpine',
      'v2.0-beta.3-alpine v2.0.1-alpine v2.0.1',
      '"v2.0.1-alpine" is higher, but has 3 numbers, not 2',
    ],
    ['5.0-rc1', '5.0-rc1 5.0.0-rc2', undefined],
    ['5.0', '5.0 5.0.0 5.0.1', undefined],
  ])('says that the release of %s is out in another form: %j', (current, tags, because) => {
    const found = chooseTag({ current, tags: tags.split(' '), policy: policyOf('major') });
    expect([found.candidates, found.because]).toEqual([[], because]);
  });

  test('depends neither on the order of the listing nor on what it says twice', () => {
    const shuffled = anyList.chain((tags) =>
      fc.tuple(fc.constant(tags), fc.shuffledSubarray([...tags, ...tags], { minLength: tags.length * 2 })),
    );
    fc.assert(
      fc.property(anyTag, shuffled, anyPolicy, (current, [tags, again], policy) => {
        expect(chooseTag({ current, tags: again, policy })).toEqual(chooseTag({ current, tags, policy }));
      }),
    );
  });

  test('a wider policy offers all that a narrower one does', () => {
    fc.assert(
      fc.property(anyTag, anyList, (current, tags) => {
        const offered = ['patch', 'minor', 'major'].map((text) =>
          chooseTag({ current, tags, policy: policyOf(text) }).candidates.map(({ tag }) => tag),
        );
        expect(offered[1]).toEqual(expect.arrayContaining(offered[0] ?? []));
        expect(offered[2]).toEqual(expect.arrayContaining(offered[1] ?? []));
      }),
    );
  });

  test('the kind of a candidate is one that its policy allows', () => {
    fc.assert(
      fc.property(anyTag, anyList, (current, tags) => {
        const kinds = (text: string) =>
          chooseTag({ current, tags, policy: policyOf(text) }).candidates.map(({ kind }) => kind);
        expect(kinds('patch').filter((kind) => kind !== 'patch')).toEqual([]);
        expect(kinds('minor')).not.toContain('major');
      }),
    );
  });
});

describe('chooseTag() on long lists', () => {
  const list = fc.array(
    fc
      .tuple(fc.nat(3), fc.nat(30), fc.constantFrom('', '', '-alpine3.19', '-ls3', '-rc.1'))
      .map(([major, minor, end]) => `${major}.${minor}${end}`),
    { maxLength: 80 },
  );
  const policies = ['minor', 'major', 'regex:(\\d+)\\.(\\d+).*'].map(policyOf);

  test.each(['major', 'regex:1\\.(\\d+)'])('keeps the best thousand, in any order of the list: policy %s', (policy) => {
    const tags = Array.from({ length: 3000 }, (_, at) => `1.${(at * 7) % 3000}`);
    const found = (question: Partial<Question>) =>
      chooseTag({ current: '1.0', tags, policy: policyOf(policy), ...question }).candidates.map(({ tag }) => tag);
    expect(found({})).toEqual(Array.from({ length: 1000 }, (_, at) => `1.${2999 - at}`));
    expect(found({ tags: tags.toReversed() })).toEqual(found({}));
    expect(found({ exclude: filterOf('[1-9]$') })).toEqual(
      Array.from({ length: 299 }, (_, at) => `1.${2990 - at * 10}`),
    );
  });

  test('counts those above the highest one of the last check, which may be gone, as new', () => {
    fc.assert(
      fc.property(
        list,
        fc.constantFrom(...policies),
        fc.tuple(fc.nat(3), fc.nat(30)),
        (tags, policy, [major, minor]) => {
          const highestBefore = `${major}.${minor}`;
          const question = { current: '1.0', tags, policy };
          const withBefore = chooseTag({ ...question, tags: [...tags, highestBefore] }).candidates;
          const place = withBefore.findIndex(({ tag }) => tag === highestBefore);
          expect(chooseTag({ ...question, highestBefore }).newCount).toBe(Math.max(0, place));
        },
      ),
    );
    const question = { current: '1.0', tags: ['1.1', '1.2'], policy: policyOf('minor') };
    expect(chooseTag({ ...question, highestBefore: '' }).newCount).toBe(2);
    expect(chooseTag(question).newCount).toBe(0);
  });

  test('yields after each comparison with a pattern, and after some hundred plain tags', () => {
    const tags = Array.from({ length: 10_000 }, (_, at) => `1.${at}`).join('\n');
    const yields = (filters: Partial<subject.TagQuestion>) => {
      const choosing = subject.chooseTag({ current: '1.0', tags, policy: policyOf('major'), ...filters });
      let count = 0;
      while (choosing.next().done !== true) count += 1;
      return count;
    };
    expect(yields({ policy: policyOf('regex:1\\.(\\d+)') })).toBeGreaterThanOrEqual(10_000);
    expect(yields({ include: filterOf('1') })).toBeGreaterThanOrEqual(9999);
    expect(yields({ exclude: filterOf('x') })).toBeGreaterThanOrEqual(9999);
    expect(yields({})).toBeGreaterThan(30);
  });
});

type Question = Omit<subject.TagQuestion, 'tags'> & { readonly tags: readonly string[] };

function chooseTag({ tags, ...question }: Question): subject.TagChoice {
  const choosing = subject.chooseTag({ ...question, tags: tags.join('\n') });
  for (;;) {
    const step = choosing.next();
    if (step.done === true) return step.value;
  }
}

function policyOf(text: string): TagPolicy {
  const policy = readTagPolicy(text);
  if ('fault' in policy) throw new Error(policy.fault);
  return policy;
}

function filterOf(text: string): BoundedPattern['isIn'] {
  const filter = readTagFilter(text);
  if (typeof filter !== 'function') throw new Error(filter.fault);
  return filter;
}

function expectBest(current: string, policy: string, others: string, best: string): void {
  const tags = [current, ...others.split(' ')];
  expect(bestOf({ current, tags, policy: policyOf(policy) })).toBe(best);
}

function bestOf(question: Question): string {
  const [best] = chooseTag(question).candidates;
  return best === undefined ? '-' : `${best.tag} ${best.kind}`;
}
