import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Digest } from '../image/image-reference.ts';
import { parseWindows, createTimeZone, createWindows, type Windows } from './windows.ts';
import {
  obsoleteDecisions,
  decisionFor,
  takeDecision,
  compactRecords,
  decisionsOf,
  readDecisionRecord,
  describeHold,
  holdOf,
  type Decision,
  type DecisionRequest,
  type DecisionRecord,
  type Approval,
  needsApproval,
  printApproval,
} from './decisions.ts';
import { versionKinds } from '../settings/values/versions.ts';

type HoldQuestion = Parameters<typeof holdOf>[0];

const readApproval = versionKinds.approval.parse;
const digestOf = (letter: string): Digest => `sha256:${letter.repeat(64)}`;
const nowMs = Date.parse('2026-06-01T12:00:00Z');
const request: DecisionRequest = { kind: 'approve', container: 'web', digest: digestOf('a'), by: 'alice' };
const candidate = { digest: digestOf('a'), tag: '1.28' };
const decided: Decision = {
  id: 'd1',
  kind: 'approve',
  container: 'web',
  digest: digestOf('a'),
  tag: '1.28',
  by: 'alice',
  atMs: nowMs,
  untilMs: undefined,
};

const anyDecision = fc.record({
  id: fc.uuid(),
  kind: fc.constantFrom('approve', 'skip', 'snooze'),
  container: fc.constantFrom('web', 'db', '__proto__', 'constructor'),
  digest: fc.constantFrom(digestOf('a'), digestOf('b')),
  tag: fc.constantFrom(undefined, '1.0'),
  by: fc.constantFrom('alice', 'command line'),
  atMs: fc.nat(1000),
  untilMs: fc.nat(2000),
});
const anyRecords = fc.array(fc.tuple(anyDecision, fc.boolean(), fc.nat(20)), { maxLength: 20 }).map((drawn) => {
  const records: DecisionRecord[] = [];
  for (const [decision, isEnd, back] of drawn) {
    const earlier = records.at(-1 - back);
    if (isEnd && earlier?.kind === 'decided')
      records.push({ kind: 'ended', container: earlier.decision.container, id: earlier.decision.id });
    else records.push({ kind: 'decided', decision });
  }
  return records;
});

describe('takeDecision()', () => {
  test('is about the candidate that the person saw', () => {
    expect(takeDecision(request, candidate, { id: 'd1', nowMs })).toEqual(decided);
    expect(takeDecision(request, { ...candidate, digest: digestOf('b') }, { id: 'd1', nowMs })).toEqual({
      kind: 'conflict',
      fault: `its newer version has changed to ${digestOf('b')}`,
    });
    expect(takeDecision(request, undefined, { id: 'd1', nowMs })).toMatchObject({ kind: 'conflict' });
  });

  test.each([
    [{ digest: 'latest' }, '"latest" is not a digest'],
    [{ kind: 'snooze' }, 'the time to snooze is missing'],
    [{ kind: 'snooze', untilMs: nowMs }, 'its end has passed already'],
    [{ kind: 'snooze', untilMs: Number.NaN }, 'its end has passed already'],
    [{ kind: 'skip', untilMs: nowMs + 367 * 86_400_000 }, 'it ends in more than 366d'],
  ] as const)('refuses %j', (wrong, fault) => {
    expect(takeDecision({ ...request, ...wrong }, candidate, { id: 'd1', nowMs })).toEqual({ kind: 'invalid', fault });
  });
});

