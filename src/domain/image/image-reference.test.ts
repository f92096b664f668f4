import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import { fixtureTable } from '../../../test/support/fixture-table.ts';
import {
  digestOfRepository,
  engineReference,
  familiarReference,
  formatReference,
  matchesReference,
  parseImageReference,
  repositoryName,
  sameRepository,
  tryParseImageReference,
  withDigest,
  type Digest,
  type ImageReference,
} from './image-reference.ts';
import { ServiceError } from '../text/errors.ts';

const digest: Digest = `sha256:${'ab'.repeat(32)}`;
const other: Digest = `sha256:${'cd'.repeat(32)}`;

describe('parseImageReference()', () => {
  test.each(fixtureTable('reference-valid.txt'))('reads %s', (text = '', registry, repository, tag, digestText) => {
    expect(parseImageReference(text)).toEqual({ registry, repository, tag: given(tag), digest: given(digestText) });
  });

  test.each(fixtureTable('reference-invalid.txt'))('refuses %s and says "%s"', (text = '', why = '') => {
    const error = errorOf(() => parseImageReference(text));
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('Cannot read image reference "'),
    });
    expect(error).toMatchObject({ message: expect.stringContaining(why) });
    expect(tryParseImageReference(text)).toBeUndefined();
  });

  test('refuses an empty text', () => {
    expect(() => parseImageReference('')).toThrow('Cannot read image reference "": it is empty');
  });

  test.each(['a', '/', 'a/', 'a.', '-', ' ', ':', '@', '\n', '\u202e'])(
    'refuses a megabyte of %j by its length alone, with a short message',
    (piece) => {
      const error = errorOf(() => parseImageReference(piece.repeat(2 ** 20)));
      expect(error).toMatchObject({ message: expect.stringMatching(/: it has more than 1024 characters$/) });
      expect((error as ServiceError).message.length).toBeLessThan(200);
    },
  );

  test('shows control characters of a hostile text escaped', () => {
    expect(() => parseImageReference('nginx\u001b[2J')).toThrow(String.raw`"nginx\x1b[2J"`);
  });

  test('throws nothing but a ServiceError, and only where tryParseImageReference() gives nothing', () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), referenceLike), (text) => {
        const parsed = tryParseImageReference(text);
        const error = errorOf(() => parseImageReference(text));
        expect(error instanceof ServiceError).toBe(parsed === undefined);
        expect(error === undefined).toBe(parsed !== undefined);
      }),
    );
  });

  test('of what formatReference() or familiarReference() wrote is the same reference', () => {
    fc.assert(
      fc.property(reference, (written) => {
        expect(parseImageReference(formatReference(written))).toEqual(written);
        expect(parseImageReference(familiarReference(written))).toEqual(written);
      }),
    );
  });

  test('normalises once and for all', () => {
    fc.assert(
      fc.property(referenceLike, (text) => {
        const parsed = tryParseImageReference(text);
        fc.pre(parsed !== undefined);
        expect(parseImageReference(formatReference(parsed))).toEqual(parsed);
        expect(parseImageReference(familiarReference(parsed))).toEqual(parsed);
      }),
    );
  });
});

describe('familiarReference()', () => {
  test.each(fixtureTable('reference-valid.txt'))('of %s', (...row) => {
    const [text = '', , , , , expected] = row;
    expect(familiarReference(parseImageReference(text))).toBe(expected === '=' ? text : expected);
  });
});

describe('what an engine is asked for', () => {
  test('engineReference() is by tag, and by digest alone where there is one', () => {
    expect(engineReference(parseImageReference('nginx:1.27'))).toBe('docker.io/library/nginx:1.27');
    expect(engineReference(parseImageReference(`nginx:1.27@${digest}`))).toBe(`docker.io/library/nginx@${digest}`);
    expect(engineReference(withDigest(parseImageReference('localhost:5000/app'), digest))).toBe(
      `localhost:5000/app@${digest}`,
    );
  });

  test('repositoryName() has neither tag nor digest', () => {
    expect(repositoryName(parseImageReference(`ghcr.io/a/b:1@${digest}`))).toBe('ghcr.io/a/b');
  });
});

