import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runUpkeep } from '../support/scene/run-upkeep.ts';

/** Errors in the options, at the start. */

describe('starting', () => {
  test.each([
    ['an unreadable schedule', ['run', '--schedule', 'every now and then']],
    ['two schedules', ['run', '--schedule', '@daily', '--interval', '60']],
    ['an unknown option', ['run', '--no-such-option']],
    ['a bad value', ['update', '--stop-timeout', 'soon']],
  ])('pitfall 21: %s: it does not start, and the engine is not even asked', async (_what, argv) => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-starting-'));
    const socket = join(folder, 'engine.sock');
    let connections = 0;
    const server = createServer((connection) => {
      connections += 1;
      connection.destroy();
    });
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    try {
      const { code, stderr } = await runUpkeep(argv, { socket });
      expect([1, 2]).toContain(code);
      expect(stderr).toContain('nothing was changed');
      expect(connections).toBe(0);
    } finally {
      server.close();
      rmSync(folder, { recursive: true });
    }
  });
});
