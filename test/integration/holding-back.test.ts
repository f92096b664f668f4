import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { runUpkeep, startUpkeep, type UpkeepProcess } from '../support/scene/run-upkeep.ts';
import { withClockAt } from '../support/clock/shifted-clock.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { effectsScene } from './effects/scene.ts';

/**
 * Windows that open right at or after a change of the clocks; the services begin 25 s before:
 * https://www.iana.org/time-zones. Lord Howe changes them by half an hour; Newfoundland is half an hour off.
 */
const spring = [
  { zone: 'Europe/Berlin', opensAt: '2026-03-29T01:00:00Z', window: '03:00-03:30' },
  { zone: 'America/New_York', opensAt: '2026-03-08T07:00:00Z', window: '03:00-03:30' },
  { zone: 'America/St_Johns', opensAt: '2026-03-08T05:30:00Z', window: '03:00-03:30' },
  { zone: 'Australia/Lord_Howe', opensAt: '2026-10-03T15:30:00Z', window: '02:30-02:45' },
  { zone: 'Pacific/Auckland', opensAt: '2026-09-26T14:00:00Z', window: '03:00-03:30' },
];
const autumn = [
  { zone: 'Europe/Berlin', opensAt: '2026-10-25T01:30:00Z', window: '02:30-02:45' },
  { zone: 'America/New_York', opensAt: '2026-11-01T06:30:00Z', window: '01:30-01:45' },
  { zone: 'America/St_Johns', opensAt: '2026-11-01T05:00:00Z', window: '01:30-01:45' },
  { zone: 'Australia/Lord_Howe', opensAt: '2026-04-04T15:15:00Z', window: '01:45-01:55' },
  { zone: 'Pacific/Auckland', opensAt: '2026-04-04T14:30:00Z', window: '02:30-02:45' },
];

