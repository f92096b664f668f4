import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyRecords, messageOf } from '../../../test/support/notify/outbox-arbitrary.ts';
import {
  nextAttemptAtMs,
  merge,
  applyRecords,
  emptyOutbox,
  recordsOf,
  overflowOf,
  nextStep,
  readRecord,
  type OutboxRecord,
} from './outbox.ts';
import type { Heading } from './message.ts';

describe('the outbox', () => {
  test('is the same after it was written down in the fewest records', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        const outbox = applyRecords(emptyOutbox, records);
        expect(applyRecords(emptyOutbox, recordsOf(outbox))).toEqual(outbox);
        expect(recordsOf(outbox).length).toBeLessThanOrEqual(records.length);
      }),
    );
  });

  test('does not mind records that come twice, as after a file that was written anew in the middle of them', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(), (records, at) => {
        const [early, late] = [records.slice(0, at % (records.length + 1)), records.slice(at % (records.length + 1))];
        const once = applyRecords(emptyOutbox, [...early, ...late]);
        const twice = applyRecords(applyRecords(applyRecords(emptyOutbox, early), late), late);
        expect([...twice.entries.keys()].toSorted()).toEqual([...once.entries.keys()].toSorted());
      }),
    );
  });

  test('reads what was written, and nothing else', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        for (const record of records) {
          const line = JSON.stringify(record);
          expect(readRecord(line)).toEqual(record);
          for (let end = 0; end < line.length; end += 7) expect(readRecord(line.slice(0, end))).toBeUndefined();
        }
      }),
      { numRuns: 50 },
    );
    for (const line of ['', '{}', '[]', 'null', '{"kind":"put","target":"a"}', '{"kind":"end","target":"a","id":"b"}'])
      expect(readRecord(line)).toBeUndefined();
  });

  test('never has a later message tried while an earlier one of the target waits', () => {
    fc.assert(
      fc.property(anyRecords, fc.integer({ min: 0, max: 1_000_000 }), (records, nowMs) => {
        const outbox = applyRecords(emptyOutbox, records);
        for (const target of ['a', 'b']) {
          const step = nextStep(outbox, target, nowMs);
          if (step.kind !== 'send') continue;
          const first = [...outbox.entries.values()].find((one) => one.target === target && one.hold === undefined);
          expect(step.entry).toBe(first);
        }
      }),
    );
  });

  test('waits for exactly as long as nothing is due, and not at all after the clock was set far back', () => {
    const put = (dueAtMs: number): OutboxRecord => ({ kind: 'put', target: 'a', message: messageOf('1'), dueAtMs });
    const stepAt = (dueAtMs: number) => nextStep(applyRecords(emptyOutbox, [put(dueAtMs)]), 'a', 1000);
    expect(nextStep(emptyOutbox, 'a', 1000)).toEqual({ kind: 'wait', ms: undefined });
    expect(stepAt(1000)).toMatchObject({ kind: 'send' });
    expect(stepAt(1500)).toEqual({ kind: 'wait', ms: 500 });
    expect(stepAt(1000 + 10 * 86_400_000)).toMatchObject({ kind: 'send' });
  });
});

describe('overflowOf()', () => {
  test('takes the oldest of the longest queue until all bounds are kept, and nothing within them', () => {
    fc.assert(
      fc.property(anyRecords, fc.nat(5), fc.nat(50), (records, maxEntries, maxCharacters) => {
        const outbox = applyRecords(emptyOutbox, records);
        const lost = overflowOf(outbox, { maxEntries, maxCharacters });
        const left = applyRecords(
          outbox,
          lost.map(({ target, message: { id } }) => ({ kind: 'end', target, id, end: 'lost' })),
        );
        const spared = [...left.entries.values()].filter(({ isUnanswered }) => !isUnanswered);
        if (spared.length > 0) expect(left.entries.size).toBeLessThanOrEqual(maxEntries);
        expect(lost.every(({ isUnanswered }) => !isUnanswered)).toBe(true);
        if (outbox.entries.size <= maxEntries && maxCharacters === 50)
          expect(lost.length).toBeLessThanOrEqual(outbox.entries.size);
      }),
    );
    const three = ['1', '2', '3'].map((id): OutboxRecord => ({
      kind: 'put',
      target: 'a',
      message: messageOf(id),
      dueAtMs: 0,
    }));
    const outbox = applyRecords(emptyOutbox, [
      { kind: 'put', target: 'b', message: messageOf('0'), dueAtMs: 0 },
      ...three,
    ]);
    const lost = overflowOf(outbox, { maxEntries: 3, maxCharacters: 1e6 });
    expect(lost.map(({ message }) => message.id)).toEqual(['1']);
  });
});