describe('matchesReference()', () => {
  test.each(fixtureTable('reference-matches.txt'))('of %s and %s: %s', (filter = '', text = '', expected = '') => {
    expect(matchesReference(filter, parseImageReference(text))).toBe(expected === 'yes');
  });

  test('finds every reference by its own spellings', () => {
    fc.assert(
      fc.property(reference, (written) => {
        expect(matchesReference(formatReference(written), written)).toBe(true);
        expect(matchesReference(familiarReference(written), written)).toBe(true);
        expect(matchesReference(repositoryName(written), written)).toBe(true);
      }),
    );
  });
});

describe('digestOfRepository()', () => {
  const nginx = parseImageReference('nginx:1.27');

  test('keeps the digests of the same repository, each once', () => {
    const known = [`nginx@${digest}`, `docker.io/library/nginx@${other}`, `index.docker.io/library/nginx@${digest}`];
    expect(digestOfRepository(known, nginx)).toEqual([digest, other]);
  });

  test('leaves out other repositories, malformed lines and names without a digest', () => {
    const known = [
      `bitnami/nginx@${digest}`,
      `ghcr.io/library/nginx@${digest}`,
      '<none>@<none>',
      'nginx:1.27',
      'nginx@sha256:1',
      '',
    ];
    expect(digestOfRepository(known, nginx)).toEqual([]);
  });
});

test('sameRepository() does not mind tags, digests and the case of the host', () => {
  const [a, b] = [parseImageReference('Example.com/app:1'), parseImageReference(`example.com/app@${digest}`)];
  expect(sameRepository(a, b)).toBe(true);
  expect(sameRepository(a, parseImageReference('example.com/app2:1'))).toBe(false);
});

function given(cell: string | undefined): string | undefined {
  return cell === '-' ? undefined : cell;
}

function errorOf(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

const registry = fc.oneof(
  fc.constantFrom('docker.io', 'ghcr.io', 'localhost', 'localhost:5000', '[::1]:5000', '192.0.2.7', 'Host'),
  fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z]{2,5}){1,3}(:[0-9]{1,5})?$/),
);
const path = fc.oneof(
  fc.stringMatching(/^[a-z0-9]{1,9}((\.|_|__|-{1,3})[a-z0-9]{1,9}){0,2}(\/[a-z0-9]{1,9}){0,3}$/),
  fc.constantFrom(
    'localhost',
    'localhost/app',
    'example.com/app',
    'library/sha256',
    'library/localhost',
    'ab'.repeat(32),
  ),
);
const tag = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}$/),
  fc.constantFrom('latest', 'ab'.repeat(32)),
);
const digests = fc.constantFrom(digest, other, `sha512:${'ef'.repeat(64)}` satisfies Digest);

/** Normalised references: Docker Hub has no repository of one component. */
const reference: fc.Arbitrary<ImageReference> = fc
  .tuple(registry, path, tag, fc.option(digests, { nil: undefined }), fc.boolean())
  .map(([host, repository, label, by, hasTag]) => ({
    registry: host,
    repository: host === 'docker.io' && !repository.includes('/') ? `library/${repository}` : repository,
    tag: hasTag || by === undefined ? label : undefined,
    digest: by,
  }));

/** Right pieces in any order: mostly wrong, and close to right. */
const referenceLike = fc
  .array(
    fc.oneof(
      registry,
      path,
      tag,
      digests,
      fc.constantFrom('/', ':', '@', '.', '-', '_', '__', 'A', 'library/', 'docker.io/'),
    ),
    { maxLength: 6 },
  )
  .map((pieces) => pieces.join(''));
