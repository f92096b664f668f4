/**
 * Holds our template engine to Go's own text/template, byte for byte, except that a float halfway between two digits is
 * rounded up. The outputs in testdata/ were made by main.go.
 * To make them anew, with Debian's golang-go and golang-golang-x-text-dev:
 *
 *     UPKEEP_MAKE_GOLDENS=1 npx vitest run --project unit test/golden/templates
 *
 * UPKEEP_GOLDEN_SEED=1000 UPKEEP_GOLDEN_COUNT=5000 compares that many other random templates with Go instead.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseTemplate, renderTemplate } from '../../../src/domain/notification/template/render.ts';
import { Moment } from '../../../src/domain/notification/template/time.ts';
import { type Case, namedCases, randomCases } from './cases.ts';
import { fixtures, rootFor } from './fixtures.ts';

type Rendered = { readonly text: string } | { readonly error: true };

const named = namedCases();
const goldens = process.env['UPKEEP_MAKE_GOLDENS'] === undefined ? readGoldens() : makeGoldens();

describe('templates render as Go renders them', () => {
  test.each([...named])('%s', (name, one) => {
    const expected = goldens.named[name];
    expect(expected, 'a case without a golden: make them anew').toBeDefined();
    const rendered = render(one);
    // Where Go fails, it is for a report that is missing or the wrong mode, and ours renders all the same.
    if ('error' in expected!) expect(rendered).toHaveProperty('text');
    else expect(rendered).toEqual(expected);
  });

  test('also 200 generated ones, of which those that Go refuses are refused', () => {
    expect(goldens.random).toHaveLength(200);
    const wrong = goldens.random.filter(({ template, ...expected }) => !isSame(rendersTo(template), expected));
    expect(wrong.map(({ template, ...expected }) => ({ template, expected, ours: rendersTo(template) }))).toEqual([]);
    expect(goldens.random.filter((one) => 'text' in one).length).toBeGreaterThan(150);
  });

  const seed = process.env['UPKEEP_GOLDEN_SEED'];
  test.runIf(seed !== undefined)('and as many others as are asked for', () => {
    const cases = randomCases(Number(process.env['UPKEEP_GOLDEN_COUNT'] ?? 1000), Number(seed));
    const expected = askGo(cases);
    const wrong = cases.flatMap(({ template }, index) => {
      const ours = rendersTo(template);
      return isSame(ours, expected[index]!) ? [] : [{ template, go: expected[index], ours }];
    });
    expect(wrong.slice(0, 5)).toEqual([]);
  });
});

function rendersTo(template: string): Rendered {
  return render({ template, fixture: 'values', root: 'values' });
}

function isSame(ours: Rendered, expected: Rendered): boolean {
  return 'error' in expected ? 'error' in ours : 'text' in ours && ours.text === expected.text;
}

function render({ template, fixture, root }: Case): Rendered & { readonly reason?: string } {
  const parsed = parseTemplate(template);
  if (parsed.kind === 'failed') return { error: true, reason: parsed.reason };
  const now = new Moment(0, 'Europe/Berlin');
  const result = renderTemplate(parsed.template, rootFor(fixtures[fixture]!, root), { now });
  return result.kind === 'text' ? { text: result.text } : { error: true, reason: result.reason };
}

type Goldens = {
  readonly named: Readonly<Record<string, Rendered>>;
  readonly random: readonly (Rendered & { readonly template: string })[];
};

function fileOf(name: string): URL {
  return new URL(`testdata/${name}.json`, import.meta.url);
}

function readGoldens(): Goldens {
  const [first, second] = ['named', 'random'].map((name): unknown => JSON.parse(readFileSync(fileOf(name), 'utf8')));
  return { named: first as Goldens['named'], random: second as Goldens['random'] };
}

function makeGoldens(): Goldens {
  const random = randomCases();
  const rendered = askGo([...named.values(), ...random]);
  const made: Goldens = {
    named: Object.fromEntries([...named.keys()].map((name, index) => [name, rendered[index]!])),
    random: random.map(({ template }, index) => ({ template, ...rendered[named.size + index]! })),
  };
  writeFileSync(fileOf('named'), `${JSON.stringify(made.named, undefined, 1)}\n`);
  writeFileSync(fileOf('random'), `[\n${made.random.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
  return made;
}

function askGo(cases: readonly Case[]): readonly Rendered[] {
  const input = JSON.stringify({ fixtures, cases });
  const cwd = new URL('./', import.meta.url);
  const { stdout, stderr, status } = spawnSync('go', ['run', 'main.go'], {
    cwd,
    // Packages of Debian's are there as sources, and no modules.
    env: { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode' },
    input,
    maxBuffer: 2 ** 28,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`go run main.go failed: ${stderr}`);
  return JSON.parse(stdout) as readonly Rendered[];
}
