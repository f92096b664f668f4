import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { checkedContainer, checkReport } from '../../../../test/support/scene/fake-application.ts';
import type { FakeTerminalOptions } from '../../../../test/support/scene/fake-terminal.ts';
import type { RunningService } from '../../../domain/run/event.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import { runReportingFailures, readCommands } from '../cli.ts';
import { createNotesCommand } from './notes.ts';
import { createLocalSources, createRemoteSources } from '../context/sources.ts';

type ServiceDocument = Parameters<RunningService['read']>[0];

const url = ['--url', 'http://service:8080'];
const evil = 'x\u001b[2J\u009b\r\u202e';
const closing = { timestamp: '2026-01-01T00:00:00Z', api_version: 'v1' };

describe('containers()', () => {
  const checked = { checked_at: '2026-01-01T00:00:00.000Z', status: 'running', health: 'none' };
  const containers = [
    { name: 'web', image: 'nginx:1.27', ...checked, stale: true, update_available: true, reason: 'Newer' },
    { name: 'db', image: 'postgres:16', ...checked, health: 'healthy', update_available: true, reason: 'Monitored' },
    { name: 'api', image: 'api:1', ...checked, status: 'exited', reason: 'The registry cannot be reached' },
    { name: 'old', image: 'old:1', running: false },
  ];
  const document = { containers, count: 4, ...closing };

  test('prints what is known of each, and calls nothing up to date', async () => {
    const { code, fake } = await look(['containers'], { 'containers/details': document });
    expect(code).toBe(0);
    expect(fake.out().split('\n')).toEqual([
      'CONTAINER  UPDATE           STATE              IMAGE        WHY',
      'web        update ready     running            nginx:1.27   Newer',
      'db         held back        running (healthy)  postgres:16  Monitored',
      'api        no update found  exited             api:1        The registry cannot be reached',
      'old        not checked yet  not running        old:1',
      '',
    ]);
  });

  test('leaves out the columns that say the same everywhere, and says it once', async () => {
    const alike = ['web', 'db', 'api'].map((name) => ({ name, image: `${name}:1`, status: 'running', running: true }));
    const { fake } = await look(['containers'], { 'containers/details': { containers: alike, count: 3, ...closing } });
    expect(fake.out().split('\n')).toEqual([
      'CONTAINER  IMAGE',
      'web        web:1',
      'db         db:1',
      'api        api:1',
      '',
      'All of them: not checked yet, running',
      '',
    ]);
    const one = { containers: alike.slice(0, 2), count: 2, ...closing };
    expect((await look(['containers'], { 'containers/details': one })).fake.out()).toContain(
      'not checked yet  running',
    );
  });

  test('tells once which host of release notes allows no more requests', async () => {
    const error = 'it allows no more requests until 2026-01-01 13:40; set a token with --release-notes-token';
    const notes = { state: 'unread', source: 'https://github.com/acme/web', error };
    const limited = containers.map((one, index) => (index < 2 ? { ...one, notes } : one));
    const { fake } = await look(['containers'], { 'containers/details': { ...document, containers: limited } });
    expect(
      fake
        .out()
        .split('\n')
        .filter((line) => line.includes('Release notes')),
    ).toEqual([`Release notes of github.com wait: ${error}`]);
    const calm = await look(['containers'], { 'containers/details': document });
    expect(calm.fake.out()).not.toContain('Release notes');
  });

  test('with --json prints the document of the API, of the containers that are named', async () => {
    const all = await look(['containers', '--json'], { 'containers/details': document });
    expect(JSON.parse(all.fake.out())).toEqual(document);
    const some = await look(['containers', '--json', 'web', 'a.*'], { 'containers/details': document });
    expect(JSON.parse(some.fake.out())).toEqual({ ...document, containers: [containers[0], containers[2]], count: 2 });
  });

  test('a name that means nothing is an error, beside others that do', async () => {
    const { code, fake } = await look(['containers', 'web', 'wbe'], { 'containers/details': document });
    expect([code, fake.out()]).toEqual([1, '']);
    expect(fake.err()).toContain('upkeep: Cannot show "wbe": no watched container has this name');
  });

  test('with verdicts and versions, those that need a person come first, and a reason stands only where there is one', async () => {
    const { fake } = await look(['containers'], {
      'containers/details': {
        containers: [
          {
            ...containers[0],
            name: 'fine',
            verdict: 'fresh',
            version: '1.27.4',
            reason: 'Runs the newest image of its tag',
          },
          {
            ...containers[0],
            name: 'kept',
            verdict: 'fresh',
            reason: 'Runs the newest image of its tag; "2.0" is higher',
          },
          {
            ...containers[0],
            verdict: 'stale',
            version: '1.27.3',
            latest_version: '1.27.4',
            released_at: '2025-12-30T00:00:00Z',
          },
          { ...containers[2], verdict: 'unknown' },
        ],
        ...closing,
      },
    });
    expect(fake.out().split('\n')).toEqual([
      'CONTAINER  UPDATE                VERSION          RELEASED  STATE    IMAGE       WHY',
      'api        could not be checked                             exited   api:1       The registry cannot be reached',
      'web        update ready          1.27.3 → 1.27.4  2d ago    running  nginx:1.27',
      'fine       up to date            1.27.4                     running  nginx:1.27',
      'kept       up to date                                       running  nginx:1.27  "2.0" is higher',
      '',
    ]);
  });

  describe('with --all', () => {
    const unwatched = [{ name: 'old-db', image: 'postgres:12', reason: 'is stopped, and include-stopped is off' }];

    test('lists what is not watched, with why', async () => {
      const answers = { 'containers/details': { ...document, unwatched } };
      const { fake } = await look(['containers', '--all'], answers);
      expect(fake.out()).toMatch(/^old-db +not watched +postgres:12 +It is stopped, and include-stopped is off$/m);
      const json = await look(['containers', '--all', '--json', 'old-.*'], answers);
      expect(JSON.parse(json.fake.out())).toEqual({ ...document, containers: [], count: 0, unwatched });
    });

    test('and without it their number, and the way to them', async () => {
      const answers = { 'containers/details': { ...document, unwatched } };
      const { fake } = await look(['containers'], answers);
      expect(fake.out()).toContain('\n\n1 more not watched: --all lists them\n');
      const named = await look(['containers', 'old-db'], answers);
      expect(named.fake.err()).toContain(
        'upkeep: Cannot show "old-db": it is not watched: it is stopped, and include-stopped is off\n',
      );
    });

    test('says it where a service does not list them', async () => {
      const { fake } = await look(['containers', '--all'], { 'containers/details': document });
      expect(fake.out()).toContain('\n\nThis service does not list the containers that it does not watch\n');
    });
  });

  test('says that there are none', async () => {
    const { fake } = await look(['containers'], { 'containers/details': { containers: [], ...closing } });
    expect(fake.out()).toBe('No container is watched\n');
  });
});