describeInLab('a newer version that is held back', (lab) => {
  const { engine } = lab;
  const { stale, inspect } = effectsScene(lab, 'holding-back');
  const upkeep = upkeepScene({ socket: engine.socket });
  const started: UpkeepProcess[] = [];
  let folder = '';
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'holding-back-'))));
  afterEach(async () => {
    for (const { child, ended } of started.splice(0)) {
      child.kill('SIGTERM');
      await ended;
    }
    await engine.clear();
    rmSync(folder, { recursive: true });
  });
  const labelled = (Labels: Readonly<Record<string, string>>) => ({ config: { Labels } });
  const decide = (...args: string[]) => runUpkeep([...args, '--state-dir', folder], { socket: engine.socket });
  const update = async (...args: string[]) => (await upkeep.update('--state-dir', folder, ...args)).outcomes;

  test('--approve and its label let only what a person has approved be applied', async () => {
    const { Id } = await stale('web');
    await stale('free', labelled({ 'upkeep.approve': 'false' }));
    await stale('asked', labelled({ 'upkeep.approve': 'true' }));
    const first = await update('--approve', 'true');
    expect(first).toMatchObject({ web: { outcome: 'skipped' }, free: { outcome: 'updated' } });
    expect(first['web']?.reason).toBe('Waits for your approval; release it with upkeep approve web');
    expect(await update('asked')).toMatchObject({ asked: { outcome: 'skipped' } });
    expect((await inspect('web')).Id).toBe(Id);
    expect(await decide('approve', 'web', 'asked')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^(?:\w+: approved v1 → v2\n){2}$/),
    });
    const second = await update('--approve', 'true');
    expect(second).toMatchObject({ web: { outcome: 'updated' }, asked: { outcome: 'updated' } });
    expect(await update('--approve', 'true')).toMatchObject({ web: { outcome: 'fresh' } });
    const nothing = await decide('approve', 'web');
    expect(nothing.code).toBe(1);
    expect(nothing.stderr).toContain('Cannot approve "web": no newer version of it is known');
  });

  test('a skip and a snooze hold one version back, for --for, until they are taken back', async () => {
    await stale('web');
    await stale('db');
    expect((await decide('skip', 'web')).code).toBe(0);
    const snoozed = await decide('snooze', 'db', '--for', '3d');
    expect(snoozed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^db: snoozed .* until \d{4}-/) });
    expect(await update()).toMatchObject({ web: { outcome: 'skipped' }, db: { outcome: 'deferred' } });
    const { db } = await upkeep.check('--state-dir', folder);
    expect(db?.reason).toMatch(/^Snoozed by "command line" until /);
    expect(await decide('unskip', 'web', 'db')).toMatchObject({ code: 0 });
    expect(await update()).toMatchObject({ web: { outcome: 'updated' }, db: { outcome: 'updated' } });
    expect((await decide('unskip', 'web')).code).toBe(1);
  });

  test('--window and its label let updates begin at their times only, unless --now says otherwise', async () => {
    const closed = `${dayInTwo()} 00:00-24:00`;
    await stale('web');
    await stale('always', labelled({ 'upkeep.window': 'always' }));
    await stale('later', labelled({ 'upkeep.window': closed }));
    const first = await update('--window', closed);
    expect(first).toMatchObject({ web: { outcome: 'deferred' }, always: { outcome: 'updated' } });
    expect(first['web']?.reason).toMatch(/^Its window opens at \S+Z; release it with upkeep update web --now$/);
    expect(await update('later')).toMatchObject({ later: { outcome: 'deferred' } });
    expect(await update('--window', closed, '--now', 'web', 'later')).toMatchObject({
      web: { outcome: 'updated' },
      later: { outcome: 'updated' },
    });
    const everything = await decide('update', '--now');
    expect(everything).toMatchObject({ code: 2, stderr: expect.stringContaining('Cannot use --now') });
  });

  test('is released in a running service from the command line, also after a kill', async () => {
    await stale('web', labelled({ 'upkeep.approve': 'true' }));
    let service = await serve();
    const check = () => ask(service.url, '/v1/check', { method: 'POST' });
    const shown = async () => (await ask(service.url, '/v1/containers/details')).json().containers[0];
    await check();
    expect(await shown()).toMatchObject({ verdict: 'held', hold: 'approval' });
    expect((await decide('approve', 'web')).code).toBe(0);
    const decisions = async () => (await ask(service.url, '/v1/decisions')).json().decisions;
    expect(await decisions()).toMatchObject([{ container: 'web', decision: 'approve', by: 'command line' }]);
    service.process.child.kill('SIGKILL');
    await service.process.ended;
    started.length = 0;
    service = await serve();
    expect(await decisions()).toHaveLength(1);
    const there = await runUpkeep(['unskip', 'web', '--url', service.url, '--token', apiToken]);
    expect(there).toMatchObject({ code: 0, stdout: expect.stringContaining('web: withdrawn') });
    await check();
    const approved = await runUpkeep(['approve', 'web', '--url', service.url], { env: { UPKEEP_TOKEN: apiToken } });
    expect(approved).toMatchObject({ code: 0, stderr: '' });
    expect(await decisions()).toMatchObject([{ by: 'API token' }]);
    const { updated } = (await ask(service.url, '/v1/update', { method: 'POST' })).json().summary;
    expect(updated).toBe(1);
    expect(readFileSync(join(folder, 'decisions.jsonl'), 'utf8')).not.toContain(apiToken);
  });

  test('the history of a service outlasts its restart and its kill', async () => {
    await stale('web');
    let service = await serve();
    const { run_id } = (await ask(service.url, '/v1/update', { method: 'POST' })).json();
    const history = async () => (await ask(service.url, '/v1/history')).json().entries;
    const told = await history();
    expect(told).toMatchObject([{ run_id, updated: 1, containers: [{ name: 'web', outcome: 'updated' }] }]);
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      service.process.child.kill(signal);
      await service.process.ended;
      started.length = 0;
      service = await serve();
      expect(await history()).toEqual(told);
    }
    await ask(service.url, '/v1/update', { method: 'POST' });
    expect(await history()).toHaveLength(2);
  });

  test.each([
    ['in spring, where the clocks skip the hour before it', spring],
    ['in autumn, where the clocks show its hour twice', autumn],
  ])('by a window is updated when that opens %s', async (_, changes) => {
    const before = new Map<string, string>();
    for (const { zone } of changes) before.set(zone, (await stale(nameOf(zone))).Id);
    const services = changes.map(({ zone, opensAt, window }) => {
      const args = ['run', '--interval', '7d', '--update-on-start', '--window', window, '--timezone', zone];
      const env = { NODE_OPTIONS: withClockAt(Date.parse(opensAt) - 25_000) };
      return startUpkeep([...args, '--health-window', '1s', '--log-level', 'debug', nameOf(zone)], {
        socket: engine.socket,
        env,
      });
    });
    started.push(...services);
    await Promise.all(
      services.map((service, each) =>
        service.seen(`Its window opens at ${changes[each]?.opensAt.replace(':00Z', 'Z')}`),
      ),
    );
    for (const { zone } of changes) expect((await inspect(nameOf(zone))).Id).toBe(before.get(zone));
    for (const { zone } of changes) {
      const isUpdated = async () => expect((await inspect(nameOf(zone))).Id).not.toBe(before.get(zone));
      await vi.waitFor(isUpdated, { timeout: 60_000, interval: 200 });
    }
  });

  async function serve() {
    const args = ['run', '--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0'];
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', `${apiToken}-events`];
    const process = startUpkeep([...args, ...tokens, '--state-dir', folder, '--health-window', '1s'], {
      socket: engine.socket,
    });
    started.push(process);
    await process.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(process.output()) ?? [];
    return { process, url };
  }
});

/** A day that is neither today nor tomorrow, in any time zone. */
function dayInTwo(): string {
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  return days[(new Date().getUTCDay() + 3) % 7] ?? 'Sun';
}

/** A container of its own for each zone. */
function nameOf(zone: string): string {
  return zone.toLowerCase().replace(/[^a-z]/g, '-');
}
