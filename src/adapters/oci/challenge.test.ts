import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseChallenges, type Challenge } from './hosts.ts';

const none: string[][] = [];

test.each<[string, [string, string[][], string?][]]>([
  ['', []],
  [' , ,', []],
  ['Basic', [['basic', none]]],
  ['Basic realm="lab"', [['basic', [['realm', 'lab']]]]],
  [
    'BEARER Realm="https://auth.example/token",SERVICE=registry',
    [
      [
        'bearer',
        [
          ['realm', 'https://auth.example/token'],
          ['service', 'registry'],
        ],
      ],
    ],
  ],
  [
    'Bearer realm="r",scope="repository:a/b:pull,push"',
    [
      [
        'bearer',
        [
          ['realm', 'r'],
          ['scope', 'repository:a/b:pull,push'],
        ],
      ],
    ],
  ],
  [
    String.raw`Bearer realm="a \"quoted\" \\ word, with comma"`,
    [['bearer', [['realm', String.raw`a "quoted" \ word, with comma`]]]],
  ],
  [
    'Bearer realm = "r" ,\tservice= s',
    [
      [
        'bearer',
        [
          ['realm', 'r'],
          ['service', 's'],
        ],
      ],
    ],
  ],
  [
    'Bearer realm="one", Basic realm="two"',
    [
      ['bearer', [['realm', 'one']]],
      ['basic', [['realm', 'two']]],
    ],
  ],
  [
    'Negotiate abc+/=, , Basic realm=x',
    [
      ['negotiate', none, 'abc+/='],
      ['basic', [['realm', 'x']]],
    ],
  ],
  [
    'Negotiate, Basic, Bearer realm=""',
    [
      ['negotiate', none],
      ['basic', none],
      ['bearer', [['realm', '']]],
    ],
  ],
  ['Bearer realm=a, realm=b', [['bearer', [['realm', 'a']]]]],
  ['Bearer ,realm=a', [['bearer', [['realm', 'a']]]]],
  // An unreadable part ends the list.
  ['Basic realm="open', []],
  ['Basic realm="a" Bearer realm="b"', []],
  ['Basic realm="a", =b', [['basic', [['realm', 'a']]]]],
  ['"Basic"', []],
])('parseChallenges() reads %j', (field, expected) => {
  expect(plain(parseChallenges(field))).toEqual(
    expected.map(([scheme, parameters, token68]) => [scheme, token68, parameters]),
  );
});

const tokens = fc.stringMatching(/^[\w!#$%&'*+.^`|~-]{1,12}$/);
const values = fc.oneof(
  tokens,
  fc.string({ maxLength: 20 }).filter((text) => /^[\t\x20-\x7e]*$/.test(text)),
);
const spaces = fc.constantFrom('', ' ', '\t', '  ');
const parameters = fc.uniqueArray(fc.tuple(tokens, values), { maxLength: 4, selector: ([name]) => name.toLowerCase() });
const challenges = fc.oneof(
  fc.record({
    scheme: tokens,
    token68: fc.stringMatching(/^[A-Za-z0-9._~+/-]{1,12}={0,2}$/),
    parameters: fc.constant([]),
  }),
  fc.record({ scheme: tokens, token68: fc.constant(undefined), parameters }),
);
const layouts = fc.record({
  before: spaces,
  after: spaces,
  quote: fc.boolean(),
  empty: fc.constantFrom('', ',', ' , ,'),
});

test('parseChallenges() reads back whatever the grammar can write', () => {
  fc.assert(
    fc.property(fc.array(challenges, { maxLength: 4 }), layouts, (wanted, layout) => {
      const field = wanted.map((challenge) => write(challenge, layout)).join(`${layout.empty}, `);
      expect(plain(parseChallenges(field))).toEqual(
        wanted.map(({ scheme, token68, parameters }) => [
          scheme.toLowerCase(),
          token68,
          parameters.map(([name, value]) => [name.toLowerCase(), value]),
        ]),
      );
    }),
    { numRuns: 500 },
  );
});

test('parseChallenges() takes any text without failing, in linear time', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200, unit: fc.constantFrom(...'ab=",\\ \t/:éB') }), (text) => {
      expect(parseChallenges(text).length).toBeLessThanOrEqual(text.length);
    }),
  );
  const counts = ['a=', '\\"', '"\\', ' ,', 'a ', 'a="b",'].map(
    (piece) => parseChallenges(`Bearer ${piece.repeat(500_000)}`).length,
  );
  expect(counts).toEqual([0, 0, 0, 1, 0, 1]);
});

function plain(challenges: readonly Challenge[]): unknown {
  return challenges.map(({ scheme, token68, parameters }) => [scheme, token68, [...parameters]]);
}

type Layout = { readonly before: string; readonly after: string; readonly quote: boolean };
type Written = { scheme: string; token68: string | undefined; parameters: readonly (readonly [string, string])[] };

function write({ scheme, token68, parameters }: Written, { before, after, quote }: Layout): string {
  if (token68 !== undefined) return `${scheme} ${token68}`;
  const isToken = (value: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(value);
  const list = parameters.map(([name, value]) => {
    const text = isToken(value) && !quote ? value : `"${value.replaceAll(/[\\"]/g, String.raw`\$&`)}"`;
    return `${name}${before}=${after}${text}`;
  });
  return list.length === 0 ? scheme : `${scheme} ${list.join(`${before},${after}`)}`;
}