describe('history()', () => {
  const run = { timestamp: '2026-01-01T04:00:07.250Z', trigger: 'schedule', duration_ms: 7250, scanned: 12 };
  const failures = [
    { name: 'api', outcome: 'rolled_back', reason: 'it exited with code 3' },
    { name: 'db', outcome: 'failed', reason: 'no space' },
  ];
  const document = {
    entries: [
      { ...run, updated: 2, failed: 2, failures },
      { timestamp: '2026-01-02T04:00:00Z', scanned: 12, updated: 0, failed: 0 },
    ],
    ...closing,
  };

  test('prints a row for each update, and what failed', async () => {
    const { fake } = await look(['history'], { history: document });
    expect(fake.out().split('\n')).toEqual([
      'ENDED                 UPDATED  FAILED  CHECKED  TOOK  ASKED BY  CONTAINERS',
      '2026-01-01T04:00:07Z  2        2       12       7.3s  schedule  api failed and was rolled back: it exited with code 3; db update failed: no space',
      '2026-01-02T04:00:00Z  0        0       12',
      '',
    ]);
  });

  test('names containers and versions, on a terminal each on a line of its own', async () => {
    const updated = { name: 'web', outcome: 'updated', reason: '', from: '1.27.3', to: '1.27.4' };
    const answers = {
      history: { entries: [{ ...run, updated: 1, failed: 1, containers: [updated, failures[0]] }], ...closing },
    };
    const { fake } = await look(['history'], answers, [], undefined, { isTerminal: true, columns: 60 });
    expect(fake.screen()).toEqual([
      'ENDED                 UPDATED  FAILED  CHECKED  TOOK',
      '2026-01-01T04:00:07Z  1        1       12       7.3s',
      '  schedule',
      '  web updated (1.27.3 → 1.27.4)',
      '  api failed and was rolled back: it exited with code 3',
      '',
    ]);
  });

  test('of several engines names those that were left out in one line, and containers with their engine', async () => {
    const updated = { name: 'web', engine: 'nas', outcome: 'updated', reason: '', from: '1.27.3', to: '1.27.4' };
    const engines = [
      { name: 'nas', result: 'ran', duration_ms: 5 },
      { name: 'pi', result: 'unreachable', error: 'refused', duration_ms: 5 },
      { name: 'web-1', result: 'busy', error: 'busy', duration_ms: 5 },
    ];
    const document = { entries: [{ ...run, updated: 1, failed: 0, containers: [updated], engines }], ...closing };
    const { fake } = await look(['history'], { history: document });
    expect(fake.out()).toContain(
      'nas/web updated (1.27.3 → 1.27.4); engines left out: pi cannot be reached, web-1 busy\n',
    );
    const json = await look(['history', '--json'], { history: document });
    expect(JSON.parse(json.fake.out())).toEqual(document);
  });

  test('is the document of the API with --json, and words when it is empty', async () => {
    const json = await look(['history', '--json'], { history: document });
    expect(JSON.parse(json.fake.out())).toEqual(document);
    const none = await look(['history'], { history: { entries: [], ...closing } });
    expect(none.fake.out()).toBe('No updates yet\n');
  });
});

