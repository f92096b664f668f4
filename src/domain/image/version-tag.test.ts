import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseVersionTag } from './version-tag.ts';

test.each([
  ['1.27.0', '', [1, 27, 0], 'version', '', ''],
  ['v1', 'v', [1], 'version', '', ''],
  ['v1.27.0-rc.1-alpine3.20', 'v', [1, 27, 0], 'version', 'rc 1', '-alpine#'],
  ['17beta2', '', [17], 'version', 'beta 2', ''],
  ['2024.9.0.dev20240810', '', [2024, 9, 0], 'calendar', 'dev 20240810', ''],
  ['4.0.8.1874-ls250', '', [4, 0, 8, 1874], 'version', '', '-ls*'],
  ['17.0.12_7-jre-alpine', '', [17, 0, 12], 'version', '', '_~-jre-alpine'],
  ['2.16.1-pg16', '', [2, 16, 1], 'version', '', '-pg16'],
  ['1.41.0.8994-f2c27da23', '', [1, 41, 0, 8994], 'version', '', '-@'],
  ['16.4.0-debian-12-r2', '', [16, 4, 0], 'version', '', '-debian-#-r*'],
  ['arm64v8-1.40.5', 'arm64v8-', [1, 40, 5], 'version', '', ''],
  ['alpine3.19-v17.2.1', 'alpine3.19-v', [17, 2, 1], 'version', '', ''],
  ['bookworm-20240812-slim', 'bookworm-', [2024, 8, 12], '00000000', '', '-slim'],
  ['202408', '', [202_408], '000000', '', ''],
  ['2024-08-05', '', [2024, 8, 5], '0000-00-00', '', ''],
  ['RELEASE.2024-08-17T01-24-54Z', 'RELEASE.', [2024, 8, 17, 5094], '0000-00-00T00-00-00Z', '', ''],
  ['1.1.1w', '', [1, 1, 1], 'version', '', 'w'],
])('%s names a version', (tag, prefix, numbers, form, before, shape) => {
  const version = parseVersionTag(tag);
  expect(version).toMatchObject({ tag, prefix, numbers, form, suffix: { shape } });
  const { stage } = version ?? {};
  expect(stage === undefined ? '' : [stage.word, ...stage.numbers].join(' ')).toBe(before);
});

test.each([
  ...['latest', 'stable', 'lts-alpine', 'bookworm-slim', 'alpine3.20', 'alpine3.20-slim', 'ubuntu22.04', 'amd64'],
  ...['amd64-latest', 'latest-pg16', 'sha-3f2a1bc', 'pr-123', 'git-1a2b3c4', '2c7d8e9f', 'main-8f3a2b1', '1234567'],
  ...[
    `sha256-${'0'.repeat(64)}.sig`,
    '1.2.3.4.5.6.7.8.9',
    '9999999999999999.1',
    '',
    '-1.0',
    '1.0 ',
    'é1',
    `1.${'0'.repeat(130)}`,
  ],
])('%j names none', (tag) => {
  expect(parseVersionTag(tag)).toBeUndefined();
});

test('any text is read without an error, and nothing is lost of the tag', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\w[\w.-]{0,127}$/)), (text) => {
      const version = parseVersionTag(text);
      if (version === undefined) return;
      expect(version.tag).toBe(text);
      expect(text.startsWith(version.prefix)).toBe(true);
      expect(version.numbers.length).toBeGreaterThanOrEqual(1);
      expect(version.numbers.length).toBeLessThanOrEqual(4);
      expect(version.numbers.every(Number.isSafeInteger)).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
