import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  const { stale, push } = effectsScene(lab, 'memory');
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'memory-over-a-restart-'))));
  afterEach(async () => {
    await engine.clear();
    rmSync(folder, { recursive: true });
  });

  const dayMs = 86_400_000;
  const seenTags = () => join(folder, 'seen-tags.jsonl');

  /** A whole process, whose wall clock is ahead by this number of days. */
  async function update(aheadDays: number, ...args: string[]) {
    const all = ['update', '--json', '--health-window', '1s', '--cooldown-delay', '3d', ...args];
    const clock = { NODE_OPTIONS: withClockAt(Date.now() + aheadDays * dayMs) };
    const { stdout, stderr } = await runUpkeep(all, { socket: engine.socket, env: aheadDays === 0 ? {} : clock });
    const [web] = (JSON.parse(stdout) as { containers: { outcome: string; reason: string }[] }).containers;
    return { ...web, stderr };
  }

  /** As if the processes so far had run this number of days ago. */
  function letDaysPass(days: number): void {
    const older = (_: string, atMs: string) => `"atMs":${Number(atMs) - days * dayMs}`;
    writeFileSync(seenTags(), readFileSync(seenTags(), 'utf8').replaceAll(/"atMs":(\d+)/g, older));
  }

  test('does not begin the cooldown of an image without a date anew', async () => {
    await stale('web', { next: { ...webServer('v2'), created: '0001-01-01T00:00:00Z' } });
    const kept = ['--state-dir', folder];
    expect(await update(0, ...kept)).toMatchObject({ outcome: 'deferred' });
    expect(readFileSync(seenTags(), 'utf8')).toContain('memory/web:stable');
    letDaysPass(2);
    expect(await update(0, ...kept)).toMatchObject({ outcome: 'deferred' });
    letDaysPass(2);
    expect(await update(0)).toMatchObject({ outcome: 'deferred' });
    expect(await update(0, ...kept)).toMatchObject({ outcome: 'updated' });
  });

  test('with a clock that is ahead ends no cooldown, and says so', async () => {
    await stale('web', { next: { ...webServer('v2'), created: '0001-01-01T00:00:00Z' } });
    const kept = ['--state-dir', folder];
    expect(await update(0, ...kept)).toMatchObject({ outcome: 'deferred' });
    for (const days of [4, 3650]) {
      const ahead = await update(days, ...kept);
      expect(ahead.outcome, ahead.reason).toBe('deferred');
      expect(ahead.stderr).toContain('The clock of this machine is ahead of the registry');
    }
    // A sighting with a wrong clock ends no cooldown either.
    await push('web', { ...webServer('v3'), created: '0001-01-01T00:00:00Z' });
    expect(await update(4, ...kept)).toMatchObject({ outcome: 'deferred' });
    expect(await update(0, ...kept)).toMatchObject({ outcome: 'deferred' });
  });

  test('with a clock that is ahead counts the date of an image too', async () => {
    const created = new Date(Date.now() - dayMs).toISOString();
    await stale('web', { next: { ...webServer('v2'), created } });
    expect(await update(4)).toMatchObject({ outcome: 'deferred' });
    await push('web', { ...webServer('v3'), created: new Date(Date.now() - 4 * dayMs).toISOString() });
    const clock = await update(0);
    expect(clock, clock.stderr).toMatchObject({ outcome: 'updated' });
  });
});