describe('config()', () => {
  const options = [
    { name: 'cleanup', value: 'true', source: '--cleanup' },
    { name: 'scope', value: '', source: 'default' },
    { name: 'TERM', value: 'xterm', source: 'TERM', given: false },
  ];
  const document = { config: { cleanup: true, filter_desc: 'All containers' }, options, ...closing };

  test('prints every option with its value and source, and what is watched', async () => {
    const { fake } = await look(['config'], { config: document });
    expect(fake.out().split('\n')).toEqual([
      'OPTION   VALUE  FROM',
      'cleanup  true   --cleanup',
      'scope           default',
      'TERM     xterm  TERM',
      '',
      'Watched: All containers',
      '',
    ]);
    const json = await look(['config', '--json'], { config: document });
    expect(JSON.parse(json.fake.out())).toEqual(document);
  });

  test('with --changed prints what is set only', async () => {
    const { fake } = await look(['config', '--changed'], { config: document });
    expect(fake.out().split('\n').slice(0, 3)).toEqual(['OPTION   VALUE  FROM', 'cleanup  true   --cleanup', '']);
    const json = await look(['config', '--changed', '--json'], { config: document });
    expect(JSON.parse(json.fake.out())).toEqual({ ...document, options: [options[0]] });
    const none = await look(['config', '--changed'], { config: { ...document, options: [options[1]] } });
    expect(none.fake.out()).toContain('All options have their defaults\n');
  });

  test('of a service that lists no options it prints the settings', async () => {
    const { fake } = await look(['config'], { config: { config: { cleanup: true }, ...closing } });
    expect(fake.out()).toContain('\ncleanup  true\n');
  });
});

describe('events()', () => {
  const timestamp = '2026-01-01T00:00:00.123Z';
  const event = (type: string, data: JsonObject = {}) => ({ type, timestamp, data: { run_id: '1', ...data } });
  const web = { container: 'web', image: 'nginx:1.27', from: 'sha256:0', to: `sha256:${'a'.repeat(64)}` };
  const events = [
    event('scan_started', { trigger: 'http' }),
    event('update_started', web),
    event('update_started', { ...web, rollback: true }),
    event('update_completed', { ...web, downtime_ms: 215 }),
    event('update_failed', { ...web, error: 'it exited', rolled_back: true, downtime_ms: 1500 }),
    event('update_failed', { ...web, error: 'no space', rolled_back: false }),
    event('update_deferred', { ...web, reason: 'stopping' }),
    event('image_cleanup', { images: [{}, {}] }),
    event('scan_completed', { scanned: 3, updated: 1, failed: 2 }),
    event('scan_failed', { error: 'the engine is away' }),
    event('__proto__', { a: 1 }),
  ];

  test('prints a line for each, of whatever kind', async () => {
    const { code, fake } = await look(['events'], {}, events);
    expect(code).toBe(0);
    const lines = fake.out().split('\n');
    expect(lines.every((line) => line === '' || line.startsWith('2026-01-01T00:00:00Z '))).toBe(true);
    expect(lines.map((line) => line.slice('2026-01-01T00:00:00Z '.length))).toEqual([
      'Checking for updates',
      'web: updating nginx:1.27 to aaaaaaaaaaaa',
      'web: rolling back nginx:1.27 to aaaaaaaaaaaa',
      'web: updated (down for 215ms)',
      'web: failed and was rolled back (down for 1.5s): it exited',
      'web: update failed: no space',
      'web: deferred: stopping',
      'Old images removed: 2',
      '3 checked, 1 updated, 2 failed',
      'The update failed: the engine is away',
      '__proto__ {"run_id":"1","a":1}',
      '',
    ]);
  });

  test('with --json prints each as it came, on a line', async () => {
    const { fake } = await look(['events', '--json'], {}, events);
    const lines = fake.out().trimEnd().split('\n');
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual(events);
  });

  test('being stopped is no failure', async () => {
    const { code, fake } = await look(['events'], {}, [], (stop) => stop.abort(new Error('stopped')));
    expect([code, fake.err()]).toEqual([0, '']);
  });
});

