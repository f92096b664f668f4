import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { createFakeTerminal } from '../../../../test/support/scene/fake-terminal.ts';
import { createLiveRegion } from './live-table.ts';

describe('createLiveRegion()', () => {
  test('draws its lines below what was written before, and takes them away at its end', () => {
    const { region, fake } = scene(['one', 'two']);
    expect(fake.screen()).toEqual(['before', 'one', 'two', '']);
    region.end();
    fake.terminal.out.write('after\n');
    expect(fake.screen()).toEqual(['before', 'after', '']);
  });

  test('draws at most ten times a second, and the last change is never lost', async () => {
    const { clock, region, fake, show } = scene(['0']);
    const before = fake.writes();
    for (let change = 1; change <= 500; change += 1) {
      show([String(change)]);
      region.changed();
      await clock.advance(2);
    }
    expect(fake.writes() - before).toBeGreaterThanOrEqual(9);
    expect(fake.writes() - before).toBeLessThanOrEqual(11);
    await clock.advance(100);
    expect(fake.screen()).toEqual(['before', '500', '']);
    region.end();
    expect(clock.sleepers()).toBe(0);
  });

  test('draws once a second by itself, for what shows time', async () => {
    const { clock, region, fake, show } = scene(['0s']);
    show(['1s']);
    await clock.advance(1000);
    expect(fake.screen()).toEqual(['before', '1s', '']);
    region.end();
    const ended = fake.writes();
    await clock.advance(5000);
    region.changed();
    expect(fake.writes()).toBe(ended);
  });

  test('log lines and results that come meanwhile stand above it', () => {
    const { fake, region } = scene(['live']);
    fake.terminal.err.write('log line\n');
    fake.terminal.out.write('result\n');
    expect(fake.screen()).toEqual(['before', 'log line', 'result', 'live', '']);
    region.end();
    expect(fake.screen()).toEqual(['before', 'log line', 'result', '']);
  });

  test('tells the room there is, and draws at once when it changes', () => {
    const { fake, rooms, region } = scene(['x']);
    fake.resize(40, 10);
    expect(rooms).toEqual([
      { columns: 79, rows: 23 },
      { columns: 39, rows: 9 },
    ]);
    region.end();
    fake.resize(20, 5);
    expect(rooms).toHaveLength(2);
  });

  test('goes up by as many rows as a narrower terminal has made of its lines', () => {
    const { fake } = scene(['x'.repeat(79), '\u001b[31mred\u001b[0m']);
    fake.resize(40, 24);
    expect(fake.out()).toContain('\u001b[3A\r');
  });

  test('whatever happens, the screen shows what was written and then the lines', async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ show: fc.array(fc.stringMatching(/^[a-z]{0,8}$/), { maxLength: 4 }) }),
        fc.record({ write: fc.stringMatching(/^[A-Z]{1,8}$/) }),
        fc.record({ pass: fc.nat(300) }),
      ),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const { clock, fake, show, region } = scene([]);
        const written = ['before'];
        let lines: readonly string[] = [];
        for (const step of all) {
          if ('show' in step) {
            lines = step.show;
            show(lines);
            region.changed();
          } else if ('write' in step) {
            written.push(step.write);
            fake.terminal.err.write(`${step.write}\n`);
          } else await clock.advance(step.pass);
        }
        await clock.advance(200);
        expect(fake.screen()).toEqual([...written, ...lines, '']);
        region.end();
        expect(fake.screen()).toEqual([...written, '']);
      }),
      { numRuns: 50 },
    );
  });
});

function scene(first: readonly string[]) {
  const clock = createFakeClock();
  const fake = createFakeTerminal({ isTerminal: true });
  fake.terminal.out.write('before\n');
  let lines = first;
  const rooms: object[] = [];
  const region = createLiveRegion(fake.terminal, clock, (room) => {
    rooms.push(room);
    return lines;
  });
  return { clock, fake, region, rooms, show: (next: readonly string[]) => void (lines = next) };
}