describe('nextAttemptAtMs()', () => {
  const attempt = {
    failure: 'network',
    retryAfterMs: undefined,
    attempts: 1,
    createdAtMs: 0,
    nowMs: 0,
    chance: 0.5,
  } as const;

  test('doubles the wait up to its limit, and gives up on what is too old', () => {
    const waits = [1, 2, 3, 4, 20, 1000].map((attempts) => nextAttemptAtMs({ ...attempt, attempts }, 30_000));
    expect(waits).toEqual([30_000, 60_000, 120_000, 240_000, 1_800_000, 1_800_000]);
    expect(nextAttemptAtMs({ ...attempt, nowMs: 3 * 86_400_000 }, 30_000)).toBeUndefined();
  });

  test('keeps to what the service asks for, within bounds', () => {
    const after = (retryAfterMs: number) =>
      nextAttemptAtMs({ ...attempt, failure: 'rate', attempts: 99, retryAfterMs }, 30_000);
    expect([after(1500), after(-1), after(86_400_000)]).toEqual([1500, 0, 1_800_000]);
  });

  test('asks a target that is gone once, and does not repeat for ever what is refused', () => {
    expect(nextAttemptAtMs({ ...attempt, failure: 'gone' }, 30_000)).toBeUndefined();
    expect(nextAttemptAtMs({ ...attempt, failure: 'rejected' }, 30_000)).toBe(30_000);
    expect(nextAttemptAtMs({ ...attempt, failure: 'rejected', attempts: 2 }, 30_000)).toBeUndefined();
    expect(nextAttemptAtMs({ ...attempt, failure: 'auth', attempts: 4 }, 30_000)).toBeUndefined();
  });
});

