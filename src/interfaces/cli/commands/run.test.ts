import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { containerOutcome, session } from '../../../../test/support/scene/fake-application.ts';
import { watchedContainer } from '../../../../test/support/http/scripted-service.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { run } from './run.ts';

const everything = { images: [], containers: [] };

describe('run()', () => {
  test('with --run-once repairs, updates once and ends with the outcome', async () => {
    const failed = containerOutcome('web', { outcome: 'rolled_back', reason: 'x' });
    const scene = createCommandScene(['run', '--run-once'], { update: () => session([failed]) });
    expect(await run(scene.context)).toBe(1);
    expect(scene.application.asked).toEqual([
      ['recover', undefined],
      ['update', { ...everything, trigger: 'start' }],
    ]);
    expect(scene.fake.out()).toBe('');
    expect(scene.application.listeners()).toBe(0);
  });

  test.each([[[]], [['--porcelain', 'v1']], [['--porcelain', 'json']]])(
    'with --run-once %j ends with 3 when something could not be checked, unless something failed',
    async (argv) => {
      const unknown = containerOutcome('ghost', { outcome: 'unknown', reason: 'no answer' });
      const failed = containerOutcome('web', { outcome: 'failed', reason: 'x' });
      const codeAfter = (containers: readonly (typeof unknown)[]) =>
        run(createCommandScene(['run', '--run-once', ...argv], { update: () => session(containers) }).context);
      expect(await codeAfter([containerOutcome('db'), unknown])).toBe(3);
      expect(await codeAfter([unknown, failed])).toBe(1);
      expect(await codeAfter([containerOutcome('db')])).toBe(0);
    },
  );

  test.each([
    [['--notification-url', 'home=homeassistant+mqtt://broker'], ['check']],
    [['--notification-url', 'homeassistant+mqtts://broker', '--no-start-check'], []],
    [['--notification-url', 'logger://'], []],
    [[], []],
  ])('at the start with %j checks what is shown somewhere: %j', async (argv, asked) => {
    const scene = createCommandScene(['run', '--interval', '1h', ...argv]);
    const { application } = scene.context;
    const shown = { ...watchedContainer('web'), checkedAtMs: undefined };
    const inventory = () => ({ ...application.inventory(), containers: [shown] });
    const code = run({ ...scene.context, application: { ...application, inventory } });
    await scene.clock.advance(5000);
    scene.interrupt.abort();
    await code;
    expect(scene.application.asked.map(([what]) => what).filter((what) => what === 'check')).toEqual(asked);
  });

  test('updates every interval, from begin to begin, and ends with 0 when asked to stop', async () => {
    const times: number[] = [];
    const scene = createCommandScene(['run', '--interval', '1h'], {
      update: async () => {
        times.push(scene.clock.monotonicMs());
        await scene.clock.sleep(60_000);
        return session([]);
      },
    });
    const code = run(scene.context);
    await scene.clock.advance(3 * 3_600_000 + 120_000);
    scene.interrupt.abort();
    expect(await code).toBe(0);
    expect(times).toEqual([3_600_000, 7_200_000, 10_800_000]);
    expect(scene.clock.sleepers()).toBe(0);
    expect(scene.logged.find(([, message]) => message === 'Next update in 59m')).toBeDefined();
  });

  test('with --update-on-start does not wait for the first interval', async () => {
    const scene = createCommandScene(['run', '--update-on-start']);
    const code = run(scene.context);
    await scene.clock.advance(0);
    scene.interrupt.abort();
    await code;
    expect(scene.application.asked).toEqual([
      ['recover', undefined],
      ['update', { ...everything, trigger: 'start' }],
    ]);
  });

  test('an update that fails as a whole does not end the service', async () => {
    const failure = new ServiceError('engine-unreachable', 'Cannot reach the engine: gone');
    const scene = createCommandScene(['run', '--interval', '1h'], { update: () => Promise.reject(failure) });
    const code = run(scene.context);
    await scene.clock.advance(2 * 3_600_000);
    expect(scene.application.asked).toHaveLength(3);
    scene.interrupt.abort();
    expect(await code).toBe(0);
  });

  test('with --run-once an engine that is away ends it, with the reason', async () => {
    const scene = createCommandScene(['run', '--run-once'], { recover: engineAway });
    await expect(run(scene.context)).rejects.toThrow('gone');
  });

  test.each(['engine-unreachable', 'engine-denied', 'engine-refused', 'timeout'] as const)(
    'waits for an engine that cannot list its containers (%s), without the API too',
    async (code) => {
      let attempts = 0;
      const scene = createCommandScene(['run', '--update-on-start'], {
        recover: () => {
          attempts += 1;
          if (attempts < 4) throw new ServiceError(code, `Cannot list containers: reason ${Math.max(attempts, 2)}`);
          return { transactions: [] };
        },
      });
      const ended = run(scene.context);
      await scene.clock.advance(7000);
      expect(scene.application.asked.at(-1)?.[0]).toBe('update');
      const said = scene.logged.filter(([, message]) => message.startsWith('Waiting for the container engine'));
      expect(said).toEqual([
        ['warn', 'Waiting for the container engine', { error: 'Cannot list containers: reason 2' }],
        ['warn', 'Waiting for the container engine', { error: 'Cannot list containers: reason 3' }],
      ]);
      scene.interrupt.abort();
      expect(await ended).toBe(0);
    },
  );

  test('what is wrong here and not with the engine ends it', async () => {
    const scene = createCommandScene(['run'], {
      recover: () => {
        throw new Error('a bug');
      },
    });
    await expect(run(scene.context)).rejects.toThrow('a bug');
  });

  test('with the API it waits for an engine that is away, then repairs and goes on', async () => {
    let attempts = 0;
    const scene = createCommandScene(['run', '--http-api-endpoints', 'health', '--update-on-start'], {
      recover: () => ((attempts += 1) < 4 ? engineAway() : { transactions: [] }),
    });
    const code = run({ ...scene.context, serve: () => Promise.resolve(servedApi) });
    await scene.clock.advance(3000);
    expect(scene.application.asked.map(([what]) => what)).toEqual(['recover', 'recover']);
    await scene.clock.advance(3000);
    expect(scene.application.asked.map(([what]) => what).slice(2)).toEqual(['recover', 'recover', 'update']);
    expect(scene.logged.filter(([, message]) => message.startsWith('Waiting for the container engine'))).toHaveLength(
      1,
    );
    scene.interrupt.abort();
    expect(await code).toBe(0);
  });

  test.each([
    ['finished', 0, 'Finished the update of upkeep'],
    ['undone', 0, 'Undid the update of upkeep: boom'],
    ['failed', 1, 'Cannot repair the update of upkeep: boom'],
  ] as const)('as a helper it brings one update to its end (%s), and exits with %d', async (result, code, told) => {
    const scene = createCommandScene(['run'], {
      recover: () => ({
        transactions: [{ containers: ['upkeep'], result, reason: result === 'finished' ? '' : 'boom' }],
      }),
    });
    const settings = {
      ...scene.context.settings,
      run: { ...scene.context.settings.run, finishUpdate: { transaction: 'one' } },
    };
    const serve = () => Promise.reject(new Error('a helper serves nothing'));
    expect(await run({ ...scene.context, settings, serve })).toBe(code);
    expect(scene.application.asked).toEqual([['finishUpdate', 'one']]);
    expect(scene.logged.map(([, message]) => message)).toContain(told);
  });

  test('asked to stop while it waits for the engine, it ends with 0, and tells of no start', async () => {
    const scene = createCommandScene(['run', '--http-api-endpoints', 'health'], { recover: engineAway });
    const announced: unknown[] = [];
    const announceStart = (start: unknown) => Promise.resolve(void announced.push(start));
    const code = run({ ...scene.context, serve: () => Promise.resolve(servedApi), announceStart });
    await scene.clock.advance(500);
    scene.interrupt.abort();
    await scene.clock.advance(0);
    expect(await code).toBe(0);
    expect(announced).toEqual([]);
    expect(scene.logged.map(([, message]) => message)).toEqual([expect.stringMatching(/^Waiting for the container/)]);
    expect(scene.clock.sleepers()).toBe(0);
  });

  test('asked to stop while it reads the version of the engine, it ends with 0, and tells of no start', async () => {
    const scene = createCommandScene(['run']);
    const announced: unknown[] = [];
    const announceStart = (start: unknown) => Promise.resolve(void announced.push(start));
    const engine = () => {
      scene.interrupt.abort();
      return Promise.reject(new ServiceError('cancelled', 'Cannot inspect the engine: stopped'));
    };
    expect(await run({ ...scene.context, about: { version: '1', engine }, announceStart })).toBe(0);
    expect(announced).toEqual([]);
    expect(scene.logged.filter(([level]) => level !== 'debug')).toEqual([]);
  });

  test('says what is scheduled: an interval, a calendar', async () => {
    expect(await firstWords([])).toEqual(['Updates every 1d', 'Next update in 1d']);
    expect(await firstWords(['--schedule', 'TZ=UTC 0 4 * * *'])).toEqual([
      'Updates every day at 04:00 (UTC)',
      'Next update in 4h',
    ]);
  });

  test('says that the API stands for the schedule, unless told that both count; an update at the start counts anyway', async () => {
    const api = ['--http-api-endpoints', 'health'];
    expect(await firstWords(api)).toEqual([
      'No periodic updates, because the HTTP API is on: --http-api-periodic-polls enables them',
    ]);
    expect(await firstWords([...api, '--http-api-periodic-polls'])).toEqual([
      'Updates every 1d, and on request over the API',
      'Next update in 1d',
    ]);
    const scene = createCommandScene(['run', ...api, '--update-on-start']);
    const code = run({ ...scene.context, serve: () => Promise.resolve(servedApi) });
    await scene.clock.advance(1_000_000_000);
    scene.interrupt.abort();
    await code;
    expect(scene.application.asked.map(([what]) => what)).toEqual(['recover', 'update']);
  });

  test.each([
    [['--schedule', '@daily'], {}, '--schedule'],
    [['-i', '6h'], {}, '-i'],
    [[], { WATCHTOWER_POLL_INTERVAL: '3600' }, 'WATCHTOWER_POLL_INTERVAL'],
    [[], { UPKEEP_SCHEDULE: '0 4 * * *' }, 'UPKEEP_SCHEDULE'],
  ])('a schedule that was asked for (%j %j) and does not count is a warning', async (argv, environment, source) => {
    const api = ['--http-api-endpoints', 'health'];
    const [first] = await firstLines([...api, ...argv], environment);
    expect(first).toEqual([
      'warn',
      `${source} has no effect. No periodic updates, because the HTTP API is on: --http-api-periodic-polls enables them`,
    ]);
    const [level, words] = (await firstLines([...api, '--http-api-periodic-polls', ...argv], environment))[0] ?? [];
    expect([level, words]).toEqual(['info', expect.stringMatching(/^Updates /)]);
    expect((await firstLines(argv, environment))[0]?.[0]).toBe('info');
    expect((await firstLines([...api], {}))[0]?.[0]).toBe('info');
  });

  describe('a name that means no container', () => {
    const containers = ['nginx', 'api-1', 'db'];
    const scene = (argv: readonly string[], isTerminal = false) =>
      createCommandScene(argv, { containerNames: () => containers, update: () => session([]) }, { isTerminal });

    test.each([
      [['run', 'nginxx'], false],
      [['run', 'nginxx'], true],
    ])('%j (on a terminal: %s) is a warning that names the nearest container and the commands', async (argv, tty) => {
      const { context, clock, interrupt, logged, application } = scene(argv, tty);
      const code = run(context);
      await clock.advance(0);
      interrupt.abort();
      expect(await code).toBe(0);
      const warnings = logged.filter(([level]) => level === 'warn').map(([, message]) => message);
      expect(warnings).toEqual([
        expect.stringMatching(
          /^No container matches "nginxx".* nearest container is "nginx", and the commands are run, /,
        ),
      ]);
      expect(application.asked.map(([what]) => what)).toEqual(['recover', 'containerNames']);
    });

    test.each([
      ['logs', 'the nearest command is "events"'],
      ['documentation', 'the commands are run, check, update'],
      ['rn', 'the nearest command is "run"'],
      ['logs', 'the nearest command is "events"', false],
      ['prune', 'the nearest container is', false],
      ['stop', 'the nearest container is', false],
    ])('%s is refused before anything is done: %s', async (word, nearby, isTerminal = true) => {
      const { context, fake, application } = scene(['run', word], isTerminal);
      const settings = { ...context.settings, run: { ...context.settings.run, isNamed: false } };
      const serve = () => Promise.reject(new Error('nothing is served'));
      expect(await run({ ...context, settings, serve })).toBe(2);
      expect(fake.err()).toContain(
        `Cannot run "${word}": it is neither a command nor a container; the nearest container is`,
      );
      expect(fake.err().replaceAll('\n', ' ')).toContain(nearby);
      expect(fake.err()).toContain(`write "upkeep run ${word}"`);
      expect(application.asked).toEqual([['containerNames', undefined]]);
    });

    test.each([['nginx'], ['api-.*'], ['nginx|web']])('%s is none, on a terminal neither', async (name) => {
      const { context, clock, interrupt, logged } = scene([name], true);
      const code = run(context);
      await clock.advance(0);
      interrupt.abort();
      expect(await code).toBe(0);
      expect(logged.filter(([level]) => level === 'warn')).toEqual([]);
    });

    test('ends --run-once with 3: it is not well', async () => {
      const { context, logged } = scene(['run', '--run-once', 'nginxx']);
      expect(await run(context)).toBe(3);
      expect(logged[0]?.[1]).toContain('"nginxx": the run goes on without it; ');
      expect(await run(scene(['run', '--run-once', 'nginx']).context)).toBe(0);
    });

    test('is refused if the engine does not come, without a terminal only after a while', async () => {
      const { context, clock } = createCommandScene(['run', 'nginx'], { containerNames: engineAway });
      const settings = { ...context.settings, run: { ...context.settings.run, isNamed: false } };
      const failure = run({ ...context, settings }).catch((error: unknown) => error);
      await clock.advance(19_000);
      expect(await Promise.race([failure, Promise.resolve('it waits')])).toBe('it waits');
      await clock.advance(4000);
      expect(String(await failure)).toContain('Cannot check whether a container matches "nginx"');
    });

    test('is waited for without a terminal until it is stopped, or if it is called with run', async () => {
      const argv = ['nginx'];
      for (const [args, containerNames] of [
        [argv, engineAway],
        [['run', 'nginxx'], undefined],
      ] as const) {
        const answers = containerNames === undefined ? {} : { containerNames };
        const { context, clock, interrupt } = createCommandScene([...args], answers, { isTerminal: false });
        const code = run(context);
        await clock.advance(0);
        interrupt.abort();
        expect(await code).toBe(0);
      }
    });

    test.each([
      ['logs', true, '; the nearest command is "events"'],
      ['logs', false, '; the nearest command is "events"'],
      ['chekc', false, '; the nearest command is "check"'],
      ['nginx', true, ': Cannot reach the engine'],
    ])(
      '%s with an engine that is away (on a terminal: %s) is told with the command',
      async (name, isTerminal, near) => {
        const { context } = createCommandScene(['run', name], { containerNames: engineAway }, { isTerminal });
        const settings = { ...context.settings, run: { ...context.settings.run, isNamed: false } };
        await expect(run({ ...context, settings })).rejects.toThrow(
          `Cannot check whether a container matches "${name}", which is not a command${near}`,
        );
      },
    );
  });

  test('asked to stop in the middle of an update, it lets the update end it', async () => {
    const scene = createCommandScene(['run', '--update-on-start'], {
      update: async (_application, signal) => {
        await scene.clock.sleep(10_000);
        expect(signal?.aborted).toBe(true);
        return session([]);
      },
    });
    const code = run(scene.context);
    await scene.clock.advance(1000);
    scene.interrupt.abort();
    await scene.clock.advance(9000);
    expect(await code).toBe(0);
  });

  test('with --health-check only asks the engine', async () => {
    const scene = createCommandScene(['run', '--health-check']);
    expect(await run(scene.context)).toBe(0);
    const unreachable = () => Promise.reject(new ServiceError('engine-unreachable', 'Cannot reach the engine: gone'));
    const application = { ...scene.context.application, ready: unreachable };
    await expect(run({ ...scene.context, application })).rejects.toThrow('Cannot reach the engine: gone');
    expect(scene.application.asked).toEqual([]);
  });

  test.each([
    [[], 'warn'],
    [['--warn-on-head-failure', 'always'], 'warn'],
    [['--warn-on-head-failure', 'never'], 'info'],
  ])('with %j a container that could not be checked is a line of level %s', async (argv, level) => {
    const scene = createCommandScene(['run', '--run-once', ...argv], {
      update: (application) => {
        const about = { runId: '1', container: 'web', image: 'web:1', status: 'unknown', reason: 'No answer' } as const;
        application.publish({ kind: 'container_checked', ...about });
        application.publish({ kind: 'scan_skipped', trigger: 'schedule', reason: 'busy', atMs: 0 });
        return session([]);
      },
    });
    await run(scene.context);
    expect(scene.logged.map(([at]) => at)).toEqual([level, 'warn']);
  });

  test.each([
    ['none', ''],
    ['v1', 'web (web:1): Updated\n'],
    ['json', expect.stringContaining('"state": "Updated"')],
  ])('with --porcelain %s prints %j', async (porcelain, printed) => {
    const scene = createCommandScene(['run', '--run-once', '--porcelain', porcelain], {
      update: (application) => {
        const ended = session([containerOutcome('web', { outcome: 'updated' })]);
        const counts = { scanned: 1, updated: 1, failed: 0, restarted: 0, skipped: 0 };
        const scan = { kind: 'scan_completed', runId: '1', purpose: 'update', ...counts, atMs: 0 } as const;
        application.publish({ ...scan, session: ended });
        application.publish({ ...scan, purpose: 'check', session: undefined });
        return ended;
      },
    });
    await run(scene.context);
    expect(scene.fake.out()).toEqual(printed);
  });

  test('what happens is in the log', async () => {
    const scene = createCommandScene(['run', '--run-once'], {
      update: (application) => {
        application.publish({ kind: 'scan_started', runId: '1', purpose: 'update', trigger: 'start', atMs: 0 });
        const counts = { scanned: 3, updated: 1, failed: 1, restarted: 0, skipped: 1 };
        application.publish({
          kind: 'scan_completed',
          runId: '1',
          purpose: 'update',
          ...counts,
          session: undefined,
          atMs: 0,
        });
        application.publish({
          kind: 'scan_skipped',
          trigger: 'schedule',
          reason: 'another update is running',
          atMs: 0,
        });
        return session([]);
      },
    });
    await run(scene.context);
    expect(scene.logged).toEqual([
      ['info', 'Checking for updates', { event: 'scan_started', runId: '1', purpose: 'update', trigger: 'start' }],
      ['warn', '3 containers checked, 1 updated, 1 failed', expect.objectContaining({ scanned: 3, skipped: 1 })],
      [
        'warn',
        'another update is running',
        { event: 'scan_skipped', trigger: 'schedule', reason: 'another update is running' },
      ],
    ]);
  });
});

function engineAway(): never {
  throw new ServiceError('engine-unreachable', 'Cannot reach the engine: gone');
}

const servedApi = { address: 'http://127.0.0.1:8080', tokens: { api: '', events: '' }, stop: () => Promise.resolve() };

/** Log messages after the service's start. */
async function firstWords(argv: readonly string[]): Promise<readonly string[]> {
  return (await firstLines(argv)).map(([, message]) => message);
}

async function firstLines(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const scene = createCommandScene(['run', ...argv], {}, { environment });
  const serve = () => Promise.resolve(servedApi);
  const servesApi = scene.context.settings.http.groups.length > 0;
  const code = run({ ...scene.context, ...(servesApi && { serve }) });
  await scene.clock.advance(0);
  scene.interrupt.abort();
  await code;
  return scene.logged.map(([level, message]) => [level, message] as const);
}