test.each<[ServiceDocument, string, JsonObject]>([
  ['containers/details', 'containers', { containers: {} }],
  ['containers/details', 'containers', { containers: ['web'] }],
  ['history', 'history', {}],
  ['config', 'config', { options: [1] }],
])('%s that is not as the API says is told: %s %j', async (what, command, document) => {
  const { code, fake } = await look([command], { [what]: document });
  expect([code, fake.out()]).toEqual([1, '']);
  expect(fake.err()).toContain('upkeep: Cannot read the answer of the service: it holds no list of');
  expect(fake.err()).toContain('update the older one of command and service');
});

test.each([[[]], [['--json']]])('nothing from outside writes to the terminal by itself, with %j', async (flags) => {
  const every = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, evil]));
  const strings = every(['name', 'image', 'status', 'health', 'reason', 'value', 'source', 'timestamp', 'trigger']);
  const documents = {
    'containers/details': { containers: [strings] },
    history: { entries: [{ ...strings, scanned: evil, failures: [strings] }] },
    config: { options: [strings], config: { filter_desc: evil } },
  };
  const events = ['update_failed', 'scan_failed', 'update_started', evil].map((type) => ({
    type,
    timestamp: evil,
    data: every(['container', 'image', 'error', 'to', evil]),
  }));
  for (const command of ['containers', 'history', 'config', 'events']) {
    const { fake } = await look([command, ...flags], documents, events);
    expect(fake.out()).toMatch(/x\\(?:x1b|u001b)\[2J/);
    // oxlint-disable-next-line no-control-regex -- looking for them is the point
    expect(fake.out() + fake.err()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});

/** The command with a service that gives these answers, in a pipe. */
async function look(
  [command = '', ...flags]: readonly string[],
  documents: Partial<Record<ServiceDocument, JsonObject>>,
  events: readonly JsonObject[] = [],
  onFollow: (stop: AbortController) => void = () => undefined,
  terminal: FakeTerminalOptions = {},
) {
  const scene = createCommandScene([command, ...flags, ...url], {}, terminal);
  const service: RunningService = {
    read: (what) => Promise.resolve(documents[what] ?? {}),
    send: () => Promise.reject(new Error('nothing is sent')),
    async *follow(signal) {
      onFollow(scene.interrupt);
      signal.throwIfAborted();
      yield* await Promise.resolve(events);
    },
  };
  const create = Object.entries(readCommands).find(([name]) => name === command)?.[1];
  if (create === undefined) throw new Error(`no command: ${command}`);
  return { code: await runReportingFailures(await create(createRemoteSources(service)), scene.context), ...scene };
}

describe('notes() without a service', () => {
  const reason = 'The registry cannot be reached. Cannot ask the registry "ghcr.io": connection refused';
  const missing = { filter: 'wbe', reason: 'There is no container named "wbe"; did you mean "web"?' };

  test.each([
    [
      'a container that does not exist',
      'wbe',
      checkReport([], { unmatched: [missing] }),
      /: there is no container named "wbe"; did you mean "web"\?\n {2}\S/,
    ],
    [
      'one that could not be checked',
      'web',
      checkReport([checkedContainer('web', { status: 'unknown', reason })]),
      /: it could not be checked: The registry cannot be reached\./,
    ],
    ['one that is up to date', 'web', checkReport([checkedContainer('web')]), /: no newer version of it was found$/m],
  ])('tells why there is nothing to show of %s', async (_, name, report, why) => {
    const { context, application, clock, fake } = createCommandScene(['notes', name], { check: () => report });
    const configuration = { config: { ...context.settings.service, filterDescription: '', scope: '' }, options: [] };
    const open = () => Promise.resolve({ application, close: () => Promise.resolve() });
    const { notes } = createLocalSources({ open, configuration, clock });
    expect(await runReportingFailures(createNotesCommand(notes), context)).toBe(1);
    expect(fake.err()).toContain(`Cannot show release notes of "${name}"`);
    expect(fake.err()).toMatch(why);
  });

  test('names the option for a name that several engines have', async () => {
    const { context, application, clock, fake } = createCommandScene(['notes', 'web'], {
      check: () => checkReport([checkedContainer('web')]),
    });
    const configuration = { config: { ...context.settings.service, filterDescription: '', scope: '' }, options: [] };
    const several = { ...application, notesOf: () => 'several' as const, close: () => Promise.resolve() };
    const open = () => Promise.resolve({ application: several, close: () => Promise.resolve() });
    const { notes } = createLocalSources({ open, configuration, clock });
    expect(await runReportingFailures(createNotesCommand(notes), context)).toBe(2);
    expect(fake.err()).toMatch(/several engines have a container of this name\W+--host names one of them/);
  });
});
