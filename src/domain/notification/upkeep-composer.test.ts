import { describe, expect, test } from 'vitest';
import type { ContainerOutcome } from '../run/session.ts';
import type { RunFacts, StartFacts } from './run-facts.ts';
import { escapeMarkdown, createUpkeepComposer } from './upkeep-composer.ts';

const composer = createUpkeepComposer({ hostname: 'nas', titleTag: '', skipTitle: false, timeZone: 'Europe/Berlin' });

function outcome(name: string, change: Partial<ContainerOutcome>): ContainerOutcome {
  const [oldImageId, newImageId] = ['sha256:01d110000000aaaa', 'sha256:d0a110000000bbbb'];
  const base = { name, image: `acme/${name}:1`, outcome: 'updated', reason: '', oldDigest: '', newDigest: '' } as const;
  return { ...base, oldImageId, newImageId, ...change };
}

function run(containers: readonly ContainerOutcome[], change: Partial<RunFacts> = {}): RunFacts {
  return {
    runId: 'run-1',
    purpose: 'update',
    trigger: 'schedule',
    startedAtMs: Date.UTC(2026, 10, 22, 5),
    endedAtMs: Date.UTC(2026, 10, 22, 5, 0, 42),
    error: undefined,
    containers,
    news: new Set(containers.filter((one) => one.outcome !== 'fresh').map(({ name }) => name)),
    steps: [],
    removedImages: [],
    imageLabels: new Map([
      ['sha256:01d110000000aaaa', { 'org.opencontainers.image.version': '1.27.2' }],
      [
        'sha256:d0a110000000bbbb',
        {
          'org.opencontainers.image.version': '1.27.3',
          'org.opencontainers.image.source': 'https://github.com/acme/web.git',
        },
      ],
    ]),
    ...change,
  };
}

const street = [
  outcome('web', { downtimeMs: 2140 }),
  outcome('api', { outcome: 'rolled_back', reason: 'The new version did not become healthy: 500' }),
  outcome('job', { outcome: 'failed', reason: 'pull access denied', newImageId: '' }),
  outcome('proxy', { outcome: 'restarted', downtimeMs: 0 }),
  outcome('mon', { outcome: 'skipped', reason: 'A newer image of "acme/mon:1" is available; monitored only' }),
  outcome('db', { outcome: 'fresh' }),
];

