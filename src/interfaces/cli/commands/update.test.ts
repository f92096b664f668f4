import { describe, expect, test } from 'vitest';
import { digestOf, idOf, inspectedContainer } from '../../../../test/support/scene/builders.ts';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import {
  checkedContainer,
  checkReport,
  containerOutcome,
  type FakeAnswers,
  session,
} from '../../../../test/support/scene/fake-application.ts';
import type { FakeTerminalOptions } from '../../../../test/support/scene/fake-terminal.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import type { ContainerOutcome } from '../../../domain/run/session.ts';
import type { PlannedMember } from '../../../domain/plan/update-plan.ts';
import { runReportingFailures } from '../cli.ts';
import { update } from './update.ts';

const updated = containerOutcome('web', { image: 'nginx:1.27', outcome: 'updated', downtimeMs: 215.4 });
const rolledBack = containerOutcome('api', {
  outcome: 'rolled_back',
  reason: 'the new version exited with code 3',
  log: 'starting\n\u001b[31mboom\u001b[0m\n',
});
const fresh = containerOutcome('db');
const unknown = containerOutcome('ghost', { outcome: 'unknown', reason: 'no answer' });

/** A request without any option. */
const plainRequest = {
  images: [],
  engines: [],
  forgiving: true,
  retryFailed: false,
  ignoreWindows: false,
  ignoreWaves: false,
};