describe('merge()', () => {
  const held = (id: string, parts: object = {}): OutboxRecord => ({
    kind: 'put',
    target: 'a',
    message: { ...messageOf(id), ...parts },
    dueAtMs: 100,
    hold: 'digest',
  });

  test('makes one message of all texts that were held, says the same once, and is as grave as the gravest', () => {
    const records = [
      held('1', { text: 'one\n', level: 'info' }),
      held('2', { text: 'two', level: 'error' }),
      held('3', { text: 'one\n', level: 'info' }),
    ];
    const outbox = applyRecords(emptyOutbox, records);
    const step = nextStep(outbox, 'a', 100);
    if (step.kind !== 'merge') throw new Error(step.kind);
    const merged = applyRecords(outbox, merge(step.entries, 100));
    expect([...merged.entries.values()]).toMatchObject([
      { message: { id: '3-due', text: 'one\n\ntwo', level: 'error' }, dueAtMs: 100 },
    ]);
    expect([...merged.entries.values()][0]?.hold).toBeUndefined();
  });

  test('says all that Upkeep words itself as one: each heading once, and what has become otherwise only as it is now', () => {
    const section = (heading: Heading, ...items: readonly (readonly [string, string])[]) => ({
      heading,
      items: items.map(([about, text]) => ({ about, level: 'info', text, markdown: `*${text}*`, atMs: 1 })),
    });
    const records = [
      held('1', { sections: [section('Updated', ['web', '- web 1']), section('Not updated', ['db', '- db waits'])] }),
      held('2', { sections: [section('Started', ['start', '- first']), section('Not updated', ['tv', '- tv waits'])] }),
      held('3', {
        sections: [section('Started', ['start', '- second']), section('Updated', ['db', '- db'], ['web', '- web 2'])],
        level: 'warn',
      }),
    ];
    const [put] = merge([...applyRecords(emptyOutbox, records).entries.values()], 100);
    expect(put).toMatchObject({
      message: {
        level: 'warn',
        text: `Since the last digest: 3 updated, 1 not updated

Updated:
- web 1
- db
- web 2

Not updated:
- tv waits

Started:
- second`,
        markdown: expect.stringContaining('**Updated**\n\n*- web 1*\n*- db*\n*- web 2*\n\n**Not updated**'),
      },
    });
    expect(put).not.toHaveProperty('message.sections');
  });

  test('of quiet hours says so, and of one message is that message', () => {
    const sections = [
      { heading: 'Updated', items: [{ about: 'web', level: 'info', text: 'w', markdown: 'w', atMs: 1 }] },
    ];
    const quiet = ['1', '2'].map((id) => ({ ...held(id, { sections }), hold: 'quiet' }) as OutboxRecord);
    const entries = [...applyRecords(emptyOutbox, quiet).entries.values()];
    expect(merge(entries, 100)[0]).toMatchObject({ message: { text: 'In quiet hours: 2 updated\n\nUpdated:\nw\nw' } });
    expect(merge(entries.slice(0, 1), 100)[0]).toMatchObject({ message: { id: '1-due', text: 'text 1' } });
  });

  test('has a title with its counts, and is as urgent as the most urgent one', () => {
    const of = (heading: Heading) => [
      { heading, items: [{ about: heading, level: 'info', text: 'w', markdown: 'w', atMs: 1 } as const] },
    ];
    const mergedOf = (...records: readonly OutboxRecord[]) =>
      merge([...applyRecords(emptyOutbox, records).entries.values()], 100)[0];
    const updated = held('1', { title: 'nas: web was updated', origin: '[home] nas', sections: of('Updated') });
    const waiting = { title: 'nas: tv has an update', origin: '[home] nas', sections: of('Not updated') };
    const low = held('2', { ...waiting, urgency: 'low' });
    const title = '[home] nas: 1 updated, 1 not updated';
    expect(mergedOf(updated, low)).toMatchObject({ message: { title } });
    expect(mergedOf(updated, low)).not.toHaveProperty('message.urgency');
    expect(mergedOf(low, held('3', { ...waiting, urgency: 'low' }))).toMatchObject({ message: { urgency: 'low' } });
    expect(mergedOf(low, held('3', { ...waiting, urgency: 'high' }))).toMatchObject({ message: { urgency: 'high' } });
    expect(mergedOf(updated, low)).toMatchObject({ message: { origin: '[home] nas' } });
    expect(mergedOf(held('1', { sections: of('Updated') }), low)).toMatchObject({ message: { title } });
    expect(mergedOf(updated, held('2', { title: 'T', sections: of('Updated') }))).toMatchObject({
      message: { title: 'T' },
    });
  });

  test('is from a template, whose markup is meant, only if all of them are', () => {
    const [template, own] = [held('1', { isFromTemplate: true }), held('2')];
    const isFromTemplate = (...records: OutboxRecord[]) => {
      const [put] = merge([...applyRecords(emptyOutbox, records).entries.values()], 100);
      return put?.kind === 'put' ? put.message.isFromTemplate : undefined;
    };
    expect(isFromTemplate(template, held('2', { isFromTemplate: true }))).toBe(true);
    expect(isFromTemplate(template, own)).toBeUndefined();
    expect(isFromTemplate(own, template)).toBeUndefined();
  });

  test('of thousands of long messages is one of bounded length, which says how much is missing', () => {
    const item = { about: 'web', level: 'info', text: `- ${'x'.repeat(500)}`, markdown: 'x', atMs: 1 } as const;
    const sections = [{ heading: 'Updated', items: Array.from({ length: 50 }, () => item) }];
    for (const parts of [{ sections }, { text: 'y\n'.repeat(20_000) }]) {
      const records = Array.from({ length: 100 }, (_, index) => held(String(index), { ...parts }));
      const [put] = merge([...applyRecords(emptyOutbox, records).entries.values()], 100);
      const message = put?.kind === 'put' ? put.message : undefined;
      expect(message?.text.length).toBeLessThan(51_000);
      if ('sections' in parts) expect(message?.text).toMatch(/… and \d+ more lines$/);
    }
  });

  test('that is done again after a crash in the middle of it makes no second message', () => {
    const outbox = applyRecords(emptyOutbox, [held('1'), held('2')]);
    const records = merge([...outbox.entries.values()], 100);
    for (let torn = 1; torn < records.length; torn += 1) {
      const after = applyRecords(outbox, records.slice(0, torn));
      const rest = [...after.entries.values()].filter(({ hold }) => hold !== undefined);
      const again = applyRecords(after, merge(rest, 200));
      expect([...again.entries.values()].filter(({ hold }) => hold === undefined).length).toBe(1);
    }
  });
});