describe('a message about a run', () => {
  test('names the person or token that has asked for it', () => {
    const { text } = composer.run(run([outcome('web', {})], { trigger: 'http', by: 'anna@example.com' }), 'info') ?? {};
    expect(text).toContain('1 updated of 1 container, in 42s, asked by anna@example.com');
  });

  test('says what needs someone, what was rolled back and why, what changed, and how to go back', () => {
    expect(composer.run(run(street), 'info')).toMatchObject({
      title: 'nas: api failed and was rolled back, job failed, web was updated',
      urgency: 'high',
      level: 'error',
      text: `1 update failed, 1 failed and was rolled back, 1 updated, 1 restarted, 1 not updated, 1 up to date of 6 containers, in 42s

Needs you:
- job (acme/job:1): pull access denied
  To try again: upkeep update job

Rolled back:
- api (acme/api:1): 1.27.2 → 1.27.3 failed and was rolled back: The new version did not become healthy: 500
  To try again: upkeep update --retry-failed api

Updated:
- web (acme/web:1): 1.27.2 → 1.27.3; down for 2.1s
  Release notes: https://github.com/acme/web/releases
  To go back: upkeep rollback web

Restarted with them:
- proxy (acme/proxy:1): no downtime

Not updated:
- mon (acme/mon:1): A newer image of "acme/mon:1" is available; monitored only`,
    });
  });

  test('has parts that say when it was, for a message about several runs', () => {
    const [web] = street;
    const [section, ...more] = composer.run(run([web!]), 'info')!.sections!;
    expect(more).toEqual([]);
    expect(section).toMatchObject({
      heading: 'Updated',
      items: [
        {
          about: 'web',
          level: 'info',
          text: expect.stringMatching(/^- web .*; down for 2\.1s; Sun 22 Nov 06:00 CET\n/),
        },
      ],
    });
  });

  test('tells a service from the container of the same name, for a message about several runs', () => {
    const both = [outcome('web', {}), outcome('web', { kind: 'service' })];
    const [section] = composer.run(run(both, { news: new Set(['web', 'web service']) }), 'info')!.sections!;
    expect(section?.items.map(({ about }) => about)).toEqual(['web', 'web service']);
    expect(section?.items[1]?.text).toMatch(/^- web \(service, acme\/web:1\)/);
    const left = { containers: ['web'], result: 'left', reason: 'is in use' } as const;
    const repairs = [left, { ...left, kind: 'service' as const }];
    const [repaired] = composer.repairs({ transactions: repairs, atMs: 0 }, 'info')!.sections!;
    expect(repaired?.items.map(({ about }) => about)).toEqual(['web', 'web service']);
    expect(repaired?.items.map(({ text }) => text.replace(/;.*/, ''))).toEqual([
      '- Left alone the update of web: is in use',
      '- Left alone the update of the service web: is in use',
    ]);
  });

  test('says the same as CommonMark, in which names mean themselves', () => {
    const [web] = street;
    const { markdown } = composer.run(run([{ ...web!, name: 'my_web' }]), 'info')!;
    expect(markdown).toBe(`1 updated of 1 container, in 42s

**Updated**

- **my\\_web** (acme/web:1): 1.27.2 → 1.27.3; down for 2.1s
  - [Release notes](https://github.com/acme/web/releases)
  - To go back: \`upkeep rollback my_web\``);
  });

  test('names images by their ids where they have no versions', () => {
    const web = outcome('web', { image: 'acme/web:latest' });
    const { text } = composer.run(run([web], { imageLabels: new Map() }), 'info')!;
    expect(text).toContain('- web (acme/web:latest): 01d110000000 → d0a110000000\n');
  });

  test('is not sent when there is nothing new to say, or nothing of that level', () => {
    expect(composer.run(run([outcome('db', { outcome: 'fresh' })]), 'info')).toBeUndefined();
    expect(composer.run(run(street, { news: new Set() }), 'info')).toBeUndefined();
    expect(composer.run(run([outcome('web', {})]), 'warn')).toBeUndefined();
    expect(composer.run(run(street), 'error')!.text).not.toContain('Updated:');
  });

  test('is sent when the run failed as a whole', () => {
    const draft = composer.run(run([], { error: 'Cannot list the containers: the engine does not answer' }), 'error');
    expect(draft).toMatchObject({
      level: 'error',
      text: 'The run failed: Cannot list the containers: the engine does not answer',
    });
  });

  test('puts no name into a command that a shell could read otherwise, and no text from outside onto a line of its own', () => {
    const evil = 'web; rm -rf /\n@everyone [x](https://evil.example)';
    const draft = composer.run(run([outcome('x', { name: evil, image: evil, reason: evil })]), 'info')!;
    expect(draft.text).not.toContain('upkeep rollback');
    expect(draft.text.split('\n')).toHaveLength(5);
    expect(draft.markdown).not.toContain('[x](');
  });
});

