import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { containerOutcome } from '../../../../test/support/scene/fake-application.ts';
import { createInterrupt, createUpdateTracker, type InterruptOptions, type SignalName } from './terminal.ts';

test('createUpdateTracker() names what has been begun in the engine and is not over', () => {
  const { onEvent, names } = createUpdateTracker();
  const enter = (container: string, phase: 'pulling' | 'preparing' | 'stopping') =>
    onEvent({ kind: 'phase_entered', runId: '1', container, phase });
  enter('db', 'pulling');
  enter('web', 'pulling');
  enter('web', 'preparing');
  enter('\u001b[2Japi', 'stopping');
  expect(names()).toEqual(['web', String.raw`\x1b[2Japi`]);
  onEvent({ kind: 'update_completed', runId: '1', outcome: containerOutcome('web'), atMs: 0 });
  expect(names()).toEqual([String.raw`\x1b[2Japi`]);
});

describe('createInterrupt()', () => {
  test('the first Ctrl-C asks to stop and says so, another one after 2 s quits', async () => {
    const { interrupt, clock, said, quits } = scene({ hasSafePoints: true });
    expect([interrupt.signal.aborted, interrupt.exitCode()]).toEqual([false, undefined]);
    interrupt.onSignal('SIGINT');
    expect(interrupt.signal.reason).toMatchObject({ code: 'cancelled' });
    expect(interrupt.exitCode()).toBe(130);
    expect(said).toEqual(['Stopping at the next safe point; Ctrl-C again after 2s quits at once']);
    await clock.advance(2000);
    expect(quits).toEqual([]);
    interrupt.onSignal('SIGINT');
    expect(quits).toEqual([[130, expect.stringContaining('the next start of Upkeep finishes or undoes')]]);
  });

  test.each<readonly [SignalName, SignalName]>([
    ['SIGTERM', 'SIGTERM'],
    ['SIGINT', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
    ['SIGTERM', 'SIGHUP'],
  ])('%s and %s within 2 s are one wish, however often they come', async (first, next) => {
    const { interrupt, clock, said, quits } = scene({ hasSafePoints: true });
    interrupt.onSignal(first);
    const code = interrupt.exitCode();
    interrupt.onSignal(next);
    await clock.advance(1999);
    interrupt.onSignal(next);
    interrupt.onSignal(first);
    expect([said.length, quits, interrupt.exitCode()]).toEqual([1, [], code]);
    await clock.advance(1);
    interrupt.onSignal(next);
    expect(quits).toHaveLength(1);
  });

  test('what is left for the next start is named, ten at most', async () => {
    const some = scene({ hasSafePoints: true, underWay: () => ['web', 'db'] });
    some.interrupt.onSignal('SIGTERM');
    await some.clock.advance(2001);
    some.interrupt.onSignal('SIGTERM');
    expect(some.quits).toEqual([
      [143, 'Quit at once: the next start of Upkeep finishes or undoes the interrupted update of web, db'],
    ]);
    const many = scene({ hasSafePoints: true, underWay: () => Array.from({ length: 13 }, (_, index) => `c${index}`) });
    many.interrupt.onSignal('SIGTERM');
    await many.clock.advance(3000);
    many.interrupt.onSignal('SIGINT');
    expect(many.quits).toEqual([[130, expect.stringMatching(/ the interrupted update of c0, .*, c9 and 3 more$/)]]);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends with %i', (name, code) => {
    const { interrupt, said } = scene({ hasSafePoints: true });
    interrupt.onSignal(name);
    expect(interrupt.exitCode()).toBe(code);
    expect(said).toEqual(['Stopping at the next safe point']);
  });

  test('a reader of the output that has gone ends the work without a word', () => {
    const { interrupt, said } = scene({ hasSafePoints: true });
    interrupt.onSignal('SIGPIPE');
    expect([interrupt.signal.aborted, interrupt.exitCode(), said]).toEqual([true, 141, []]);
  });

  test('has nothing to say where nothing can be left half done', async () => {
    const { interrupt, clock, said, quits } = scene({ hasSafePoints: false });
    interrupt.onSignal('SIGINT');
    await clock.advance(2000);
    interrupt.onSignal('SIGINT');
    expect([said, quits]).toEqual([[], [[130, '']]]);
  });
});

function scene({
  hasSafePoints,
  underWay = () => [],
}: Pick<InterruptOptions, 'hasSafePoints'> & Partial<InterruptOptions>) {
  const clock = createFakeClock();
  const said: string[] = [];
  const quits: (readonly [number, string])[] = [];
  const interrupt = createInterrupt({
    hasSafePoints,
    say: (line) => void said.push(line),
    quit: (code, lastWords) => void quits.push([code, lastWords]),
    monotonicMs: clock.monotonicMs,
    underWay,
  });
  return { interrupt, clock, said, quits };
}
