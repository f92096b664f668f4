import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Digest } from '../image/image-reference.ts';
import {
  judgeWave,
  parseWaves,
  assignWaves,
  patternsWithoutEngine,
  type ProvingContainer,
  type ProvingEngine,
  type WaveStep,
} from '../waves.ts';

type WaveQuestion = Parameters<typeof judgeWave>[0];

const stepsOf = (text: string) => parseWaves(text) as readonly WaveStep[];

describe('parseWaves()', () => {
  test('reads names and shares, with a comma inside of a pattern', () => {
    expect(stepsOf(' canary-.*, edge-[0-9]{1,2} ,25%, 100 %')).toMatchObject([
      { kind: 'names', text: 'canary-.*' },
      { kind: 'names', text: 'edge-[0-9]{1,2}' },
      { kind: 'share', percent: 25 },
      { kind: 'share', percent: 100 },
    ]);
  });

  test.each([
    ['', 'it is empty'],
    [' , ', 'it is empty'],
    ['0%', '"0%" is not a share above 0% and up to 100%'],
    ['-5%', '"-5%" is not a share above 0% and up to 100%'],
    ['101%', '"101%" is not a share above 0% and up to 100%'],
    ['1.2.3%', '"1.2.3%" is not a share above 0% and up to 100%'],
    ['50%, 25%', '"25%" comes after 50%, so it adds no engine'],
    ['(a', '"(a": it is not a pattern of RE2, which has neither backreferences nor lookaround'],
    ['a'.repeat(1001), 'it has more than 1000 characters'],
  ])('refuses %j', (text, fault) => {
    expect(parseWaves(text)).toEqual({ fault });
  });
});