describe('a message about earlier updates', () => {
  const facts = {
    transactions: [
      { containers: ['web', 'db'], result: 'finished', reason: 'the update had been interrupted' },
      { containers: ['my_api'], result: 'failed', reason: 'no space\non the device' },
      { containers: ['tv'], result: 'undone', reason: '' },
    ],
    atMs: 0,
  } as const;

  test('says what became of each, what needs someone first, and what can be done', () => {
    expect(composer.repairs(facts, 'info')).toMatchObject({
      title:
        'nas: the update of my_api cannot be repaired, the update of tv was undone, the update of web and db was finished',
      urgency: 'high',
      level: 'error',
      text: `Of earlier updates: 1 cannot be repaired, 1 undone, 1 finished

- Cannot repair the update of my_api: no space\\non the device
- Undid the update of tv
- Finished the update of web, db: the update had been interrupted

It is tried again, by the service within a minute. To try at once: upkeep recover`,
      markdown: expect.stringMatching(/^- Cannot repair the update of my\\_api[^]*To try at once: `upkeep recover`$/m),
    });
  });

  test('has times as the clock of the reader shows them', () => {
    const left = { containers: ['web'], result: 'left', reason: 'in use until 2026-11-27T04:05Z' } as const;
    const draft = composer.repairs({ transactions: [left], atMs: 0 }, 'info')!;
    for (const text of [draft.text, draft.markdown, draft.sections?.[0]?.items[0]?.text])
      expect(text).toContain('until 2026-11-27 05:05 CET');
    expect(composer.run(run([], { error: 'no answer since 2026-11-27T04:05Z' }), 'error')?.text).toContain('05:05 CET');
  });

  test('leaves out what is below the level, and is not sent for nothing', () => {
    expect(composer.repairs(facts, 'warn')?.text).toMatch(/^Of earlier updates: 1 cannot be repaired, 1 undone\n/);
    expect(composer.repairs({ ...facts, transactions: facts.transactions.slice(0, 1) }, 'warn')).toBeUndefined();
    expect(composer.repairs({ ...facts, transactions: facts.transactions.slice(0, 1) }, 'info')?.text).not.toContain(
      'upkeep recover',
    );
  });
});

test('the message at the start says when the next run is', () => {
  const facts: StartFacts = {
    version: '1.2.3',
    engineApiVersion: '1.52',
    services: [],
    scope: '',
    schedule: 'Updates every 24h',
    nextRunAtMs: Date.UTC(2026, 10, 23, 5),
    runOnce: false,
    updateOnStart: false,
    servesApi: false,
    atMs: Date.UTC(2026, 10, 22, 5),
  };
  expect(composer.start(facts, 'info')?.text).toBe(
    'Upkeep 1.2.3 has started. Updates every 24h. Next run: 2026-11-23 06:00 CET',
  );
  expect(composer.start(facts, 'warn')).toBeUndefined();
});

describe('the versions of an update', () => {
  const labelled = (version: string) => ({ 'org.opencontainers.image.version': version });
  const [oldId, newId] = ['sha256:01d110000000aaaa', 'sha256:d0a110000000bbbb'];
  const lineOf = (change: Partial<ContainerOutcome>, before: object, after: object) => {
    const imageLabels = new Map([
      [oldId, { ...before }],
      [newId, { ...after }],
    ]);
    return composer.run(run([outcome('web', change)], { imageLabels }), 'info')?.text.split('\n')[3];
  };

  test('are those that the check has named', () => {
    const facts = { image: 'mongo:7.0.5', from: '7.0.5', to: '7.0.9' };
    expect(lineOf(facts, labelled('22.04'), labelled('22.04'))).toBe('- web (mongo:7.0.5): 7.0.5 → 7.0.9');
  });

  test('are not those of the base image', () => {
    const facts = { image: 'mongo:7.0.9', tagChange: { from: 'mongo:7.0.5', to: 'mongo:7.0.9' } };
    const ofUbuntu = { ...labelled('22.04'), 'org.opencontainers.image.ref.name': 'ubuntu' };
    expect(lineOf(facts, ofUbuntu, ofUbuntu)).toBe('- web (mongo:7.0.9): 7.0.5 → 7.0.9');
  });

  test('have the ids of the images if they are equal', () => {
    const line = '- web (acme/web:1): 1.4 (01d110000000) → 1.4 (d0a110000000)';
    expect(lineOf({}, labelled('1.4'), labelled('1.4'))).toBe(line);
  });

  test('are ids where a label is no plain word', () => {
    for (const text of ['a b', '1\n2', '<b>', 'x'.repeat(65)])
      expect(lineOf({ image: 'acme/web:latest' }, labelled(text), labelled('1.2.3-rc.1+5'))).toBe(
        '- web (acme/web:latest): 01d110000000 → 1.2.3-rc.1+5',
      );
  });

  test('lead to the source that the check has found, where labels name none', () => {
    const sourceUrl = 'https://gitlab.com/acme/team/web.git';
    const { text } = composer.run(run([outcome('web', { sourceUrl })], { imageLabels: new Map() }), 'info')!;
    expect(text).toContain('Release notes: https://gitlab.com/acme/team/web/-/releases');
  });
});

