import { describe, expect, test } from 'vitest';
import type { ContainerOutcome, OutcomeKind } from '../run/session.ts';
import type { RunFacts, StartFacts } from './run-facts.ts';
import { formatLongDuration } from './watchtower-data.ts';
import { createWatchtowerComposer, type WatchtowerTextOptions } from './watchtower-composer.ts';

const startedAtMs = Date.UTC(2026, 10, 22, 5);

function outcome(
  name: string,
  kind: OutcomeKind,
  reason = '',
  change: Partial<ContainerOutcome> = {},
): ContainerOutcome {
  const [oldImageId, newImageId] = ['sha256:01d110000000aaaa', 'sha256:d0a110000000bbbb'];
  const isNew = kind === 'updated' || kind === 'failed' || kind === 'rolled_back';
  const images = { oldImageId, newImageId: isNew ? newImageId : oldImageId, oldDigest: '', newDigest: '' };
  return { name, image: `acme/${name}:1`, outcome: kind, reason, ...images, ...change };
}

const web = outcome('web', 'updated', '', { containerId: '3f1c9a2b4d5e00', newContainerId: 'f00ba400000000' });
const held = { oldDigest: 'sha256:aa', newDigest: 'sha256:bbbbbbbbbbbbbb' };

function run(containers: readonly ContainerOutcome[], change: Partial<RunFacts> = {}): RunFacts {
  return {
    runId: 'run-1',
    purpose: 'update',
    trigger: 'schedule',
    startedAtMs,
    endedAtMs: startedAtMs + 13_000,
    error: undefined,
    containers,
    news: new Set(containers.map(({ name }) => name)),
    steps: [
      { kind: 'started', key: 'web', atMs: startedAtMs + 2000 },
      { kind: 'ended', key: 'web', atMs: startedAtMs + 5000 },
    ],
    removedImages: [
      {
        imageId: 'sha256:01d110000000aaaa',
        imageName: 'acme/web:1',
        containerId: '',
        containerName: 'web',
        atMs: startedAtMs + 6000,
      },
    ],
    imageLabels: new Map(),
    ...change,
  };
}

function composer(change: Partial<WatchtowerTextOptions> = {}, failures: string[] = []) {
  return createWatchtowerComposer({
    product: 'Watchtower updates',
    hostname: 'h1',
    titleTag: '',
    skipTitle: false,
    report: false,
    template: undefined,
    timeZone: 'Europe/Berlin',
    onTemplateFailure: (reason) => failures.push(reason),
    ...change,
  });
}

describe('in log mode', () => {
  test('an update is told in the words that filters of mails know', () => {
    expect(composer().run(run([web]), 'info')).toMatchObject({
      title: 'Watchtower updates on h1',
      level: 'info',
      text: `Found new image: acme/web:1 (d0a110000000)
Stopped stale container: web (3f1c9a2b4d5e)
Started new container: web (f00ba4000000)
Cleaned up old image: acme/web:1 (01d110000000)`,
    });
  });

  test('each line has its own level and time', () => {
    const { lines } = composer().run(run([web, outcome('api', 'failed', 'exit 1')]), 'info')!;
    expect(lines.map(({ level, atMs }) => [level, atMs - startedAtMs])).toEqual([
      ['info', 0],
      ['info', 2000],
      ['info', 5000],
      ['info', 6000],
      ['error', 13_000],
    ]);
  });

  test('nothing is sent about a run in which nothing happened', () => {
    expect(composer().run(run([outcome('db', 'fresh')], { removedImages: [] }), 'info')).toBeUndefined();
  });

  test('the level leaves out lines below it', () => {
    const containers = [web, outcome('tool', 'skipped', 'pull access denied'), outcome('api', 'rolled_back', 'exit 1')];
    const texts = (['info', 'warn', 'error'] as const).map(
      (least) => composer().run(run(containers), least)?.text.split('\n').length,
    );
    expect(texts).toEqual([6, 2, 1]);
    expect(composer().run(run([web]), 'warn')).toBeUndefined();
  });

  test('an image that several containers have is found once', () => {
    const both = [outcome('a', 'skipped', 'monitored only', held), outcome('b', 'skipped', 'monitored only', held)];
    const same = both.map((one) => ({ ...one, image: 'acme/x:1' }));
    expect(composer().run(run(same, { removedImages: [] }), 'info')?.text).toBe(
      'Found new image: acme/x:1 (bbbbbbbbbbbb)',
    );
  });

  test('a cooldown has its line, once for each image, whether it is over or not', () => {
    const hourMs = 3_600_000;
    const young = { cooldown: { ageMs: 2 * hourMs + 1, delayMs: 24 * hourMs }, ...held };
    const old = { cooldown: { ageMs: 49 * hourMs, delayMs: 24 * hourMs } };
    const containers = [
      outcome('api', 'deferred', 'too young', young),
      outcome('api-2', 'deferred', 'too young', { ...young, image: 'acme/api:1' }),
      { ...web, ...old },
      outcome('db', 'fresh'),
    ];
    const { text } = composer().run(run(containers, { steps: [], removedImages: [] }), 'info')!;
    expect(text.split('\n')).toEqual([
      'acme/api:1 created less than 1d ago - eligible in 21h59m (Mon, 23 Nov 2026 03:59:59 CET)',
      'acme/web:1 created more than 1d ago - eligible for update',
      'Found new image: acme/web:1 (d0a110000000)',
      'Stopped stale container: web (3f1c9a2b4d5e)',
      'Started new container: web (f00ba4000000)',
    ]);
    const report = composer({ report: true }).run(run(containers), 'info')!;
    expect(report.text).toMatch(/^2 Scanned, 1 Updated, 0 Restarted, 0 Failed, 1 Fresh, 2 Skipped\n/);
    expect(report.text).toContain('- api (acme/api:1): Skipped: too young');
  });

  test('what became of an earlier update is a line of its own, in report mode too', () => {
    const transactions = [{ containers: ['web'], result: 'undone', reason: 'it had been interrupted' }] as const;
    for (const report of [false, true]) {
      const draft = composer({ report }).repairs({ transactions, atMs: startedAtMs }, 'warn');
      expect(draft).toMatchObject({ title: 'Watchtower updates on h1', level: 'warn' });
      expect(draft?.text.trimEnd()).toBe('Undid the update of web: it had been interrupted');
    }
    expect(composer().repairs({ transactions, atMs: startedAtMs }, 'error')).toBeUndefined();
  });

  test('a run that could not be made is told with its error', () => {
    const draft = composer().run(run([], { error: 'no engine', removedImages: [] }), 'error');
    expect(draft).toMatchObject({ level: 'error', text: 'Update session failed | error=no engine ' });
  });
});

