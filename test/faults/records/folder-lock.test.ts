import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { bundled } from '../../bench/rig/bundled.ts';

const script = bundled(new URL('hold-in-turn.ts', import.meta.url));
const parent = mkdtempSync(join(tmpdir(), 'upkeep-turns-'));
afterAll(() => rmSync(parent, { recursive: true }));

/** More than the processors of a small machine, so that processes are interrupted between two system calls. */
const processes = 6;

test('processes that take the lock of a folder again and again never hold it together', async () => {
  const folder = join(parent, 'state');
  mkdirSync(folder);
  const children = Array.from({ length: processes }, () => {
    const child = spawn(process.execPath, [script, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
    return { child, printed: text(child.stdout) };
  });
  await sleep(10_000);
  for (const { child } of children) child.stdin.end();
  const counts = await Promise.all(
    children.map(
      async ({ printed }) => JSON.parse(await printed) as Record<'held' | 'together' | 'impossible', number>,
    ),
  );
  const sum = (name: keyof (typeof counts)[number]) => counts.reduce((total, each) => total + each[name], 0);
  expect(sum('held')).toBeGreaterThan(100);
  expect({ together: sum('together'), impossible: sum('impossible') }).toEqual({ together: 0, impossible: 0 });
  expect(readdirSync(folder)).toEqual([]);
});
