import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { containerOutcome } from '../../../test/support/scene/fake-application.ts';
import { boundedDraft, findingOf, isNews } from './run-facts.ts';
import { releaseTimeOf } from './outbox.ts';
import { isFor, leastLevelOf, readRecipients, type MessageItem, type MessageSection } from './message.ts';

const hourMs = 3_600_000;
const daily = (hour: number) => (ms: number) => {
  const day = Math.floor((ms - hour * hourMs) / (24 * hourMs)) + 1;
  return day * 24 * hourMs + hour * hourMs;
};

describe('releaseOf()', () => {
  const quietHours = { from: daily(22), until: daily(7) };
  const calm = { digest: undefined, quietHours: undefined, delayMs: 0 };

  test.each([
    [21, undefined],
    [22, 31],
    [23, 31],
    [24 + 6, 31],
    [24 + 7, undefined],
    [24 + 12, undefined],
  ])('at %i h, quiet from 22 to 7, waits until %s h', (hour, until) => {
    const release = releaseTimeOf('info', hour * hourMs, { ...calm, quietHours });
    expect(release).toEqual(
      until === undefined ? { dueAtMs: hour * hourMs } : { dueAtMs: until * hourMs, hold: 'quiet' },
    );
  });

  test('lets failures through at once, and after the delay everything else', () => {
    expect(releaseTimeOf('error', 0, { digest: daily(8), quietHours, delayMs: 5 })).toEqual({ dueAtMs: 5 });
    expect(releaseTimeOf('warn', 0, { ...calm, delayMs: 5 })).toEqual({ dueAtMs: 5 });
  });

  test('keeps the rest for the digest, in quiet hours too', () => {
    expect(releaseTimeOf('warn', 0, { ...calm, digest: daily(8), quietHours })).toEqual({
      dueAtMs: 8 * hourMs,
      hold: 'digest',
    });
  });

  test('puts a digest that falls into quiet hours off until their end', () => {
    const night = { ...calm, digest: daily(3), quietHours };
    expect(releaseTimeOf('info', 12 * hourMs, night)).toEqual({ dueAtMs: 31 * hourMs, hold: 'digest' });
  });
});

describe('findings', () => {
  const held = containerOutcome('web', { outcome: 'skipped', reason: 'monitored only', newDigest: 'sha256:b' });

  test('are the same as long as the newest version is, and others when it moves on', () => {
    const key = findingOf(held)?.key;
    expect(findingOf({ ...held, reason: 'too young until 12:05' })?.key).toBe(key);
    expect(findingOf({ ...held, outcome: 'deferred' })?.key).toBe(key);
    expect(findingOf({ ...held, newDigest: 'sha256:c' })?.key).not.toBe(key);
    expect(findingOf({ ...held, name: 'db' })?.key).not.toBe(key);
  });

  test('of a version that was rolled back is told of by the rollback', () => {
    const rolledBack = findingOf({ ...held, outcome: 'rolled_back', newImageId: 'sha256:i' });
    expect(rolledBack?.key).toBe(findingOf(held)?.key);
    expect(rolledBack && isNews(rolledBack, 5, 5)).toBe(true);
  });

  test('are told of once; failures again after a day, whatever their numbers', () => {
    const finding = findingOf(held);
    const failed = findingOf({ ...held, outcome: 'failed', reason: 'port 8080 is taken since 12:05' });
    if (finding === undefined || failed === undefined) throw new Error('no finding');
    expect(findingOf({ ...held, outcome: 'failed', reason: 'port 8081 is taken since 13:07' })?.key).toBe(failed.key);
    expect([isNews(finding, undefined, 0), isNews(finding, 0, 1e12)]).toEqual([true, false]);
    expect([isNews(failed, 0, 23 * hourMs), isNews(failed, 0, 24 * hourMs), isNews(failed, 10, 5)]).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('are none of what is well', () => {
    for (const outcome of ['fresh', 'updated', 'restarted'] as const)
      expect(findingOf({ ...held, outcome })).toBeUndefined();
  });
});

describe('routing', () => {
  const targets = [{ name: 'ops' }, { name: 'mail' }];
  const hearers = (label: string | undefined) =>
    targets
      .filter((target) => isFor(target, label === undefined ? undefined : readRecipients(label), targets))
      .map(({ name }) => name);

  test.each([
    [undefined, ['ops', 'mail']],
    ['', ['ops', 'mail']],
    ['ops', ['ops']],
    [' OPS , nobody', ['ops']],
    ['ops,mail', ['ops', 'mail']],
    ['off', []],
    ['none', []],
    ['Off', []],
    ['nobody', ['ops', 'mail']],
  ])('the label %j is heard by %j', (label, expected) => expect(hearers(label)).toEqual(expected));

  test('a target has its own level, else that of all', () => {
    const settings = { level: 'info', levelOf: { Ops: 'error' } } as const;
    expect(targets.map((target) => leastLevelOf(target, settings))).toEqual(['error', 'info']);
  });
});

describe('boundedDraft()', () => {
  test('cuts at the end of a line, says how many are missing, and leaves what is short', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'ü', ' '), minLength: 1, maxLength: 400 }), { maxLength: 500 }),
        (texts) => {
          const said = texts.map((text, index) => `${index}${text.trimEnd()}x`);
          const { text } = boundedDraft({ title: '', text: said.join('\n'), level: 'info', lines: [] });
          const lines = text.split('\n');
          const more = /^… and (\d+) more lines?$/.exec(lines.at(-1) ?? '')?.[1];
          expect(text.length).toBeLessThan(50_100);
          if (more === undefined) {
            expect(text).toBe(said.join('\n'));
            return;
          }
          expect(lines.length - 1 + Number(more)).toBe(said.length);
          expect(lines.slice(0, -1)).toEqual(said.slice(0, lines.length - 1));
        },
      ),
      { numRuns: 50 },
    );
  });

  test('cuts a title and a long line between characters', () => {
    const whole = (text: string) => Buffer.from(text).toString() === text;
    for (const before of ['', 'x']) {
      const draft = {
        title: before + '🎉'.repeat(500),
        text: before + '🎉'.repeat(50_000),
        level: 'info',
        lines: [],
      } as const;
      const { title, text } = boundedDraft(draft);
      expect([whole(title), whole(text)]).toEqual([true, true]);
      expect(title.length).toBeGreaterThanOrEqual(499);
    }
  });

  test('leaves out an item that is too long, and keeps those around it', () => {
    const item = (about: string, length: number): MessageItem => {
      return { about, level: 'info', text: 'x'.repeat(length), markdown: '', atMs: 0 };
    };
    const sections: readonly MessageSection[] = [
      { heading: 'Needs you', items: [item('a', 10), item('b', 200_000), item('c', 10)] },
      { heading: 'Updated', items: [item('d', 10)] },
    ];
    const draft = boundedDraft({ title: '', text: '', level: 'info', lines: [], sections });
    const shown = draft.sections?.map(({ items }) => items.map(({ about, text }) => (about === '' ? text : about)));
    expect(shown).toEqual([['a', 'c', '… and 1 more'], ['d']]);
  });
});