describe('the release notes of a newer version', () => {
  const notes = {
    lines: [
      { text: 'The *database* moves', isBreaking: true },
      { text: 'Albums can be shared', isBreaking: false },
    ],
    leftOut: 14,
    url: 'https://github.com/acme/web/releases/tag/v2',
  };
  const draftOf = (change: Partial<ContainerOutcome>) => composer.run(run([outcome('web', change)]), 'info')!;

  test('are lines below its container, those that break something first, and how many are left out', () => {
    const lines = draftOf({ notes }).text.split('\n');
    const at = lines.findIndex((line) => line.startsWith('- web'));
    expect(lines.slice(at + 1, at + 5)).toEqual([
      '  ! The *database* moves',
      '  * Albums can be shared',
      '  and 14 more',
      '  Release notes: https://github.com/acme/web/releases/tag/v2',
    ]);
  });

  test('are items in Markdown, in which their own marks mean nothing', () => {
    const { markdown = '' } = draftOf({ notes });
    expect(markdown).toContain('  - \\! The \\*database\\* moves\n  - Albums can be shared\n  - and 14 more\n');
  });

  test('are absent without lines, with nothing left out, and for a container without a newer version', () => {
    expect(draftOf({ notes: { ...notes, lines: [] } }).text).not.toContain('14 more');
    expect(draftOf({ notes: { ...notes, leftOut: 0 } }).text).not.toContain('more');
    expect(draftOf({ notes, outcome: 'failed', reason: 'no', newImageId: '' }).text).toBeDefined();
    expect(draftOf({}).text).not.toContain('  * ');
  });
});

test('escapeMarkdown() leaves no mark that could begin something', () => {
  expect(escapeMarkdown('- *a* [b](c) <d> `e`')).toBe('\\- \\*a\\* \\[b\\](c) \\<d\\> \\`e\\`');
});

describe('the title', () => {
  const titleOf = (outcomes: readonly ContainerOutcome[], change: Partial<RunFacts> = {}) =>
    composer.run(run(outcomes, change), 'info')?.title;
  const available = { outcome: 'skipped', reason: 'monitored only', from: '1.2.0', to: '1.3.0' } as const;

  test.each([
    ['nas: web failed and was rolled back', [outcome('web', { outcome: 'rolled_back', reason: 'x' })]],
    ['nas: web failed', [outcome('web', { outcome: 'failed', reason: 'x' })]],
    ['nas: web and db were updated', [outcome('web', {}), outcome('db', {})]],
    ['nas: 3 were updated', [outcome('web', {}), outcome('db', {}), outcome('tv', {})]],
    ['nas: db failed, web was updated', [outcome('web', {}), outcome('db', { outcome: 'failed', reason: 'x' })]],
    ['nas: web has an update', [outcome('web', available)]],
    ['nas: web was deferred', [outcome('web', { outcome: 'deferred', reason: 'too young' })]],
    ['nas: tool could not be checked', [outcome('tool', { outcome: 'unknown', reason: 'denied' })]],
  ])('says the outcome: %s', (title, outcomes) => {
    expect(titleOf(outcomes)).toBe(title);
  });

  test('says nothing of what the level leaves out, and that a run failed', () => {
    const both = [outcome('web', {}), outcome('db', { outcome: 'failed', reason: 'x' })];
    expect(composer.run(run(both), 'error')?.title).toBe('nas: db failed');
    expect(titleOf([], { error: 'the engine does not answer' })).toBe('nas: the run failed');
  });

  test('has the tag and the host of the owner, or is left out', () => {
    const of = (change: object) =>
      createUpkeepComposer({ hostname: 'nas', titleTag: '', skipTitle: false, timeZone: 'UTC', ...change }).run(
        run([outcome('web', {})]),
        'info',
      );
    expect(of({ titleTag: 'home' })?.title).toBe('[home] nas: web was updated');
    expect(of({ hostname: '' })?.title).toBe('Upkeep: web was updated');
    expect(of({ skipTitle: true })).toMatchObject({ title: '', origin: '' });
  });

  test('and the urgency go by the outcome', () => {
    const urgencyOf = (...outcomes: ContainerOutcome[]) => composer.run(run(outcomes), 'info')?.urgency;
    const failed = outcome('db', { outcome: 'failed', reason: 'x' });
    expect(urgencyOf(outcome('web', {}), failed)).toBe('high');
    expect(urgencyOf(outcome('web', {}), outcome('tv', available))).toBeUndefined();
    expect(urgencyOf(outcome('tv', available), outcome('db', { outcome: 'deferred', reason: 'x' }))).toBe('low');
    expect(urgencyOf(outcome('tool', { outcome: 'unknown', reason: 'denied' }))).toBeUndefined();
    expect(composer.run(run([], { error: 'x' }), 'error')?.urgency).toBe('high');
  });
});

