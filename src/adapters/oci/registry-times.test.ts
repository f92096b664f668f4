import { expect, test } from 'vitest';
import type { WireAnswer } from '../http/exchange.ts';
import { createRegistryTimes } from './hosts.ts';

const noon = Date.UTC(2026, 10, 26, 12);

async function timeAfter(headers: WireAnswer['headers'], url = 'https://registry.test:443/v2/') {
  let nowMs = 1000;
  const times = createRegistryTimes({ monotonicMs: () => nowMs });
  const answer = { status: 200, headers, body: Buffer.alloc(0), showable: (text: string) => text };
  const exchange = times.noting(() => Promise.resolve(answer));
  await exchange({ method: 'HEAD', url: new URL(url), headers: {}, maxBytes: 0 });
  nowMs += 5000;
  return { at: times.at(new URL(url).hostname), elsewhere: times.at('other.test') };
}

test('the time of a registry goes on from the date of its last answer', async () => {
  const date = new Date(noon).toUTCString();
  expect(await timeAfter({ date })).toEqual({ at: noon + 5000, elsewhere: undefined });
  expect(await timeAfter({ date }, 'http://registry.test:80/v2/')).toMatchObject({ at: noon + 5000 });
});

test('the age of a kept answer counts', async () => {
  expect((await timeAfter({ date: new Date(noon).toUTCString(), age: '60' })).at).toBe(noon + 65_000);
});

test.each([{}, { date: '' }, { date: 'yesterday' }, { date: '0' + 'x'.repeat(9000) }])(
  'no time is made up from %o',
  async (headers) => {
    expect((await timeAfter(headers)).at).toBeUndefined();
  },
);
