import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import {
  type Forges,
  type NotesAnswer,
  type NotesQuestion,
  type NotesSubject,
  summaryOf,
  type TreeRelease,
  verdictOnNotes,
} from '../../domain/notes/notes.ts';
import type { Block } from '../../domain/notes/read-release.ts';
import { compactNotes, maxStored, readStoredNotes, type StoredNotes } from '../../domain/notes/stored-notes.ts';
import { createNotes } from './notes.ts';

const item = (text: string): Block => ({
  kind: 'list',
  isOrdered: false,
  items: [[{ kind: 'para', spans: [{ kind: 'text', text }] }]],
});
const release = (tag: string, text: string, more: Partial<TreeRelease> = {}): TreeRelease => ({
  ...{
    tag,
    title: '',
    publishedAtMs: undefined,
    isPrerelease: false,
    url: `https://github.com/acme/web/releases/tag/${tag}`,
  },
  blocks: [item(text)],
  ...more,
});
const step = (
  from: string,
  to: string,
  path = 'acme/web',
  from_: 'image label' | 'image name' = 'image label',
): NotesSubject => ({
  kind: 'step',
  source: { kind: 'repository', repository: { forge: 'github', host: 'github.com', path }, from: from_ },
  step: { from, to, names: ['web'] },
});
const found = (...releases: readonly TreeRelease[]): NotesAnswer => ({
  kind: 'read',
  etag: 'e1',
  steps: [{ kind: 'found', releases, more: 0 }],
});

function service(
  answer: (question: NotesQuestion) => NotesAnswer | Promise<NotesAnswer>,
  isService = true,
  stored: readonly StoredNotes[] = [],
) {
  const clock = createFakeClock();
  const log = createTestLog();
  const asked: NotesQuestion[] = [];
  const kept: StoredNotes[] = [];
  const forges: Forges = {
    read: async (question) => {
      asked.push(question);
      return answer(question);
    },
    close: () => Promise.resolve(),
  };
  const store = {
    read: () => Promise.resolve(stored),
    append: (items: readonly StoredNotes[]) => Promise.resolve((kept.push(...items), 'kept' as const)),
    fault: () => undefined,
  };
  const notes = createNotes({ forges, clock, log, store, isService });
  let changes = 0;
  notes.onChange(() => (changes += 1));
  return { clock, log, asked, kept, notes, changes: () => changes };
}

test('notes are unread at first, and read in the background', async () => {
  const { notes, clock, asked, changes } = service(() => found(release('v2.0.0', 'BREAKING: the port moves')));
  expect(notes.of(step('1.0.0', '2.0.0')).notes).toMatchObject({
    state: 'unread',
    source: 'https://github.com/acme/web',
    sourceFrom: 'image label',
  });
  notes.consider([step('1.0.0', '2.0.0')]);
  expect(asked).toEqual([]);
  await clock.advance(0);
  expect(changes()).toBe(1);
  const { notes: read, seenAtMs } = notes.of(step('1.0.0', '2.0.0'));
  expect(seenAtMs).toBe(clock.nowMs());
  expect(summaryOf(read)).toMatchObject({
    state: 'found',
    releases: 1,
    breaking: true,
    summary: ['the port moves'],
    url: 'https://github.com/acme/web/releases/tag/v2.0.0',
  });
  await notes.close();
});

test.each<[string, Partial<TreeRelease>, { readonly lacksOlder?: true }]>([
  ['a text was cut', { isCut: true }, {}],
  ['older releases were not asked for', {}, { lacksOlder: true }],
])('notes are incomplete where %s, also in a later process', async (_, of, more) => {
  const { notes, clock, kept } = service(() => ({
    kind: 'read',
    etag: undefined,
    steps: [{ kind: 'found', releases: [release('v2.0.0', 'Faster', of)], more: 0, ...more }],
  }));
  const subject = step('1.0.0', '2.0.0');
  notes.consider([subject]);
  await clock.advance(0);
  const read = notes.of(subject).notes;
  expect(summaryOf(read)).toMatchObject({ state: 'found', isPartial: true });
  expect(verdictOnNotes(subject, read, 0)).toMatchObject({
    kind: 'unread',
    why: 'not all of its release notes can be read',
  });
  const stored = readStoredNotes(JSON.parse(JSON.stringify(kept.at(-1))));
  expect(stored && summaryOf(stored.notes).isPartial).toBe(true);
  await notes.close();
});