describe('a container that only has an update', () => {
  const skipped = {
    outcome: 'skipped',
    reason: 'A newer image of "acme/tv:1" is available; monitored only',
    image: 'acme/tv:1',
    from: '1.2.0',
    to: '1.3.0',
    sourceUrl: 'https://github.com/acme/tv',
  } as const;

  test('is told with both versions and the link, as a check has them', () => {
    const draft = composer.run(run([outcome('tv', skipped)], { imageLabels: new Map() }), 'info')!;
    expect(draft.text).toContain(
      '- tv (acme/tv:1): 1.2.0 → 1.3.0; A newer image of "acme/tv:1" is available; monitored only\n' +
        '  Release notes: https://github.com/acme/tv/releases',
    );
    expect(draft.markdown).toContain('1.2.0 → 1.3.0');
    expect(draft.text).toMatch(/^1 update ready of 1 container, /);
    expect(draft.sections?.[0]?.items[0]?.text).toContain('Release notes: https://github.com/acme/tv/releases');
  });

  test.each([
    ['without a newer version', { to: '1.2.0' }],
    ['with a version that is no plain word', { to: '<b>1.3</b>' }],
  ])('is told without a change %s', (_, change) => {
    const { text } = composer.run(run([outcome('tv', { ...skipped, ...change })]), 'info')!;
    expect(text).toContain('- tv (acme/tv:1): A newer image');
  });

  test('is told in the time of the reader', () => {
    const reason = 'but too young: not before 2026-11-27T04:05Z, and not on 2026-07-01T22:30Z';
    const { text } = composer.run(run([outcome('tv', { outcome: 'deferred', reason })]), 'info')!;
    expect(text).toContain('not before 2026-11-27 05:05 CET, and not on 2026-07-02 00:30');
    expect(text).not.toContain('Z');
  });
});

describe('a version that failed', () => {
  const logged = (log: string) =>
    composer.run(run([outcome('db', { outcome: 'rolled_back', reason: 'It exited with code 1', log })]), 'info')!;

  test.each([
    ['starting\nfatal: cannot open database\n', ['fatal: cannot open database']],
    ['FATAL: no space left\nshutting down\nbye\n', ['FATAL: no space left', 'bye']],
    ['Error: bind: address in use\n  at listen (net.js:1)\n', ['Error: bind: address in use', 'at listen (net.js:1)']],
    ['panic: nil map\nerror: exit\n\n', ['panic: nil map', 'error: exit']],
    ['hello\nworld\n', ['world']],
    ['\n \n', []],
  ])('is told with the line that killed it: %j', (log, lines) => {
    expect(logged(log).text.match(/(?<=^ {2}Log: ).*$/gm) ?? []).toEqual(lines);
  });

  test('has its words escaped, and bounded', () => {
    const { text, markdown } = logged(`fatal: [x](https://evil.example) *b* ${'y'.repeat(600)}\n`);
    expect(markdown).toContain(String.raw`Log: fatal: \[x\](https://evil.example) \*b\* y`);
    expect(/^ {2}Log: .*$/m.exec(text)?.[0].length).toBeLessThan(320);
  });
});
