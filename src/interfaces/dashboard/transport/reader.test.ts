import { expect, test } from 'vitest';
import { createContainerStore } from '../state/containers/container-store.ts';
import type { Reply } from './client.ts';
import { createReader } from './reader.ts';

/** A reader whose requests the test answers, in any order. */
function startReader(groups: readonly string[] = ['containers'], isFollowing = () => false) {
  const open: {
    readonly path: string;
    readonly reply: (reply: Reply) => void;
    readonly answer: (document: unknown) => void;
  }[] = [];
  const fleet = createContainerStore();
  const reader = createReader({
    ask: (path) =>
      new Promise<Reply>((resolve) => {
        open.push({ path, reply: resolve, answer: (document) => resolve({ kind: 'ok', document }) });
      }),
    isOn: (group) => groups.includes(group),
    isFollowing,
    containers: fleet,
    nowMs: () => 0,
    onRead: () => undefined,
  });
  return { reader, fleet, open };
}

const web = (version: string) => ({ containers: [{ name: 'web', version }] });

test('an answer that comes after that of a later reading changes nothing', async () => {
  const { reader, fleet, open } = startReader();
  const readings = [reader.read(), reader.read()];
  open[1]?.answer(web('2'));
  await readings[1];
  open[0]?.answer(web('1'));
  expect(await readings[0]).toBe('ok');
  expect(fleet.named('web')?.version).toBe('2');
});

test('a run that ended without an event is in the history after the next reading', async () => {
  const { reader, open } = startReader(['containers', 'metrics', 'history']);
  const first = reader.readRuns();
  open[0]?.answer({ entries: [] });
  await first;
  const reading = reader.read();
  open[1]?.answer(web('1'));
  open[2]?.answer({ last_run: '2026-11-20T04:00:00Z' });
  await expect.poll(() => open[3]?.path).toBe('v1/history');
  open[3]?.answer({ entries: [{ run_id: 'a', timestamp: '2026-11-20T04:00:00Z', updated: 3 }] });
  await reading;
  await expect.poll(() => reader.runs()).toMatchObject([{ runId: 'a', updated: 3 }]);
});

test.each([
  ['the groups of status and events', ['containers', 'update']],
  ['the status and the token of the events', ['containers', 'update', 'events']],
])('without %s, a requested update does not wait for ever', async (_, groups) => {
  const { reader, fleet, open } = startReader(groups);
  const first = reader.read();
  open[0]?.answer(web('1'));
  await first;
  fleet.ask(['web']);
  const next = reader.read();
  open[1]?.answer(web('2'));
  await next;
  expect(fleet.isRunning()).toBe(false);
  expect(fleet.updateOf('web')).toBeUndefined();
  expect(fleet.named('web')?.version).toBe('2');
});

test('without the status, a requested update waits for its event while there is a stream', async () => {
  let isFollowing = true;
  const { reader, fleet, open } = startReader(['containers', 'update', 'events'], () => isFollowing);
  const readAgain = async () => {
    const reading = reader.read();
    open.at(-1)?.answer(web('1'));
    await reading;
    return fleet.isRunning();
  };
  await readAgain();
  fleet.ask(['web']);
  expect(await readAgain()).toBe(true);
  isFollowing = false;
  expect(await readAgain()).toBe(false);
});

test.each([
  ['runs', 'history', { entries: [] }],
  ['options', 'config', { options: [] }],
] as const)(
  '%s that could not be read are a gap with the reason, and are read again',
  async (name, group, document) => {
    const { reader, open } = startReader(['containers', group]);
    const first = name === 'runs' ? reader.readRuns() : reader.readOptions();
    expect(reader.gapOf(name)).toBe('reading');
    open[0]?.reply({ kind: 'unreachable' });
    await first;
    expect(reader.gapOf(name)).toEqual({ why: 'Upkeep does not answer' });
    const reading = reader.read();
    open[1]?.answer(web('1'));
    await reading;
    expect(open[2]?.path).toBe(`v1/${group}`);
    open[2]?.answer(document);
    await expect.poll(() => reader.gapOf(name)).toBeUndefined();
  },
);

test('a refusal says how long to wait, until a reading succeeds', async () => {
  const { reader, open } = startReader();
  const refused = reader.read();
  open[0]?.reply({ kind: 'refused', status: 429, why: 'too many requests', retryAfterMs: 7000 });
  expect([await refused, reader.retryAfterMs()]).toEqual(['unreachable', 7000]);
  const next = reader.read();
  open[1]?.answer(web('1'));
  expect([await next, reader.retryAfterMs()]).toEqual(['ok', 0]);
});
