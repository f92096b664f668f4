import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createRecordFile } from '../../../src/adapters/files/shared-records.ts';
import {
  compactRecords,
  decisionsOf,
  type DecisionRecord,
  readDecisionRecord,
} from '../../../src/domain/decision/decisions.ts';
import { bundled } from '../../bench/rig/bundled.ts';
import { isSampled } from '../../support/sampled.ts';
import { createTestLog } from '../../support/test-log.ts';

const script = bundled(new URL('decide-until-killed.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'upkeep-decisions-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Each round kills two processes. A push runs a third of them. */
const rounds = Array.from({ length: 100 }, (_, round) => round).filter((round) => isSampled(round, 3));

const processes = ['a', 'b'] as const;

test('kills between and during writes of two processes lose no decision that was acknowledged', async () => {
  const path = join(folder, 'decisions.jsonl');
  let next = 0;
  for (const round of rounds) {
    const acknowledged = await Promise.all(processes.map((name) => decideUntilKilled(path, next, name)));
    const decisions = await decisionsAt(path);
    for (const [index, numbers] of acknowledged.entries()) {
      for (const n of numbers.slice(-5)) {
        // Its number, or a later one whose acknowledgement was lost by the kill.
        const id = Number(decisions.get(`${processes[index]}${n % 5}`)?.id);
        expect(id, `round ${round}, decision ${n}`).toBeGreaterThanOrEqual(n);
      }
    }
    next = Math.max(next, ...[...decisions.values()].map(({ id }) => Number(id) + 1));
  }
  expect(next).toBeGreaterThan(rounds.length);
});

/** Kills it after a random number of acknowledgements and a random time; returns the acknowledged decisions. */
async function decideUntilKilled(path: string, from: number, name: string): Promise<readonly number[]> {
  const child = spawn(process.execPath, [script, path, String(from), name], { stdio: ['ignore', 'pipe', 'pipe'] });
  const enough = 1 + Math.floor(Math.random() * 40);
  let [text, complaints] = ['', ''];
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (text.split('\n').length > enough) setTimeout(() => child.kill('SIGKILL'), Math.random() * 3);
  });
  await new Promise((resolve) => child.on('close', resolve));
  expect(complaints).toBe('');
  const lines = text.split('\n').filter((line) => line.endsWith(' kept'));
  expect(lines.length).toBeGreaterThan(0);
  return lines.map((line) => Number(line.split(' ')[0]));
}

/** The decisions that the next process reads. */
async function decisionsAt(path: string): Promise<ReturnType<typeof decisionsOf>> {
  const log = createTestLog();
  const store = createRecordFile<DecisionRecord>({
    path,
    what: 'decisions',
    version: 1,
    compact: compactRecords,
    log,
    read: readDecisionRecord,
  });
  const records = await store.load();
  await store.close();
  expect(log.lines).toEqual([]);
  return decisionsOf(records);
}