describe('in report mode', () => {
  const report = (containers: readonly ContainerOutcome[], least: 'info' | 'error' = 'info') =>
    composer({ report: true }).run(run(containers), least);

  test('every session is told, by its counts and states', () => {
    const containers = [
      web,
      outcome('db', 'fresh'),
      outcome('tool', 'unknown', 'pull access denied'),
      outcome('api', 'rolled_back', 'start failed: exit 1'),
      outcome('mon', 'skipped', 'monitored only', held),
      outcome('dep', 'restarted'),
    ];
    expect(report(containers)?.text).toBe(`5 Scanned, 1 Updated, 1 Restarted, 1 Failed, 1 Fresh, 1 Skipped
- web (acme/web:1): 01d110000000 updated to d0a110000000
- dep (acme/dep:1): Restarted
- db (acme/db:1): Fresh
- tool (acme/tool:1): Skipped: pull access denied
- api (acme/api:1): Failed: start failed: exit 1`);
    expect(report([outcome('db', 'fresh')])?.text).toBe(
      '1 Scanned, 0 Updated, 0 Restarted, 0 Failed, 1 Fresh, 0 Skipped\n- db (acme/db:1): Fresh',
    );
  });

  test('a container that was skipped with nothing newer there is skipped, and not stale', () => {
    const digests = { oldDigest: 'sha256:aa', newDigest: 'sha256:aa' };
    expect(report([outcome('tool', 'skipped', 'the run was cancelled', digests)])?.text).toBe(
      '0 Scanned, 0 Updated, 0 Restarted, 0 Failed, 0 Fresh, 1 Skipped\n- tool (acme/tool:1): Skipped: the run was cancelled',
    );
  });

  test('at level error only one with a failure is sent', () => {
    expect(report([web], 'error')).toBeUndefined();
    expect(report([outcome('api', 'failed', 'exit 1')], 'error')?.level).toBe('error');
  });
});

