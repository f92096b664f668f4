import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { withClockAt } from '../../support/clock/shifted-clock.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('a restart with --state-dir', (lab) => {
  const { engine } = lab;
  const { stale } = effectsScene(lab, 'memory');
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'memory-over-a-restart-'))));
  afterEach(async () => {
    await engine.clear();
    rmSync(folder, { recursive: true });
  });

  test('does not begin the cooldown of an image without a date anew', { timeout: 60_000 }, async () => {
    await stale('web', { next: { ...webServer('v2'), created: '0001-01-01T00:00:00Z' } });
    const begunMs = Date.now();
    /** A whole process, this number of days later. */
    const outcome = async (days: number, ...args: string[]) => {
      const all = ['update', '--json', '--health-window', '1s', '--cooldown-delay', '3d', ...args];
      const run = await runUpkeep(all, {
        socket: engine.socket,
        env: { NODE_OPTIONS: withClockAt(begunMs + days * 86_400_000) },
      });
      return (JSON.parse(run.stdout) as { containers: { outcome: string }[] }).containers[0]?.outcome;
    };
    const kept = ['--state-dir', folder];
    expect(await outcome(0, ...kept)).toBe('deferred');
    expect(readFileSync(join(folder, 'seen-tags.jsonl'), 'utf8')).toContain('memory/web:stable');
    expect(await outcome(2, ...kept)).toBe('deferred');
    expect(await outcome(4)).toBe('deferred');
    expect(await outcome(4, ...kept)).toBe('updated');
  });
});