describe('decisions', () => {
  test('a decision counts for its digest alone, until its end, and until a later one', () => {
    const first: DecisionRecord = { kind: 'decided', decision: { ...decided, untilMs: nowMs + 10 } };
    const decisions = decisionsOf([first]);
    const ask = (container: string, digest: Digest, atMs = nowMs) =>
      decisionFor(decisions, { container, digest, nowMs: atMs })?.id;
    expect(ask('web', digestOf('a'))).toBe('d1');
    expect(ask('web', digestOf('b'))).toBeUndefined();
    expect(ask('db', digestOf('a'))).toBeUndefined();
    expect(ask('web', digestOf('a'), nowMs + 10)).toBeUndefined();
    const later = decisionsOf([first, { kind: 'decided', decision: { ...decided, id: 'd2', kind: 'skip' } }]);
    expect([...later.values()].map(({ id }) => id)).toEqual(['d2']);
  });

  test('what is withdrawn is gone, and an end that comes late ends no later decision', () => {
    const second = { ...decided, id: 'd2' };
    const records: DecisionRecord[] = [
      { kind: 'decided', decision: decided },
      { kind: 'decided', decision: second },
      { kind: 'ended', container: 'web', id: 'd1' },
    ];
    expect([...decisionsOf(records).values()]).toEqual([second]);
    expect(decisionsOf([...records, { kind: 'ended', container: 'web', id: 'd2' }]).size).toBe(0);
  });

  test('a decision dies with its digest, and with an update; one that could not be checked keeps it', () => {
    const decisions = decisionsOf([
      { kind: 'decided', decision: decided },
      { kind: 'decided', decision: { ...decided, id: 'd2', container: 'db' } },
      { kind: 'decided', decision: { ...decided, id: 'd3', container: 'proxy' } },
      { kind: 'decided', decision: { ...decided, id: 'd4', container: 'cache', untilMs: nowMs } },
      { kind: 'decided', decision: { ...decided, id: 'd5', container: 'queue' } },
    ]);
    const checked = new Map([
      ['web', digestOf('b')],
      ['db', undefined],
      ['proxy', digestOf('a')],
    ]);
    expect(obsoleteDecisions(decisions, checked, nowMs).map(({ id }) => id)).toEqual(['d1', 'd2', 'd4']);
  });

  test('the same records make the same decisions, one by one, all at once, compacted, or read from a file', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        const all = decisionsOf(records);
        const oneByOne = records.reduce<readonly DecisionRecord[]>((kept, one) => compactRecords([...kept, one]), []);
        expect(decisionsOf(oneByOne)).toEqual(all);
        expect(decisionsOf(compactRecords(records))).toEqual(all);
        const read = records.flatMap((record) => readDecisionRecord(JSON.parse(JSON.stringify(record))) ?? []);
        expect(decisionsOf(read)).toEqual(all);
        expect(compactRecords(records)).toHaveLength(all.size);
      }),
    );
  });

  test('holds at most 10,000, the newest', () => {
    const records = Array.from({ length: 10_050 }, (_, n): DecisionRecord => ({
      kind: 'decided',
      decision: { ...decided, id: `d${n}`, container: `c${n}` },
    }));
    const decisions = decisionsOf(records);
    expect(decisions.size).toBe(10_000);
    expect(decisions.has('c49')).toBe(false);
    expect(decisions.has('c10049')).toBe(true);
  });

  test('reads nothing from what is no record', () => {
    const odd = fc.oneof(
      fc.jsonValue(),
      anyDecision.chain((decision) =>
        fc
          .tuple(fc.constantFrom(...(Object.keys(decision) as (keyof Decision)[])), fc.jsonValue())
          .map(([field, value]) => ({ kind: 'decided', decision: { ...decision, [field]: value } })),
      ),
    );
    fc.assert(
      fc.property(odd, (value) => {
        const record = readDecisionRecord(value);
        if (record?.kind !== 'decided') return;
        expect(record.decision.digest).toMatch(/^sha256:[ab]{64}$/);
        expect(record.decision.container).not.toBe('');
        expect(`${record.decision.by}${record.decision.tag ?? ''}`).not.toMatch(/\p{Cc}/u);
        expect(Number.isSafeInteger(record.decision.atMs)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe('approval', () => {
  test.each([
    ['true', ['digest', 'patch', 'minor', 'major']],
    ['patch', ['patch', 'minor', 'major']],
    [' Minor ', ['minor', 'major']],
    ['major', ['major']],
    ['false', []],
  ])('%s is needed for %j', (text, expected) => {
    const { from } = readApproval(text) ?? expect.unreachable();
    const kinds = (['digest', 'patch', 'minor', 'major'] as const).filter((kind) => needsApproval(from, kind));
    expect(kinds).toEqual(expected);
  });

  test.each(['always', 'minor,major', 'breaking,always', '', 'false,true'])('refuses %j', (text) => {
    expect(readApproval(text)).toBeUndefined();
  });

  test.each([
    ['breaking', { from: 'never', breaking: true, unread: false }, 'breaking'],
    ['unread, Breaking', { from: 'never', breaking: true, unread: true }, 'breaking,unread'],
    ['major,breaking', { from: 'major', breaking: true, unread: false }, 'major,breaking'],
    ['unread,true', { from: 'digest', breaking: false, unread: true }, 'true,unread'],
    ['false', { from: 'never', breaking: false, unread: false }, 'false'],
  ])('reads %j', (text, approval, printed) => {
    expect(readApproval(text)).toEqual(approval);
    expect(printApproval(readApproval(text) ?? expect.unreachable())).toBe(printed);
  });
});

describe('holdOf()', () => {
  const closed = windowsOf('02:00-03:00');
  const question: HoldQuestion = {
    candidateKind: 'minor',
    approval: approving('never'),
    unreadable: undefined,
    decision: undefined,
    windows: undefined,
    nowMs,
  };
  const words = (changes: Partial<HoldQuestion>) => {
    const hold = holdOf({ ...question, ...changes });
    return hold === undefined ? undefined : { reason: describeHold(hold, 'web'), releasedAtMs: releaseOf(hold) };
  };
  const releaseOf = (hold: object) => ('releasedAtMs' in hold ? hold.releasedAtMs : undefined);

  test('lets go what nobody holds back', () => {
    expect(words({})).toBeUndefined();
    expect(words({ windows: windowsOf('12:00-13:00') })).toBeUndefined();
    expect(words({ approval: approving('major') })).toBeUndefined();
    expect(words({ approval: approving('digest'), decision: decided })).toBeUndefined();
  });

  test('names one reason, one way to end it, and when it ends by itself', () => {
    expect(words({ approval: approving('minor') })).toEqual({
      reason: 'waits for your approval; release it with upkeep approve web',
    });
    expect(words({ decision: { ...decided, kind: 'skip' } })).toEqual({
      reason: 'skipped by "alice"; release it with upkeep unskip web',
    });
    expect(words({ decision: { ...decided, kind: 'snooze', untilMs: nowMs + 60_000 } })).toEqual({
      reason: 'snoozed by "alice" until 2026-06-01T12:01Z; release it with upkeep unskip web',
      releasedAtMs: nowMs + 60_000,
    });
    expect(words({ windows: closed })).toEqual({
      reason: 'its window opens at 2026-06-02T02:00Z; release it with upkeep update web --now',
      releasedAtMs: Date.parse('2026-06-02T02:00:00Z'),
    });
    expect(words({ windows: { fault: 'it is empty' } })).toEqual({
      reason: 'its window cannot be read: it is empty; correct the label upkeep.window',
    });
  });

  const breaking = {
    kind: 'breaking',
    why: 'the notes of 2.0.0 speak of breaking changes ("The port moves")',
  } as const;
  const unread = { kind: 'unread', why: 'its release notes cannot be read', endsAtMs: undefined } as const;
  const failing = { ...unread, endsAtMs: nowMs + 1000 };
  const harmless = { kind: 'harmless' } as const;
  const [ofBreaking, ofBoth] = [approving('never', true), approving('never', true, true)];
  const ofMajorOrBreaking = approving('major', true);

  test.each([
    ['breaking', ofBreaking, breaking, 'approval breaking'],
    ['breaking', ofBoth, breaking, 'approval breaking'],
    ['breaking', ofMajorOrBreaking, breaking, 'approval breaking'],
    ['breaking', approving('never', false, true), breaking, undefined],
    ['breaking', approving('never'), breaking, undefined],
    ['harmless', ofBoth, harmless, undefined],
    ['harmless', ofMajorOrBreaking, harmless, undefined],
    ['unread for good', ofBreaking, unread, undefined],
    ['unread for good', ofBoth, unread, 'approval unread'],
    ['unread for now', ofBreaking, failing, 'notes'],
    ['unread for now', ofBoth, failing, 'approval unread'],
    ['unread for now', ofMajorOrBreaking, failing, 'notes'],
    ['unread for too long', ofBreaking, { ...failing, endsAtMs: nowMs }, undefined],
    ['read by nobody', ofBreaking, undefined, undefined],
    ['read by nobody', ofBoth, undefined, 'approval unread'],
  ])('with notes that are %s and --approve %j', (_, approval, notes, expected) => {
    const hold = holdOf({ ...question, approval, notes });
    expect(hold && [hold.kind, ...('because' in hold ? [hold.because] : [])].join(' ')).toBe(expected);
    expect(holdOf({ ...question, approval, notes, decision: decided }), 'an approval ends it').toBeUndefined();
  });

  test('tells the sentence of the notes, and when a hold ends by itself', () => {
    expect(words({ approval: ofBreaking, notes: breaking })).toEqual({
      reason: 'the notes of 2.0.0 speak of breaking changes ("The port moves"); release it with upkeep approve web',
    });
    expect(words({ approval: ofBreaking, notes: failing })).toEqual({
      reason: 'its release notes cannot be read; release it with upkeep approve web',
      releasedAtMs: nowMs + 1000,
    });
    expect(words({ approval: approving('minor', true), notes: breaking })?.reason).toContain('waits for your approval');
  });

  test('tells of what a person has to end before what passes by itself', () => {
    expect(words({ approval: approving('minor'), windows: closed })?.reason).toContain('waits for your approval');
    expect(words({ approval: approving('minor'), windows: closed, decision: decided })?.reason).toContain(
      'its window opens',
    );
    expect(words({ approval: approving('minor'), decision: { ...decided, kind: 'skip' } })?.reason).toContain(
      'skipped',
    );
  });
});

function windowsOf(text: string): Windows {
  const windows = parseWindows(text);
  if ('fault' in windows) throw new Error(windows.fault);
  return createWindows(windows, createTimeZone('UTC'));
}

function approving(from: Approval['from'], breaking = false, unread = false): Approval {
  return { from, breaking, unread };
}