describe('a template of the user', () => {
  test('has the release notes of the newer version, which are empty without any', () => {
    const template =
      '{{range .Report.Updated}}{{.Name}}: {{if .Notes.Breaking}}BREAKING {{end}}{{range .Notes.Summary}}[{{.}}]{{end}} {{.Notes.URL}};{{end}}';
    const notes = {
      lines: [
        { text: 'The database moves', isBreaking: true },
        { text: 'Faster', isBreaking: false },
      ],
      leftOut: 3,
      url: 'https://github.com/acme/web/releases',
    };
    const told = composer({ template, report: true }).run(run([{ ...web, notes }, outcome('db', 'updated')]), 'info');
    expect(told?.text).toBe('web: BREAKING [The database moves][Faster] https://github.com/acme/web/releases;db:  ;');
  });

  test('renders in both modes, whichever it was written for', () => {
    const both = '{{range .}}{{.Message}};{{end}}{{with .Report}}{{len .Updated}}{{end}}';
    expect(composer({ template: both }).run(run([web]), 'info')?.text).toMatch(/^Found new image;.*;$/);
    expect(composer({ template: both, report: true }).run(run([web]), 'info')?.text).toMatch(/^Found new image;.*;1$/);
  });

  test('that renders to nothing sends nothing', () => {
    expect(composer({ template: '{{with .Report}}x{{end}}' }).run(run([web]), 'info')).toBeUndefined();
  });

  test('that would never say anything is known at the start, with the option that it lacks', () => {
    const told = (change: Partial<WatchtowerTextOptions>) => {
      const failures: string[] = [];
      composer(change, failures);
      return failures;
    };
    const template = '{{range .Report.Updated}}{{.Name}}{{end}}';
    expect(told({ template })).toEqual([expect.stringMatching(/says nothing .* --notification-report/)]);
    expect(told({ template, report: true })).toEqual([]);
    expect(told({ template: '{{if eq 1 2}}x{{end}}', report: true })).toEqual([expect.stringMatching(/failure$/)]);
  });

  test.each([
    ['{{.Hostname}}', 'there is no .Hostname in a message; did you mean .Host?'],
    ['{{', 'the action has no end'],
  ])('that fails loses no message, and is told in it and to the log: %s', (template, why) => {
    const failures: string[] = [];
    const draft = composer({ template }, failures).run(run([web]), 'info');
    expect(draft?.text).toMatch(/^Found new image: acme\/web:1 \(d0a110000000\)\n/);
    expect(draft?.text.endsWith(`: ${why}`)).toBe(true);
    expect(failures).toEqual([expect.stringContaining(`Cannot render the template: line 1, column`)]);
  });

  test.each([
    ['a text of its own', '<b>{{len .Entries}}</b>', true],
    ['a text of its own with a report', '{{with .Report}}<b>{{len .Updated}}</b>{{end}}', true],
    ['the name of a built-in template', 'json.v1', undefined],
    ['a text that fails', '{{.Missing}}', undefined],
    ['nothing', undefined, undefined],
  ])('marks its messages, so that its markup stays markup: %s', (_, template, expected) => {
    expect(composer({ template, report: true }).run(run([web]), 'info')?.isFromTemplate).toBe(expected);
  });

  test('can be a name', () => {
    const draft = composer({ template: 'porcelain.json', report: true }).run(run([web]), 'info');
    expect(JSON.parse(draft?.text ?? '')).toEqual({
      containers: [
        {
          name: 'web',
          image: 'acme/web:1',
          image_id: '01d110000000',
          latest_image_id: 'd0a110000000',
          state: 'Updated',
          update_available: true,
        },
      ],
    });
  });

  test.each([
    ['json.v1', false],
    ['{{if .}}', true],
    ['{{with .Report}}{{range .Updated}}{{.Nmae}}{{end}}{{end}}', true],
    ['{{range .Entries}}{{.Data.container}}{{end}}', false],
  ])('is tried before it is needed: %s', (template, isTold) => {
    const failures: string[] = [];
    composer({ template, report: true }, failures);
    expect(failures).toHaveLength(isTold ? 1 : 0);
  });
});

describe('the title', () => {
  test.each([
    [{ titleTag: 'home' }, '[home] Watchtower updates on h1'],
    [{ hostname: '' }, 'Watchtower updates'],
    [{ skipTitle: true }, ''],
    [{ product: 'Upkeep' as const }, 'Upkeep on h1'],
  ])('with %j is %j', (change, title) => {
    expect(composer(change).run(run([web]), 'info')?.title).toBe(title);
  });
});

describe('the message at the start', () => {
  const facts: StartFacts = {
    version: '1.2.3',
    engineApiVersion: '1.52',
    services: ['discord', 'smtp'],
    scope: 'prod',
    schedule: '',
    nextRunAtMs: startedAtMs + 86_399_000,
    runOnce: false,
    updateOnStart: false,
    servesApi: false,
    atMs: startedAtMs,
  };

  test('tells version, services, scope and the next run', () => {
    const text = `Upkeep v1.2.3 using Docker API v1.52
Using notifications: discord, smtp
Only checking containers in scope: prod
Next scheduled run: 2026-11-23 05:59:59 CET in 23 hours, 59 minutes, 59 seconds`;
    expect(composer().start(facts, 'info')?.text).toBe(text);
    const once = { ...facts, services: [], scope: '', engineApiVersion: '', runOnce: true };
    expect(composer({ report: true }).start(once, 'info')?.text).toBe(
      'Upkeep v1.2.3\nUsing no notifications\nRunning a one time update\n',
    );
  });

  test('is not sent at level warn', () => {
    expect(composer().start(facts, 'warn')).toBeUndefined();
    expect(composer({ report: true }).start(facts, 'error')).toBeUndefined();
  });
});

test.each([
  [0, '0 seconds'],
  [1000, '1 second'],
  [86_400_000 * 38 + 61_000, '1 month, 1 week, 1 day, 1 minute, 1 second'],
])('sayDuration(%d) is %s', (ms, said) => {
  expect(formatLongDuration(ms)).toBe(said);
});
