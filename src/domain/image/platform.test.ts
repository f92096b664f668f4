import {
  alternativesTo,
  choosePlatform,
  runsOn,
  formatPlatform,
  normalisePlatform,
  samePlatform,
  type Platform,
} from './platform.ts';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fixtureTable } from '../../../test/support/fixture-table.ts';

describe('normalisePlatform()', () => {
  test.each(fixtureTable('platform-spellings.txt'))('reads %s as %s', (written, expected) => {
    expect(formatPlatform(normalisePlatform(platform(written)))).toBe(expected);
  });

  test('changes nothing the second time', () => {
    fc.assert(
      fc.property(foreignPlatform, (foreign) => {
        const once = normalisePlatform(foreign);
        expect(normalisePlatform(once)).toEqual(once);
      }),
    );
  });

  test('takes missing parts for empty ones', () => {
    expect(normalisePlatform({})).toEqual({ os: '', architecture: '', variant: '' });
  });
});

describe('choosePlatform()', () => {
  test.each(fixtureTable('platform-choices.txt'))('for %s of %s takes %s', (wanted, index = '', expected) => {
    const manifests = index === '-' ? [] : index.split(' ').map((text, at) => entry(text, at + 1));
    expect(choosePlatform(manifests, platform(wanted))?.number.toString() ?? '-').toBe(expected);
  });

  test('takes only what runs there, whatever the index holds', () => {
    fc.assert(
      fc.property(fc.array(realPlatform), realPlatform, (platforms, wanted) => {
        const chosen = choosePlatform(
          platforms.map((each) => ({ platform: each })),
          wanted,
        );
        if (chosen === undefined) expect(platforms.some((each) => runsOn(each, wanted))).toBe(false);
        else expect(runsOn(chosen.platform, wanted)).toBe(true);
      }),
    );
  });

  test('prefers the wanted platform to every other', () => {
    fc.assert(
      fc.property(fc.array(realPlatform), realPlatform, fc.nat(10), (platforms, wanted, at) => {
        const manifests = platforms.toSpliced(at, 0, wanted).map((each) => ({ platform: each }));
        const chosen = choosePlatform(manifests, wanted);
        expect(chosen !== undefined && samePlatform(chosen.platform, wanted)).toBe(true);
      }),
    );
  });
});

describe('alternativesTo()', () => {
  test.each(fixtureTable('platform-alternatives.txt'))(
    'for %s of %s, %s may be %s',
    (wanted, index = '', chosen, others) => {
      const manifests = index
        .split(' ')
        .map((text, at) => ({ ...entry(text.replaceAll('-', ''), at + 1), digest: `${at}` }));
      const taken = choosePlatform(manifests, platform(wanted));
      expect(taken?.number).toBe(Number(chosen));
      const found = alternativesTo(taken!, manifests, platform(wanted)).map(({ number }) => number);
      expect(found.join() || '-').toBe(others);
    },
  );

  test('are other images, each once', () => {
    const amd64 = { os: 'linux', architecture: 'amd64' };
    const [one, other] = [
      { digest: '1', platform: amd64 },
      { digest: '2', platform: { ...amd64, variant: 'v3' } },
    ];
    expect(alternativesTo(one, [one, other, { ...one }, { ...other, platform: amd64 }], amd64)).toHaveLength(1);
  });
});

describe('runsOn()', () => {
  test.each([
    ['linux/amd64', 'linux/x86_64', true],
    ['linux/arm64/v8', 'linux/aarch64', true],
    ['linux/arm/v6', 'linux/armv7l', true],
    ['linux/arm/v7', 'linux/armv6l', false],
    ['linux/386', 'linux/amd64', true],
    ['linux/arm64', 'linux/amd64', false],
    ['windows/amd64', 'linux/amd64', false],
    ['linux/', 'linux/amd64', true],
    ['/arm64', 'linux/arm64', true],
    ['/', 'linux/arm/v6', true],
  ])('of %s and %s is %s', (image, engine, expected) => {
    expect(runsOn(platform(image), platform(engine))).toBe(expected);
  });
});

function platform(text = ''): Platform {
  const [os = '', architecture = '', variant = ''] = text.split('/');
  return { os, architecture, variant };
}

function entry(text: string, number: number) {
  return text === '?' ? { number } : { number, platform: platform(text) };
}

const foreignPlatform = fc.record(
  {
    os: fc.oneof(fc.constantFrom('linux', 'Linux', 'macos', 'windows'), fc.string()),
    architecture: fc.oneof(fc.constantFrom('arm', 'ARM64', 'aarch64', 'armhf', 'x86_64', 'i686', 'amd64'), fc.string()),
    variant: fc.oneof(fc.constantFrom('', '8', 'v8', 'v8.0', 'v9.0', '9.0', '7', 'v1', '1'), fc.string()),
  },
  { requiredKeys: [] },
);

const realPlatform = fc.constantFrom(...fixtureTable('platform-spellings.txt').map(([written]) => platform(written)));
