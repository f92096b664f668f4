import { createNotify, type NotifySetup } from './notify.ts';
import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { createTestTarget } from '../../../../test/support/notify/notify-scene.ts';
import { messageOf } from '../../../../test/support/notify/outbox-arbitrary.ts';
import type { SendOutcome } from '../../../domain/notification/message.ts';
import type { Composer } from '../../../domain/notification/run-facts.ts';
import { runReportingFailures } from '../cli.ts';

const composer: Composer = {
  start: ({ version }) => ({ title: 'T', text: `Upkeep ${version}`, level: 'info', lines: [] }),
  run: ({ news }) =>
    news.size === 0 ? undefined : { title: '', text: `\u001b[31m${[...news].join(' ')}`, level: 'info', lines: [] },
  repairs: () => undefined,
};

const gone: SendOutcome = { kind: 'failed', failure: 'gone', reason: 'Unknown Webhook' };

async function notify(argv: readonly string[], setup: Partial<NotifySetup> = {}, environment = {}) {
  const { context, fake } = createCommandScene(['notify', ...argv], {}, { environment });
  const targets = [createTestTarget('ops'), createTestTarget('mail', () => gone)];
  const command = createNotify(async () => ({
    targets,
    homeAssistants: [],
    problems: [],
    warnings: [],
    composer,
    templateFailures: [],
    outbox: async () => [],
    newId: () => 'id',
    version: '1.2.3',
    ...setup,
  }));
  return { code: await runReportingFailures(command, context), out: fake.out(), err: fake.err(), targets };
}

describe('upkeep notify', () => {
  test.each([
    [[], 'upkeep: Cannot run "upkeep notify": no action is given; expected one of list, test, preview, upgrade'],
    [
      ['tset'],
      'upkeep: Cannot run "upkeep notify tset": there is no such action; expected one of list, test, preview, upgrade',
    ],
    [['constructor'], 'upkeep: Cannot run "upkeep notify constructor": there is no such action'],
  ])('%j says what it knows', async (argv, message) => {
    const { code, err } = await notify(argv);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test('test sends a message to each target, and says what each answered', async () => {
    const { code, out, targets } = await notify(['test']);
    expect(code).toBe(1);
    expect(out).toBe('ops: sent: ok\nmail: not sent: Unknown Webhook\n');
    expect(targets[0]?.received).toMatchObject([{ text: expect.stringContaining('A test of Upkeep 1.2.3') }]);
  });

  test('test OPS sends to that one alone, and is done', async () => {
    const { code, out } = await notify(['test', 'OPS', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ targets: [{ name: 'ops', service: 'test', sent: true, answer: 'ok' }] });
  });

  test('test refuses a name that is none, and a set-up without targets', async () => {
    const unknown = await notify(['test', 'pager']);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('Cannot notify "pager": there is no such target');
    expect(unknown.err).toContain('The targets are ops, mail');
    const none = await notify(['test'], { targets: [] });
    expect(none.err).toContain('Cannot send a notification: no notification target is configured');
  });

  test('list shows the targets with what waits, and fails where one cannot be used', async () => {
    const waiting = [
      { kind: 'put', target: 'ops', message: messageOf('1'), dueAtMs: 0 },
      { kind: 'retry', target: 'ops', id: '1', attempts: 1, dueAtMs: 0, reason: 'refused' },
    ] as const;
    const { code, out } = await notify(['list'], { outbox: async () => waiting });
    expect(code).toBe(0);
    expect(out).toMatch(
      /^NAME +URL +WAITING +LAST FAILURE\nops +test:\/\/\[redacted\] +1 +refused\nmail +test:\/\/\[redacted\] +0\n$/,
    );
    const faulty = await notify(['list', '--json'], { problems: ['Cannot use notification target 3'] });
    expect(faulty.code).toBe(1);
    expect(JSON.parse(faulty.out)).toMatchObject({ problems: ['Cannot use notification target 3'] });
    expect((await notify(['list'], { targets: [] })).out).toBe('No notification target is configured\n');
  });

  test('preview fails where the template of the user does', async () => {
    expect((await notify(['preview'], { templateFailures: ['line 1, column 1'] })).code).toBe(1);
    expect((await notify(['preview'])).code).toBe(0);
  });

  test('preview shows the messages, safe to print, and where there is none', async () => {
    const { code, out } = await notify(['preview']);
    expect(code).toBe(0);
    expect(out).toBe(
      '--- At the start ---\nT\n\nUpkeep 1.2.3\n--- After an update ---\n\\x1b[31mweb api worker metrics tool\n--- After a run that found nothing new ---\nNothing is sent\n',
    );
    expect(JSON.parse((await notify(['preview', '--json'])).out)).toMatchObject({
      messages: [{ message: { title: 'T' } }, {}, { message: null }],
    });
  });

  test('upgrade prints the URLs alone on standard output', async () => {
    const environment = {
      WATCHTOWER_NOTIFICATIONS: 'gotify',
      WATCHTOWER_NOTIFICATION_GOTIFY_URL: 'https://g.test',
      WATCHTOWER_NOTIFICATION_GOTIFY_TOKEN: 'Atok',
    };
    const { code, out, err } = await notify(['upgrade'], {}, environment);
    expect([code, out]).toEqual([0, 'gotify://g.test/Atok\n']);
    expect(err).toContain('UPKEEP_NOTIFICATION_URL');
    expect((await notify(['upgrade'])).err).toContain('Nothing to convert');
  });
});