describe('assignWaves()', () => {
  const engines = ['web-1', 'canary-1', 'web-2', 'web-3', 'canary-2', 'web-4'];

  test.each([
    ['canary-.*, 50%, 100%', [['canary-1', 'canary-2'], ['web-1'], ['web-2', 'web-3', 'web-4']]],
    ['canary-1', [['canary-1'], ['web-1', 'web-2', 'web-3', 'canary-2', 'web-4']]],
    ['10%, 34%', [['web-1'], ['canary-1', 'web-2'], ['web-3', 'canary-2', 'web-4']]],
    ['web-.*, 25%', [engines.filter((name) => name.startsWith('web')), ['canary-1', 'canary-2']]],
    ['nobody, 100%', [engines]],
  ])('%s', (text, waves) => {
    expect(assignWaves(stepsOf(text), engines)).toEqual(waves);
  });

  test('names the patterns that mean no engine', () => {
    expect(patternsWithoutEngine(stepsOf('canary, web-.*, 10%'), engines)).toEqual(['canary']);
  });

  test('puts each engine into one wave, and none is empty', () => {
    const anySteps = fc
      .tuple(
        fc.uniqueArray(fc.constantFrom('a.*', 'b1', 'zz', '.*3'), { maxLength: 3 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { maxLength: 3 }),
      )
      .filter(([names, shares]) => names.length + shares.length > 0)
      .map(([names, shares]) => [...names, ...shares.toSorted((a, b) => a - b).map((each) => `${each}%`)].join(', '));
    const anyEngines = fc.uniqueArray(fc.stringMatching(/^[ab][0-9]$/), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(anySteps, anyEngines, (text, names) => {
        const waves = assignWaves(stepsOf(text), names);
        expect(waves.flat().toSorted()).toEqual(names.toSorted());
        expect(waves.every((wave) => wave.length > 0)).toBe(true);
      }),
    );
  });
});

const [old, next, newer] = ['a', 'b', 'c'].map((letter): Digest => `sha256:${letter.repeat(64)}`) as [
  Digest,
  Digest,
  Digest,
];
const minute = 60_000;
const nowMs = Date.parse('2026-06-01T12:00:00Z');

const builtAtMs = (digest: Digest) => [old, next, newer].indexOf(digest);

const running = (digest: Digest, ranMs: number, more: Partial<ProvingContainer> = {}): ProvingContainer => ({
  name: 'web',
  digests: [digest],
  isRunning: true,
  isHealthy: true,
  startedAtMs: nowMs - ranMs,
  builtAtMs: builtAtMs(digest),
  ...more,
});
const engine = (name: string, containers?: readonly ProvingContainer[], more: Partial<ProvingEngine> = {}) => ({
  name,
  isReachable: true,
  nowMs,
  containers: containers ?? [],
  failed: [],
  ...more,
});
const ask = (changes: Partial<WaveQuestion>) =>
  judgeWave({
    newest: next,
    isOfHigherTag: false,
    current: [old],
    currentBuiltAtMs: builtAtMs(old),
    earlier: [],
    beside: [],
    pauseMs: 10 * minute,
    nowMs,
    retryFailed: false,
    ...changes,
  });

describe('judgeWave()', () => {
  test('the first wave follows the registry, and so does an image that earlier waves do not have', () => {
    expect(ask({})).toEqual({ kind: 'may-run', digest: next });
    expect(ask({ earlier: [[engine('canary-1')]] })).toEqual({ kind: 'may-run', digest: next });
  });

  test('a later wave gets what all engines before it have run for the pause', () => {
    const proven = engine('canary-1', [running(next, 10 * minute)]);
    expect(ask({ earlier: [[proven]] })).toEqual({ kind: 'may-run', digest: next });
    expect(ask({ earlier: [[proven], [engine('b', [running(next, 4.5 * minute)])]] })).toEqual({
      kind: 'waits',
      reason: 'waits for "b", which has run it for 4 of 10 minutes',
      eligibleAtMs: nowMs + 5.5 * minute,
    });
    expect(ask({ earlier: [[proven, engine('c', [running(old, 99 * minute)])]] })).toEqual({
      kind: 'waits',
      reason: 'waits for "c" to run the same new version',
    });
  });

  test('the tag moves during the pause: the last wave gets the version that the first has proven', () => {
    const proven = engine('canary-1', [running(next, 10 * minute)]);
    expect(ask({ newest: newer, earlier: [[proven]] })).toEqual({ kind: 'may-run', digest: next });
    expect(ask({ newest: newer, current: [next], earlier: [[proven]] })).toEqual({
      kind: 'waits',
      reason: 'waits for "canary-1" to run the same new version',
    });
  });

  test('the time is that of the engine, whatever its clock says', () => {
    const hourMs = 60 * minute;
    const fast = engine('canary-1', [running(next, 4 * minute - hourMs)], { nowMs: nowMs + hourMs });
    expect(ask({ earlier: [[fast]] })).toMatchObject({ eligibleAtMs: nowMs + 6 * minute });
    const setBack = engine('canary-1', [running(next, -hourMs)]);
    expect(ask({ earlier: [[setBack]], pauseMs: 90_000 })).toEqual({
      kind: 'waits',
      reason: 'waits for "canary-1", which has run it for 0s of 1m30s',
      eligibleAtMs: nowMs + 90_000,
    });
  });

  test('a version that was taken back is held on engines of the same and of later waves, until a person says otherwise', () => {
    const back = engine('canary-1', [running(old, 99 * minute)], { failed: [next] });
    const held = { kind: 'waits', reason: 'was rolled back on "canary-1"' };
    expect(ask({ earlier: [[back]] })).toEqual(held);
    expect(ask({ beside: [back] })).toEqual(held);
    expect(ask({ beside: [back], retryFailed: true })).toEqual({ kind: 'may-run', digest: next });
    expect(ask({ newest: newer, beside: [back] })).toEqual({ kind: 'may-run', digest: newer });
    const onlyOne = engine('canary-1', [running(next, 99 * minute), running(old, 9)], { failed: [next] });
    expect(ask({ earlier: [[onlyOne]] })).toEqual(held);
  });

  test('what does not run, or is not healthy, proves nothing', () => {
    const stopped = engine('canary-1', [running(next, 99 * minute, { isRunning: false })]);
    expect(ask({ earlier: [[stopped]] })).toMatchObject({
      reason: 'waits for "web" on "canary-1", which does not run',
    });
    const sick = engine('canary-1', [running(next, 99 * minute, { isHealthy: false })]);
    expect(ask({ earlier: [[sick]] })).toMatchObject({ reason: 'waits for "web" on "canary-1", which is not healthy' });
  });

  test('an engine that is away proves nothing and stops nobody, but a wave of such engines stops the next', () => {
    const away = engine('canary-1', undefined, { isReachable: false, containers: undefined });
    const proven = engine('canary-2', [running(next, 10 * minute)]);
    expect(ask({ earlier: [[away, proven]] })).toEqual({ kind: 'may-run', digest: next });
    const stops = { kind: 'waits', reason: 'wave 1 proves nothing, because "canary-1" cannot be reached' };
    expect(ask({ earlier: [[away]] })).toEqual(stops);
    expect(ask({ earlier: [[away], [proven]] })).toEqual(stops);
    expect(ask({ earlier: [[{ ...away, containers: [] }], [proven]] })).toEqual({ kind: 'may-run', digest: next });
  });

  test('a person who went ahead is left alone', () => {
    expect(ask({ current: [next], earlier: [[engine('canary-1', [running(old, 9)])]] })).toEqual({
      kind: 'may-run',
      digest: next,
    });
  });

  test('goes back to no earlier version, and does not guess the order of two', () => {
    const behind = engine('canary-1', [running(old, 99 * minute)]);
    const question = { newest: newer, current: [next], currentBuiltAtMs: builtAtMs(next) };
    const waits = { kind: 'waits', reason: 'waits for "canary-1" to run the same new version' };
    expect(ask({ ...question, earlier: [[behind]] })).toEqual(waits);
    const undated = engine('canary-1', [running(next, 99 * minute, { builtAtMs: undefined })]);
    expect(ask({ newest: newer, earlier: [[undated]] })).toEqual(waits);
    const proven = engine('canary-1', [running(next, 99 * minute)]);
    expect(ask({ newest: newer, currentBuiltAtMs: undefined, earlier: [[proven]] })).toEqual(waits);
  });

  test('lets nothing go that an earlier wave does not run, that was taken back, or that ran for less than the pause', () => {
    const anyDigest = fc.constantFrom(old, next, newer);
    const anyContainer = fc.record({
      name: fc.constantFrom('web', 'db'),
      digests: fc.uniqueArray(anyDigest, { maxLength: 2 }),
      isRunning: fc.boolean(),
      isHealthy: fc.boolean(),
      builtAtMs: fc.option(fc.constantFrom(0, 1, 2), { nil: undefined }),
      startedAtMs: fc.option(fc.integer({ min: nowMs - 20 * minute, max: nowMs + minute }), { nil: undefined }),
    });
    const anyEngine = fc.record({
      name: fc.constantFrom('one', 'two', 'three'),
      isReachable: fc.boolean(),
      nowMs: fc.integer({ min: nowMs - minute, max: nowMs + minute }),
      containers: fc.option(fc.array(anyContainer, { maxLength: 2 }), { nil: undefined }),
      failed: fc.uniqueArray(anyDigest, { maxLength: 1 }),
    });
    const anyQuestion = fc.record({
      newest: anyDigest,
      isOfHigherTag: fc.boolean(),
      current: fc.uniqueArray(anyDigest, { maxLength: 2 }),
      currentBuiltAtMs: fc.option(fc.constantFrom(0, 1, 2), { nil: undefined }),
      earlier: fc.array(fc.array(anyEngine, { minLength: 1, maxLength: 2 }), { maxLength: 3 }),
      beside: fc.array(anyEngine, { maxLength: 2 }),
      pauseMs: fc.constantFrom(0, 10 * minute),
      nowMs: fc.constant(nowMs),
      retryFailed: fc.boolean(),
    });
    fc.assert(
      fc.property(anyQuestion, (question) => {
        const answer = judgeWave(question);
        if (answer.kind === 'waits') {
          expect(answer.eligibleAtMs ?? Infinity).toBeGreaterThan(nowMs);
          return;
        }
        const { digest } = answer;
        const { current, earlier, beside, pauseMs, retryFailed } = question;
        if (current.includes(digest)) return;
        for (const { isReachable, containers, nowMs: engineNowMs } of earlier.flat()) {
          if (!isReachable) continue;
          for (const each of containers ?? []) {
            expect(each.digests).toContain(digest);
            expect(each.isRunning && each.isHealthy).toBe(true);
            if (pauseMs > 0) expect(engineNowMs - (each.startedAtMs ?? Infinity)).toBeGreaterThanOrEqual(pauseMs);
          }
        }
        const failed = [...earlier.flat(), ...beside].flatMap((each) => each.failed);
        if (!retryFailed) expect(failed).not.toContain(digest);
      }),
      { numRuns: 1000 },
    );
  });
});
