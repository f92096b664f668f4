import { expect, test } from 'vitest';
import { downtimeOf } from './session.ts';

const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000).toISOString();
const ms = (seconds: number) => Date.parse(at(seconds));

test.each([
  ['a process that took its time to end', { stopSentAtMs: ms(0), endedAt: at(6), startedAt: at(6.6) }, [6600, 6000]],
  ['one that had ended before it was stopped', { stopSentAtMs: ms(9), endedAt: at(2), startedAt: at(10) }, [8000, 0]],
  ['one whose stop nobody saw', { stopSentAtMs: undefined, endedAt: at(6), startedAt: at(7) }, [1000, undefined]],
  ['one that was gone with its end', { stopSentAtMs: ms(1), endedAt: undefined, startedAt: at(4) }, [3000, undefined]],
  ['one that nothing is known of', { stopSentAtMs: undefined, endedAt: '', startedAt: at(4) }, [undefined, undefined]],
  ['one that was not started', { stopSentAtMs: ms(1), endedAt: at(2), startedAt: undefined }, [undefined, undefined]],
  ['one whose clock was put back', { stopSentAtMs: ms(5), endedAt: at(6), startedAt: at(1) }, [undefined, undefined]],
])('downtimeOf() of %s', (_, interruption, expected) => {
  const { downtimeMs, stoppingMs } = downtimeOf(interruption);
  expect([downtimeMs, stoppingMs]).toEqual(expected);
});
