import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { services } from '../../../src/adapters/notify/services/table.ts';
import { readTarget } from '../../../src/adapters/notify/targets.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

/** A target of every service, none of which can be reached. No output may contain a secret. */
describeInLab('secrets of notifications', (lab) => {
  const { engine } = lab;
  const { stale } = effectsScene(lab, 'secrets');
  afterEach(() => engine.clear());

  const urls = services.map(({ example }) => example);
  const secrets = urls.flatMap((url) => {
    const read = readTarget(url);
    return read.kind === 'usable' ? read.read.secrets : [];
  });
  // Words that are secret in one place and public in another, such as a short password in an example.
  const canaries = [...new Set(secrets)].filter((secret) => secret.length >= 8);
  const legacy = {
    UPKEEP_NOTIFICATIONS: 'gotify,email',
    UPKEEP_NOTIFICATION_GOTIFY_URL: 'https://gotify.invalid',
    UPKEEP_NOTIFICATION_GOTIFY_TOKEN: 'canary-gotify-token',
    UPKEEP_NOTIFICATION_EMAIL_FROM: 'a@mail.invalid',
    UPKEEP_NOTIFICATION_EMAIL_TO: 'b@mail.invalid',
    UPKEEP_NOTIFICATION_EMAIL_SERVER: 'mail.invalid',
    UPKEEP_NOTIFICATION_EMAIL_SERVER_USER: 'upkeep',
    UPKEEP_NOTIFICATION_EMAIL_SERVER_PASSWORD: 'canary mail/password',
  };
  const broken = 'discord://canary-broken-token discord://:@/canary-broken-path telegram://canary-broken-bot@telegram';
  const all = [...canaries, 'canary-gotify-token', 'canary mail/password', 'canary-broken'];

  test('are in no log, answer, metric, error, process list or file', async () => {
    expect(canaries.length).toBeGreaterThan(10);
    await stale('web');
    const folder = mkdtempSync(join(lab.dir, 'state-'));
    const env = {
      ...legacy,
      UPKEEP_NOTIFICATION_URL: [...urls, broken].join('\n'),
      UPKEEP_HTTP_API_TOKEN: 'api-token',
    };
    const args = ['--state-dir', folder];
    const api = [
      '--http-api-endpoints',
      'metrics,config,history,containers',
      '--http-api-host',
      '127.0.0.1',
      '--http-api-port',
      '18095',
    ];
    const service = startUpkeep(
      [
        'run',
        '--interval',
        '1h',
        '--update-on-start',
        '--http-api-periodic-polls',
        '--debug',
        '--health-window',
        '1s',
        ...args,
        ...api,
      ],
      { socket: engine.socket, env },
    );
    onTestFinished(() => void service.child.kill('SIGKILL'));
    await service.seen('"event":"scan_completed"');
    await service.seen('Cannot notify gotify');
    await service.seen('Cannot notify smtp');
    const seen: string[] = [readFileSync(`/proc/${service.child.pid}/cmdline`, 'utf8')];
    for (const path of ['status', 'metrics', 'metrics/notifications', 'config', 'history', 'containers/details']) {
      const answer = await fetch(`http://127.0.0.1:18095/v1/${path}`, {
        headers: { Authorization: 'Bearer api-token' },
      });
      seen.push(await answer.text());
      expect(answer.status, path).toBe(200);
    }
    expect(JSON.parse(seen[1] ?? '')).toMatchObject({ notifications: expect.arrayContaining([expect.anything()]) });
    expect(seen[3]).toMatch(/^upkeep_notifications_total\{service="gotify",result="retried"\} [1-9]/m);
    service.child.kill('SIGTERM');
    await service.ended;
    seen.push(service.output(), readFileSync(join(folder, 'outbox.jsonl'), 'utf8'));
    const commands = [
      ['config'],
      ['config', '--json'],
      ...['list', 'test', 'preview'].flatMap((action) => [
        ['notify', action, ...args],
        ['notify', action, '--json', ...args],
      ]),
    ];
    for (const command of commands) {
      const { stdout, stderr } = await runUpkeep(command, { env });
      seen.push(stdout, stderr);
    }
    const found = all.filter((secret) =>
      seen.some((text) => text.includes(secret) || text.includes(encodeURIComponent(secret))),
    );
    expect(found).toEqual([]);
  });
});