describe('update()', () => {
  test('repairs what was interrupted before it begins', async () => {
    const { application, logged } = await run(['update'], {
      update: () => session([fresh]),
      recover: () => ({
        transactions: [
          { containers: ['vpn', 'torrent'], result: 'undone', reason: 'the new version was not healthy' },
          { containers: ['x'], result: 'left', reason: 'another instance works on it' },
        ],
      }),
    });
    expect(application.asked).toEqual([
      ['recover', undefined],
      ['update', { ...plainRequest, containers: [], refuseUnmatched: false, trigger: 'command' }],
    ]);
    expect(logged.map(([level, message]) => [level, message])).toEqual([
      ['info', 'Undid an interrupted update of vpn, torrent: the new version was not healthy'],
      ['warn', 'Left alone an interrupted update of x: another instance works on it'],
    ]);
  });

  test.each<[readonly ContainerOutcome[], number]>([
    [[updated, fresh], 0],
    [[updated, rolledBack], 1],
    [[containerOutcome('x', { outcome: 'failed', reason: 'y' })], 1],
    [[updated, unknown, fresh], 3],
    [[unknown, rolledBack], 1],
    [[containerOutcome('x', { outcome: 'failed', reason: 'y' }), unknown], 1],
    [[containerOutcome('x', { outcome: 'skipped', reason: 'y' })], 0],
    [[], 0],
  ])(
    'ends with 1 when a container failed or was rolled back, else with 3 when one could not be checked: %#',
    async (containers, expected) => {
      expect((await run(['update'], { update: () => session(containers) })).code).toBe(expected);
    },
  );

  test('prints in a pipe what happens as lines, then the table, last words and counts', async () => {
    const { fake } = await run(['update'], {
      update: (application) => {
        const [runId, container] = ['1', 'web'];
        const checked = { kind: 'container_checked', runId, image: 'nginx:1.27', reason: 'Newer' } as const;
        application.publish({ ...checked, container, status: 'stale' });
        application.publish({ ...checked, container: 'db', status: 'fresh' });
        application.publish({
          kind: 'update_started',
          runId,
          container,
          image: 'nginx:1.27',
          from: 'x',
          to: digestOf('new'),
          atMs: 0,
        });
        application.publish({ kind: 'phase_entered', runId, container, phase: 'pulling' });
        application.publish({ kind: 'update_completed', runId, outcome: updated, atMs: 0 });
        return session([updated, rolledBack, fresh]);
      },
    });
    expect(fake.out().split('\n')).toEqual([
      'web: update ready: Newer',
      `web: updating nginx:1.27 to ${idOf('new').slice(0, 12)}`,
      'web: pulling',
      'web: updated (down for 215ms)',
      'CONTAINER  STATUS                      IMAGE       WHY',
      'api        failed and was rolled back  api:1       the new version exited with code 3',
      'web        updated                     nginx:1.27  down for 215ms',
      'db         up to date                  db:1',
      '',
      'The last log lines of the new api:',
      '  | starting',
      String.raw`  | \x1b[31mboom\x1b[0m`,
      '',
      '3 containers: 1 failed and was rolled back, 1 updated, 1 up to date in 12.3s',
      '',
    ]);
  });

  test('with --json prints one document, and what happens goes to the log', async () => {
    const { fake, logged } = await run(['update', '--json'], {
      update: (application) => {
        application.publish({ kind: 'update_failed', runId: '1', outcome: rolledBack, atMs: 0 });
        return session([updated, rolledBack]);
      },
    });
    const document = JSON.parse(fake.out()) as Record<string, unknown>;
    expect(document).toMatchObject({
      run_id: 'run-1',
      summary: { scanned: 2, updated: 1, failed: 1, restarted: 0, skipped: 0 },
      timing: { duration_ms: 12_345, duration: '12.345s' },
      containers: [
        { name: 'web', outcome: 'updated', old_image_id: updated.oldImageId, downtime_ms: 215 },
        { name: 'api', outcome: 'rolled_back', reason: rolledBack.reason, log: rolledBack.log },
      ],
    });
    expect(logged.map(([level, message]) => [level, message])).toEqual([
      ['error', 'api: failed and was rolled back: the new version exited with code 3'],
    ]);
  });

  test('a request that names something unknown updates nothing', async () => {
    const refusal = new ServiceError('not-found', 'Cannot update "wbe": there is no such container');
    const { application, code, fake } = await run(['update', 'web', 'wbe'], { update: () => Promise.reject(refusal) });
    expect(code).toBe(1);
    expect(application.asked.map(([what]) => what)).toEqual(['recover', 'update']);
    expect(application.asked[1]?.[1]).toMatchObject({ containers: ['web', 'wbe'], refuseUnmatched: true });
    expect(fake.err()).toContain('upkeep: Cannot update "wbe": there is no such container\n');
  });

  test('says what, why and what to do when the run as a whole fails; for machines as a document', async () => {
    const failure = new ServiceError('engine-unreachable', 'Cannot reach the engine: no such socket', {
      remedy: 'Start it',
    });
    const answers: FakeAnswers = { update: () => Promise.reject(failure) };
    const people = await run(['update'], answers);
    expect(people.code).toBe(1);
    expect(people.fake.err()).toBe('upkeep: Cannot reach the engine: no such socket\n  Start it\n');
    expect(people.fake.out()).toBe('');
    const machines = await run(['update', '--json'], answers);
    expect(JSON.parse(machines.fake.out())).toMatchObject({
      error: failure.message,
      code: 'engine-unreachable',
      remedy: 'Start it',
    });
  });

  test('of a bug people see no stack, the debug log does', async () => {
    const { code, fake, logged } = await run(['update'], {
      update: () => Promise.reject(new TypeError('x is not a function')),
    });
    expect(code).toBe(1);
    expect(fake.err()).toMatch(
      /^upkeep: internal error: x is not a function\n {2}This is a bug in Upkeep.*--log-level debug/,
    );
    expect(fake.err()).not.toContain('.ts');
    expect(logged).toEqual([
      ['debug', expect.any(String), expect.objectContaining({ stack: expect.stringContaining('.ts:') })],
    ]);
  });

  test('ends the live table also when the update fails', async () => {
    const failure = new ServiceError('busy', 'Cannot update: another update is running');
    const { application, clock, fake } = await run(
      ['update'],
      { update: () => Promise.reject(failure) },
      { isTerminal: true },
    );
    expect([application.listeners(), clock.sleepers()]).toEqual([0, 0]);
    expect(fake.screen()).toEqual(['upkeep: Cannot update: another update is running', '']);
  });

  test.each([[['update']], [['update', '--dry-run']], [['update', 'web']]])(
    '%j lets nothing from outside write to the terminal by itself',
    async (argv) => {
      const evil = 'x\u001b[2J\u009b\r\u0007';
      const outcome = containerOutcome(evil, { outcome: 'failed', reason: evil, image: evil, log: evil });
      const container = { ...inspectedContainer(evil), name: evil };
      const stale = {
        container,
        cause: 'stale',
        reference: evil,
        digest: undefined,
        hardDependencies: [],
        desiredEndState: 'running',
        waitsFor: [],
      } as const;
      const transactions = [{ id: container.id, members: [stale], after: [], requires: [] }];
      const { fake } = await run(argv, {
        plan: () => ({
          report: checkReport([]),
          plan: { transactions, refused: [{ id: '', name: evil, reason: evil }], restarts: [] },
        }),
        check: () => Promise.reject(new ServiceError('engine-refused', `Cannot: ${evil}`, { remedy: evil })),
        update: (application) => {
          application.publish({ kind: 'update_failed', runId: '1', outcome, atMs: 0 });
          return session([outcome]);
        },
      });
      expect(fake.out() + fake.err()).toContain(String.raw`x\x1b[2J\x9b\r\x07`);
      // oxlint-disable-next-line no-control-regex -- looking for them is the point
      expect(fake.out() + fake.err()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    },
  );

  test('shows no more rows than the terminal has, the busy ones first', async () => {
    let screen: readonly string[] = [];
    const names = Array.from({ length: 200 }, (_, index) => `c${index}`);
    const scene = createCommandScene(
      ['update'],
      {
        update: async (application) => {
          application.publish({ kind: 'containers_selected', runId: '1', names });
          application.publish({ kind: 'phase_entered', runId: '1', container: 'c150', phase: 'stopping' });
          await scene.clock.advance(200);
          screen = scene.fake.screen();
          return session([]);
        },
      },
      { isTerminal: true, columns: 60, rows: 10 },
    );
    await update(scene.context);
    expect(screen).toHaveLength(10);
    expect(screen.slice(-3)).toEqual([expect.stringMatching(/^c150 +stopping/), 'and 193 more', '']);
  });
});

describe('update() with --dry-run', () => {
  const [vpn, torrent, web] = ['vpn', 'torrent', 'web'].map((name) => inspectedContainer(name));
  const member = (container: typeof vpn, parts: Partial<PlannedMember>): PlannedMember => ({
    container: container!,
    cause: 'stale',
    reference: `${container!.name}:1`,
    digest: digestOf(container!.name),
    hardDependencies: [],
    desiredEndState: 'running',
    waitsFor: [],
    ...parts,
  });
  const item = (...paths: readonly string[]) => ({ paths, title: '', source: '', mount: {} });
  const data = { items: [item('/b', '/c'), item('/a')], left: [{ path: '/m', reason: 'memory' }] };
  const answers: FakeAnswers = {
    plan: () => ({
      report: checkReport([checkedContainer('vpn', { reason: 'A newer image is available', status: 'stale' })]),
      plan: {
        transactions: [
          {
            id: vpn!.id,
            members: [
              member(vpn, {}),
              member(torrent, { cause: 'linked', digest: undefined, hardDependencies: [vpn!.id] }),
            ],
            after: [],
            requires: [],
          },
          { id: web!.id, members: [member(web, { data })], after: [vpn!.id], requires: [] },
        ],
        refused: [{ id: 'x', name: 'db', reason: 'it is removed by the engine when it stops (--rm)' }],
        restarts: [{ container: inspectedContainer('proxy'), because: [web!] }],
      },
    }),
  };

  test('prints what would happen, in order, why, and what would be left alone; and does none of it', async () => {
    const { application, code, fake } = await run(['update', '--dry-run'], answers);
    expect(code).toBe(0);
    expect(application.asked.map(([what]) => what)).toEqual(['plan']);
    expect(fake.out().split('\n')).toEqual([
      'An update would replace 2 groups of containers',
      '',
      '1. together or not at all:',
      `   vpn: vpn:1 to ${idOf('vpn').slice(0, 12)}`,
      '   torrent: recreated from the same image, because it depends on vpn',
      '',
      '2. (after 1, if that succeeds)',
      `   web: web:1 to ${idOf('web').slice(0, 12)}`,
      '      data: /a /b /c; not saved: /m (memory)',
      '',
      'Then these would restart (depends_on with restart: true)',
      '  proxy: after web',
      '',
      'It would leave alone',
      '  db: it is removed by the engine when it stops (--rm)',
      '',
      'Nothing was changed',
      'The size of the data is measured with --verify',
      '',
    ]);
  });

  test('names what is held back, and the way to release it', async () => {
    const reason = 'Waits for your approval; release it with upkeep approve web';
    const report = checkReport([checkedContainer('web', { status: 'held', reason })]);
    const plan = { transactions: [], refused: [], restarts: [] };
    const dry = await run(['update', '--dry-run'], { plan: () => ({ report, plan }) });
    expect(dry.code).toBe(0);
    expect(dry.fake.out()).toBe(
      `Nothing would be updated\n\nThese are held back\n  web: ${reason}\n\nNothing was changed\n`,
    );
  });

  test('says what could not be checked, with 3; what would fail goes before that', async () => {
    const report = checkReport([checkedContainer('ghost', { status: 'unknown', reason: 'The registry is away' })]);
    const plan = { transactions: [], refused: [], restarts: [] };
    const dry = await run(['update', '--dry-run'], { plan: () => ({ report, plan }) });
    expect(dry.code).toBe(3);
    expect(dry.fake.out()).toContain('These could not be checked\n  ghost: The registry is away\n');
    for (const [faithful, code] of [
      [true, 3],
      [false, 1],
    ] as const) {
      const rehearsals = [{ containers: ['web'], faithful, reason: '' }];
      expect((await run(['update', '--verify'], { plan: () => ({ report, plan }), rehearsals })).code).toBe(code);
    }
  });

  test('with --verify says of each group what creating it aside has shown', async () => {
    const figures = { bytes: 412_000_000, files: 5016, freeBytes: 1e12, freeInodes: undefined, canClone: false };
    const rehearsals = [
      { containers: ['vpn', 'torrent'], faithful: true, reason: '', figures },
      { containers: ['web'], faithful: false, reason: 'HostConfig.Memory would be 0 instead of \u001b[2J64' },
    ];
    const { application, code, fake } = await run(['update', '--dry-run', '--verify', 'web'], {
      ...answers,
      rehearsals,
    });
    expect(code).toBe(1);
    expect(application.asked).toEqual([
      ['recover', undefined],
      ['rehearse', { ...plainRequest, containers: ['web'] }],
    ]);
    expect(fake.out().split('\n').slice(-5)).toEqual([
      'Nothing was changed',
      '',
      'verified  vpn, torrent: a trial container differed only in its image, and was removed; data: 412 MB, 5,016 files, about 5.6s more downtime',
      String.raw`refused   web: HostConfig.Memory would be 0 instead of \x1b[2J64`,
      '',
    ]);
    const document = await run(['update', '--verify', '--json'], { ...answers, rehearsals: rehearsals.slice(0, 1) });
    expect(document.code).toBe(0);
    expect(JSON.parse(document.fake.out())).toMatchObject({ dry_run: true, verified: [{ faithful: true }] });
  });

  test('is a document with --json', async () => {
    const { fake } = await run(['update', '--dry-run', '--json'], answers);
    expect(JSON.parse(fake.out())).toMatchObject({
      dry_run: true,
      transactions: [
        {
          number: 1,
          after: [],
          members: [
            { name: 'vpn', cause: 'stale' },
            { name: 'torrent', cause: 'linked', latest_digest: '' },
          ],
        },
        { number: 2, after: [1] },
      ],
      refused: [{ name: 'db' }],
      restarts: [{ name: 'proxy', after: ['web'] }],
      count: 1,
    });
  });
});

async function run(argv: readonly string[], answers: FakeAnswers, options: FakeTerminalOptions = {}) {
  const scene = createCommandScene(argv, answers, options);
  return { code: await runReportingFailures(update, scene.context), ...scene };
}
