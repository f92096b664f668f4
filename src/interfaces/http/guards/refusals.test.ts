import { expect, test } from 'vitest';
import type { LogFields } from '../../../domain/outside/outside.ts';
import { createRefusals } from './access-log.ts';

const bounds = { linesPerClient: { refusal: 2, mistake: 3 }, linesInTotal: 100, maxClients: 100, windowMs: 60_000 };

function start(bent: Partial<typeof bounds> = {}) {
  const lines: LogFields[] = [];
  const write = (_: string, fields: LogFields = {}) => void lines.push(fields);
  const refusals = createRefusals({ debug: write, info: write, warn: write, error: write }, { ...bounds, ...bent });
  const told = (client: string, times: number) =>
    Array.from({ length: times }, () => refusals.isLogged(client, 429, 'refusal')).filter(Boolean).length;
  return { lines, told, ...refusals };
}

test('the first of each client and kind are told, the others counted by status', () => {
  const { told, isLogged, flush, lines } = start();
  expect([told('a', 5), told('b', 2)]).toEqual([2, 2]);
  expect([1, 2, 3, 4].map(() => isLogged('a', 404, 'mistake'))).toEqual([true, true, true, false]);
  flush();
  expect(lines).toEqual([{ client: 'a', refused: 4, status_429: 3, status_404: 1 }]);
});

test('the count is written when the time is over, and begins anew', async () => {
  const { told, lines, flush } = start({ windowMs: 10 });
  told('a', 5);
  await expect.poll(() => lines).toHaveLength(1);
  expect(told('a', 3)).toBe(2);
  flush();
  expect(lines).toEqual([
    { client: 'a', refused: 3, status_429: 3 },
    { client: 'a', refused: 1, status_429: 1 },
  ]);
});

test('who has many addresses is told of no more than all together may be', () => {
  const { told, flush, lines } = start({ linesInTotal: 7, maxClients: 5 });
  const clients = Array.from({ length: 1000 }, (_, index) => `client-${index}`);
  expect(clients.map((client) => told(client, 3)).reduce((sum, each) => sum + each)).toBe(7);
  flush();
  expect(lines).toHaveLength(6);
  expect(lines.at(-1)).toEqual({ clients: 'others', refused: 995 * 3, status_429: 995 * 3 });
});

test('nothing is written where nothing was counted', () => {
  const { told, flush, lines } = start();
  told('a', 2);
  flush();
  expect(lines).toEqual([]);
});