test('all containers of a repository are one question; each repository is another', async () => {
  const { notes, clock, asked } = service(({ steps }) => ({
    kind: 'read',
    etag: undefined,
    steps: steps.map(() => ({ kind: 'none', url: 'https://github.com/acme/web' })),
  }));
  notes.consider([
    step('1.0.0', '2.0.0'),
    step('1.5.0', '2.0.0'),
    step('1.0.0', '2.0.0'),
    step('1.0.0', '2.0.0', 'acme/other'),
  ]);
  await clock.advance(0);
  expect(asked.map(({ repository, steps }) => [repository.path, steps.length])).toEqual([
    ['acme/web', 2],
    ['acme/other', 1],
  ]);
  await notes.close();
});

test('a step that is seen while others are read is read next, without a pause', async () => {
  let answerFirst = () => {};
  const held = new Promise<void>((resolve) => (answerFirst = resolve));
  const { notes, clock, asked } = service(async ({ repository }) => {
    if (repository.path === 'acme/web') await held;
    return found(release('v2.0.0', 'One'));
  });
  notes.consider([step('1.0.0', '2.0.0')]);
  await clock.advance(0);
  notes.consider([step('1.0.0', '2.0.0', 'acme/other')]);
  answerFirst();
  await clock.advance(0);
  expect(asked.map(({ repository }) => repository.path)).toEqual(['acme/web', 'acme/other']);
  await notes.close();
});

test.each([
  ['young notes after an hour', found(release('v2.0.0', 'One', { publishedAtMs: Date.UTC(2025, 11, 31) })), 1],
  ['older notes after a day', found(release('v2.0.0', 'One', { publishedAtMs: Date.UTC(2025, 1, 1) })), 24],
  [
    'none after six hours',
    { kind: 'read', etag: undefined, steps: [{ kind: 'none', url: 'https://github.com/acme/web' }] } as const,
    6,
  ],
  ['a missing repository after six hours', { kind: 'missing' } as const, 6],
])('reads %s again', async (_, answer, hours) => {
  const { notes, clock, asked } = service(() => answer);
  notes.consider([step('1.0.0', '2.0.0')]);
  await clock.advance(0);
  await clock.advance(hours * 3_600_000 - 1);
  expect(asked).toHaveLength(1);
  await clock.advance(2);
  expect(asked).toHaveLength(2);
  await notes.close();
});

test('tries again after 15 minutes, doubling to six hours, or when the host says, and keeps what it has read', async () => {
  let answer: NotesAnswer = { kind: 'failed', reason: 'github.com: it answered with status 502' };
  const { notes, clock, asked, log } = service(() => answer);
  notes.consider([step('1.0.0', '2.0.0')]);
  await clock.advance(0);
  expect(notes.of(step('1.0.0', '2.0.0')).notes).toMatchObject({
    state: 'unread',
    error: 'github.com: it answered with status 502',
    retryAtMs: clock.nowMs() + 900_000,
  });
  const at: number[] = [];
  for (let last = 1; at.length < 7;) {
    await clock.advance(60_000);
    if (asked.length > last) at.push(clock.nowMs());
    last = asked.length;
  }
  const gaps = at.map((ms, index) => Math.round((ms - (at[index - 1] ?? ms)) / 60_000)).slice(1);
  expect(gaps).toEqual([30, 60, 120, 240, 360, 360]);
  expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  answer = found(release('v2.0.0', 'One'));
  await clock.advance(6 * 3_600_000);
  expect(notes.of(step('1.0.0', '2.0.0')).notes.state).toBe('found');
  answer = { kind: 'failed', reason: 'x', retryAtMs: clock.nowMs() + 25 * 3_600_000 };
  await clock.advance(24 * 3_600_000);
  expect(notes.of(step('1.0.0', '2.0.0')).notes.state).toBe('found');
  await notes.close();
});

test('sends the ETag of unchanged steps, and keeps their notes', async () => {
  const { notes, clock, asked } = service(({ etag }) =>
    etag === 'e1' ? { kind: 'unchanged' } : found(release('v2.0.0', 'One')),
  );
  notes.consider([step('1.0.0', '2.0.0')]);
  await clock.advance(25 * 3_600_000);
  expect(asked.map(({ etag }) => etag)).toEqual([undefined, 'e1']);
  expect(notes.of(step('1.0.0', '2.0.0')).notes).toMatchObject({ state: 'found', readAtMs: clock.nowMs() - 3_600_000 });
  notes.consider([step('1.0.0', '2.0.0'), step('1.0.0', '2.1.0')]);
  await clock.advance(0);
  expect(asked.at(-1)).toMatchObject({ etag: undefined, steps: [{ to: '2.1.0' }] });
  await notes.close();
});

