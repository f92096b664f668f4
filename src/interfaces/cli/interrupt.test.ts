import { describe, expect, test } from 'vitest';
import { createInterrupt, type InterruptOptions } from './interrupt.ts';

describe('createInterrupt()', () => {
  test('the first Ctrl-C asks to stop and says so, the second one quits', () => {
    const { interrupt, said, quits } = scene({ hasSafePoints: true });
    expect([interrupt.signal.aborted, interrupt.exitCode()]).toEqual([false, undefined]);
    interrupt.hear('SIGINT');
    expect(interrupt.signal.reason).toMatchObject({ code: 'cancelled' });
    expect(interrupt.exitCode()).toBe(130);
    expect(said).toEqual(['Stopping at the next point where nothing is left half done; Ctrl-C again quits at once']);
    expect(quits).toEqual([]);
    interrupt.hear('SIGINT');
    expect(quits).toEqual([[130, expect.stringContaining('the next start of Upkeep finishes or undoes')]]);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends with %i', (name, code) => {
    const { interrupt, said } = scene({ hasSafePoints: true });
    interrupt.hear(name);
    expect(interrupt.exitCode()).toBe(code);
    expect(said).toEqual(['Stopping at the next point where nothing is left half done']);
  });

  test('has nothing to say where nothing can be left half done', () => {
    const { interrupt, said, quits } = scene({ hasSafePoints: false });
    interrupt.hear('SIGINT');
    interrupt.hear('SIGINT');
    expect([said, quits]).toEqual([[], [[130, '']]]);
  });
});

function scene({ hasSafePoints }: Pick<InterruptOptions, 'hasSafePoints'>) {
  const said: string[] = [];
  const quits: (readonly [number, string])[] = [];
  const interrupt = createInterrupt({
    hasSafePoints,
    say: (line) => void said.push(line),
    quit: (code, lastWords) => void quits.push([code, lastWords]),
  });
  return { interrupt, said, quits };
}
