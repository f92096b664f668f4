import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeState } from '../src/interfaces/dashboard/state/display/describe-state.ts';
import { waiting } from '../src/interfaces/dashboard/state/containers/container-store.ts';
import { readDetails } from '../src/interfaces/dashboard/state/documents/container.ts';
import { outcomeWording, sayResult, statusWording, unfinishedWording } from '../src/interfaces/cli/context/wording.ts';
import { holdFields, outcomeFields } from '../src/interfaces/http/replies/schemas.ts';
import { heldBecause, type Hold } from '../src/domain/decision/decisions.ts';
import { stalenesses } from '../src/domain/check/verdict.ts';
import { outcomeKinds, updatePhases } from '../src/domain/run/session.ts';
import { sentence, words } from '../src/domain/text/words.ts';
import { explain } from '../src/interfaces/dashboard/state/display/explain.ts';

/** The words of docs/words.md, their meaning and their API values, such as `hold: approval`. */
const glossary = readFileSync(new URL('../docs/words.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, word, meaning = '', values = ''] = /^- \*\*(.+?):\*\* (.+?\.)((?: `\w+: [^`]+`,?)*)$/.exec(line) ?? [];
    return word === undefined
      ? []
      : [{ word, meaning, values: [...values.matchAll(/`([^`]+)`/g)].map(([, one]) => one) }];
  });

const tables = {
  verdict: words.verdict,
  hold: words.hold,
  outcome: words.outcome,
  state: words.unfinished,
  phase: words.phase,
} as const;

const valued = Object.entries(tables).flatMap(([field, words]) =>
  Object.entries<string>(words).map(([value, word]) => [`${field}: ${value}`, word] as const),
);

test.each(valued)('%s is "%s" in the glossary, and nothing else', (value, word) => {
  expect(glossary.filter(({ values }) => values.includes(value)).map((row) => row.word)).toEqual([word]);
  expect(glossary.find((row) => row.word === word)?.meaning).toMatch(/^[A-Z`].*\.$/);
});

test('the glossary has each word once, about 40 of them, and no value that is in no table', () => {
  const all = glossary.map(({ word }) => word);
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThan(35);
  expect(all).toContain(words.unchecked);
  const known = new Set<string>(valued.map(([value]) => value));
  expect(glossary.flatMap(({ values }) => values).filter((value) => value !== undefined && !known.has(value))).toEqual(
    [],
  );
});

const one = (entry: Record<string, unknown>) => {
  const [read] = readDetails({ containers: [{ name: 'web', image: 'web:1', status: 'running', ...entry }] });
  if (read === undefined) throw new Error('there is no container');
  return read;
};
const onPage = (entry: Record<string, unknown>, update?: Parameters<typeof describeState>[1]) =>
  describeState(one(entry), update, 0).word.toLowerCase();

test.each(stalenesses.filter((verdict) => verdict !== 'held'))('%s has one word on page and terminal', (verdict) => {
  expect([onPage({ verdict }), statusWording[verdict].text]).toEqual([words.verdict[verdict], words.verdict[verdict]]);
});

test.each<Hold>(heldBecause)('a version that is held because of %s is told by its word on the page', (hold) => {
  expect(onPage({ verdict: 'held', hold, eligible_at: '2026-01-01T00:00:00Z' })).toContain(words.hold[hold]);
  expect(statusWording.held.text).toBe(words.verdict.held);
});

test.each(outcomeKinds)('the outcome %s has one word, with and without versions', (outcome) => {
  expect([words.result(outcome, {}), outcomeWording[outcome].text]).toEqual([
    words.outcome[outcome],
    words.outcome[outcome],
  ]);
  const versions = { from: '1', to: '2' };
  expect(sayResult({ outcome, ...versions }).text).toBe(words.result(outcome, versions));
});

test('phases and unfinished updates have one word on page and terminal', () => {
  for (const phase of updatePhases) expect(onPage({}, { ...waiting, phase })).toBe(words.phase[phase]);
  expect(onPage({}, waiting)).toBe(words.phase.waiting);
  for (const state of ['in progress', 'repair pending'] as const) {
    const [read] = readDetails({ unfinished: [{ name: 'web', state, reason: 'x' }] });
    expect([read && describeState(read, undefined, 0).word.toLowerCase(), unfinishedWording[state].text]).toEqual([
      words.unfinished[state],
      words.unfinished[state],
    ]);
  }
});

test('a failure and a wish are told apart, also with a version', () => {
  expect(sayResult({ outcome: 'rolled_back', from: '1', to: '2' }).text).toBe('failed; back on 1');
  expect(sayResult({ outcome: 'went_back', from: '2', to: '1' }).text).toBe('went back to 1');
  expect(onPage({ verdict: 'held', hold: 'failed', last: { outcome: 'rolled_back', from: '1' } })).toBe(
    'failed; back on 1',
  );
});

test.each([
  ['exited with code 1', 'Exited with code 1'],
  ['pre-check hook failed', 'Pre-check hook failed'],
  ['the new version', 'The new version'],
  ['v1.2 is not healthy', 'v1.2 is not healthy'],
  ['registry.test refuses access', 'registry.test refuses access'],
  ['nas: no answer', 'nas: no answer'],
  ['web_1 failed', 'web_1 failed'],
  ['', ''],
])('%j at the start of a sentence is %j', (clause, said) => expect(sentence(clause)).toBe(said));

test('a version that is a word keeps its case, and no reason of another kind is told', () => {
  const told = (entry: Record<string, unknown>) => {
    const read = one(entry);
    return explain(read, describeState(read, undefined, 0), {
      update: undefined,
      nextRunAtMs: 0,
      canDecide: true,
      nowMs: 0,
    });
  };
  const last = {
    outcome: 'rolled_back',
    from: 'v1',
    to: 'crash',
    reason: 'exited with code 3',
    time: '2026-01-01T00:00:00Z',
  };
  expect(told({ verdict: 'held', hold: 'failed', last }).join(' ')).toContain(' crash is not tried again');
  for (const hold of ['own-way', 'not-replaceable', 'unreadable', 'failed-elsewhere'])
    expect(told({ verdict: 'held', hold, reason: 'because of this' })).toEqual(['Because of this.']);
});

test('the API describes its values with these words', () => {
  const described = JSON.stringify([holdFields, outcomeFields]);
  for (const word of Object.values<string>(words.hold)) expect(described).toContain(word);
});

test.each([
  [1, 'update ready', '1 update ready'],
  [2, 'update ready', '2 updates ready'],
  [2, 'updated', '2 updated'],
  [3, 'update failed', '3 updates failed'],
])('%i of "%s" are "%s"', (count, word, said) => expect(words.counted(count, word)).toBe(said));

/** `10 s`, `5 min`, or a unit behind a value in a text of the program. */
const otherUnit = /[\d}][ \u00A0](?:s|ms|min|h|d)(?![\w\p{L}-])|\} (?:seconds|minutes|hours|days)\b/u;

test.each([
  ['src', /(?<!\.test)\.ts$/],
  ['docs', /^(?!decisions|benchmarks|dependencies).*\.md$/],
])('every duration in %s is written as 4.9s, 12m or 3d', (folder, isRead) => {
  const root = new URL(`../${folder}`, import.meta.url).pathname;
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => isRead.test(path));
  expect(files.length).toBeGreaterThan(20);
  const found = files.flatMap((path) =>
    readFileSync(`${root}/${path}`, 'utf8')
      .split('\n')
      .filter((line) => !/^\s*(?:\/\/|\/?\*)/.test(line) && otherUnit.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});