test('readNow() waits for what was never read, for 15 seconds at most', async () => {
  const quick = service(() => found(release('v2.0.0', 'One')), false);
  await quick.notes.readNow([step('1.0.0', '2.0.0')]);
  expect(quick.notes.of(step('1.0.0', '2.0.0')).notes.state).toBe('found');
  await quick.notes.readNow([step('1.0.0', '2.0.0')]);
  expect(quick.asked).toHaveLength(1);
  const slow = service(() => new Promise(() => {}), false);
  let isDone = false;
  void slow.notes.readNow([step('1.0.0', '2.0.0')]).then(() => (isDone = true));
  await slow.clock.advance(14_999);
  expect(isDone).toBe(false);
  await slow.clock.advance(1);
  expect(isDone).toBe(true);
  expect(slow.notes.of(step('1.0.0', '2.0.0')).notes.state).toBe('unread');
});

test('asks for nothing without a newer version, a source, or a wish', async () => {
  const { notes, clock, asked } = service(() => found());
  const source = {
    kind: 'repository',
    repository: { forge: 'github', host: 'github.com', path: 'acme/web' },
    from: 'image label',
  } as const;
  const subjects: readonly NotesSubject[] = [
    { kind: 'off' },
    { kind: 'rebuilt' },
    { kind: 'step', source, step: undefined },
    { kind: 'step', source: { kind: 'unknown' }, step: { from: '1', to: '2', names: [] } },
    {
      kind: 'step',
      source: { kind: 'none', from: 'built-in list', page: 'https://nginx.org/en/CHANGES' },
      step: { from: '1', to: '2', names: [] },
    },
  ];
  notes.consider(subjects);
  await notes.readNow(subjects);
  await clock.advance(3_600_000);
  expect(asked).toEqual([]);
  expect(subjects.map((one) => notes.of(one).notes.state)).toEqual(['off', 'none', 'none', 'no-source', 'none']);
  expect(notes.of(subjects[4] ?? { kind: 'off' }).notes.url).toBe('https://nginx.org/en/CHANGES');
  await notes.close();
});

test('a guess from the name of an image counts only with a release of this version', async () => {
  const { notes, clock } = service(({ steps }) => ({
    kind: 'read',
    etag: undefined,
    steps: steps.map(() => ({ kind: 'none', url: 'https://github.com/acme/web' })),
  }));
  notes.consider([step('1.0.0', '2.0.0', 'acme/web', 'image name')]);
  await clock.advance(0);
  expect(notes.of(step('1.0.0', '2.0.0', 'acme/web', 'image name')).notes).toMatchObject({ state: 'no-source' });
  await notes.close();
});

test('releases without text of their own are unread, not harmless', async () => {
  const { notes, clock } = service(() => found(release('v2.0.0', '', { blocks: [] })));
  notes.consider([step('1.0.0', '2.0.0')]);
  await clock.advance(0);
  expect(notes.of(step('1.0.0', '2.0.0')).notes).toMatchObject({
    state: 'unread',
    error: 'github.com: the releases have no text of their own',
  });
  await notes.close();
});

test('keeps notes for the next process, and drops what it cannot read', async () => {
  const first = service(() => found(release('v2.0.0', 'One')));
  first.notes.consider([step('1.0.0', '2.0.0')]);
  await first.clock.advance(0);
  const lines = first.kept.map((one): unknown => JSON.parse(JSON.stringify(one)));
  const [whole] = lines.map((line) => readStoredNotes(line) ?? expect.unreachable());
  const next = service(() => expect.unreachable(), false, whole === undefined ? [] : [whole]);
  await next.notes.load();
  expect(next.notes.of(step('1.0.0', '2.0.0')).notes.state).toBe('found');
  const spoilt = [
    (text: string) => text.replace('"kind":"para"', '"kind":"html"'),
    (text: string) => text.replace('https://github.com/acme/web/releases/tag', 'javascript:x'),
    (text: string) => text.replace('"state":"found"', '"state":"fine"'),
    (text: string) => text.replace('"seenAtMs":', '"seenAtMs":-'),
  ];
  for (const spoil of spoilt) expect(readStoredNotes(JSON.parse(spoil(JSON.stringify(lines[0]))))).toBeUndefined();
  await first.notes.close();
});

test('keeps at most 500 steps', () => {
  const one = (key: string): StoredNotes => ({
    key,
    notes: { state: 'none', releases: [], more: 0 },
    seenAtMs: 0,
    dueAtMs: 0,
    failures: 0,
  });
  const records = Array.from({ length: 700 }, (_, at) => one(`k${at % 600}`));
  const kept = compactNotes(records);
  expect(kept).toHaveLength(maxStored);
  expect(new Set(kept.map(({ key }) => key)).size).toBe(maxStored);
  expect(kept.at(-1)?.key).toBe('k99');
});
