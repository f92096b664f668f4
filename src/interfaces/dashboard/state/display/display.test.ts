import { describe, expect, test } from 'vitest';
import { readDetails } from '../documents/container.ts';
import { readStatus } from '../documents/status.ts';
import { createContainerStore, phases, waiting, type ContainerStore } from '../containers/container-store.ts';
import { arrangeContainers, countWords, filterFor, factsOf } from './arrange.ts';
import { headlineOf } from './headline.ts';
import { startAddress } from '../address.ts';
import { describeState, groupTitles } from './describe-state.ts';
import { explain, failedTimesOf } from './explain.ts';
import { rowContent, pullReference, shortImage, versionsOf } from './row.ts';
import { readHistory } from '../documents/history.ts';
import { lastRunWords, scheduleWords } from './runs.ts';

const now = new Date(2026, 10, 20, 14, 52).getTime();
const iso = (ms: number) => new Date(ms).toISOString();
const plain = (text: string) => text.replaceAll('\u00A0', ' ');

function one(entry: Record<string, unknown>) {
  const [read] = readDetails({ containers: [{ name: 'web', image: 'nginx:1', status: 'running', ...entry }] });
  if (read === undefined) throw new Error('there is no entry');
  return read;
}

test.each([
  [{}, 'running', false],
  [{ health: 'unhealthy' }, 'unhealthy', true],
  [{ status: 'exited' }, 'stopped', true],
  [{ status: '' }, '–', false],
])('a container with %j runs as %s', (entry, state, isBad) => {
  expect(rowContent(one(entry), undefined, now).runs).toMatchObject({ state, isBad });
});

describe('tell()', () => {
  test.each([
    [{ verdict: 'fresh' }, 'fine', 'Up to date'],
    [
      { verdict: 'fresh', last: { outcome: 'updated', at: iso(now - 12_000), downtime_ms: 1180 } },
      'fine',
      'Updated just now, down 1.2s',
    ],
    [
      { verdict: 'fresh', last: { outcome: 'updated', at: iso(now - 10 * 3_600_000), downtime_ms: 1310 } },
      'fine',
      'Updated today 04:52, down 1.3s',
    ],
    [{ verdict: 'stale' }, 'ready', 'Update ready'],
    [
      { verdict: 'held', hold: 'failed', last: { outcome: 'rolled_back', from: '1', to: '2', reason: 'it exited' } },
      'wrong',
      'Failed; back on 1',
    ],
    [{ verdict: 'held', hold: 'failed', last: { outcome: 'failed', reason: 'disk full' } }, 'wrong', 'Update failed'],
    [
      { verdict: 'held', hold: 'failed', status: 'exited', last: { outcome: 'failed', reason: 'disk full' } },
      'wrong',
      'Down: update failed',
    ],
    [
      { verdict: 'held', hold: 'cooldown', eligible_at: iso(now + 18 * 3_600_000) },
      'held',
      'Too young until tomorrow 08:52',
    ],
    [{ verdict: 'held', hold: 'monitor-only' }, 'held', 'Monitored only'],
    [{ verdict: 'held', hold: 'went-back', version: '1' }, 'held', 'Went back to 1'],
    [{ verdict: 'held', hold: 'something new', reason: 'because' }, 'held', 'Held back'],
    [{ verdict: 'pinned' }, 'held', 'Pinned to a digest'],
    [{ verdict: 'local' }, 'held', 'Built here'],
    [{ verdict: 'unknown', hold: 'rate-limited', reason: 'lscr.io limits' }, 'wrong', 'Could not be checked'],
    [{}, 'unchecked', 'Not checked yet'],
  ])('%j is in group %s: %s', (entry, group, word) => {
    const described = describeState(one(entry), undefined, now);
    expect([described.group, plain(described.word)]).toEqual([group, word]);
  });

  test('nothing but a fresh container is green', () => {
    for (const verdict of ['stale', 'held', 'pinned', 'local', 'unknown', undefined])
      expect(['fine', 'done']).not.toContain(describeState(one({ verdict }), undefined, now).tone);
  });

  test('an update under way comes before everything else', () => {
    expect(describeState(one({ verdict: 'unknown' }), waiting, now).word).toBe('Waits for its turn');
  });

  test.each([
    ['starting', { running: 2, wanted: 4 }, 'Starting, 2 of 4 tasks'],
    ['starting', { running: 0, wanted: 1 }, 'Starting, 0 of 1 task'],
    ['rolling back', { running: 3, wanted: 4 }, 'Rolling back, 3 of 4 tasks'],
    ['pulling', undefined, 'Starting'],
    ['waiting', undefined, 'Waits for its turn'],
  ] as const)('a service that is %s with %j tasks: %s', (phase, tasks, word) => {
    expect(describeState(one({ kind: 'service' }), { ...waiting, phase, tasks }, now).word).toBe(word);
  });

  test('an interrupted update needs a look', () => {
    const [read] = readDetails({ unfinished: [{ name: 'web', state: 'repair pending', reason: 'killed' }] });
    expect(read && describeState(read, undefined, now)).toMatchObject({
      group: 'wrong',
      word: 'Repair pending',
      why: 'Killed',
    });
  });

  test('age and size stand aside where they are known', () => {
    const entry = { verdict: 'stale', released_at: iso(now - 50 * 3_600_000), download_bytes: 412e6 };
    expect(plain(describeState(one(entry), undefined, now).aside ?? '')).toBe('released 2d ago, 412 MB');
    expect(describeState(one({ verdict: 'stale' }), undefined, now).aside).toBeUndefined();
  });
});

const countsOf = (fleet: ContainerStore) => arrangeContainers(fleet, 'status', now).counts;

function fleetOf(entries: readonly Record<string, unknown>[], status = {}) {
  const fleet = createContainerStore();
  const containers = entries.map((entry, place) => ({
    name: `c${place}`,
    image: 'app:1',
    status: 'running',
    ...entry,
  }));
  fleet.take(readDetails({ containers }), readStatus(status), now);
  return fleet;
}

test.each([
  [[{ verdict: 'unknown' }], '1 container: 1 needs a look, 0 with an update, 0 held back, 0 up to date'],
  [
    [{ verdict: 'unknown' }, { verdict: 'unknown' }, { verdict: 'stale' }, {}],
    '4 containers: 2 need a look, 1 with an update, 0 held back, 1 not checked yet, 0 up to date',
  ],
])('the counts are in words', (entries, words) => expect(countWords(countsOf(fleetOf(entries)))).toBe(words));

describe('headlineOf()', () => {
  const headline = (entries: readonly Record<string, unknown>[], pastMs?: number) => {
    const fleet = fleetOf(entries);
    return headlineOf(fleet, countsOf(fleet), pastMs);
  };
  const fresh = { verdict: 'fresh' };
  const rolledBack = {
    verdict: 'held',
    hold: 'failed',
    last: { outcome: 'rolled_back', from: '1', to: '2', reason: 'x' },
  };

  test.each([
    [[fresh, fresh], 'Everything is up to date', '2 containers, all running.'],
    [[fresh, { verdict: 'stale' }], 'All 2 containers are running', '1 update is ready.'],
    [
      [rolledBack, { verdict: 'unknown' }, { verdict: 'stale' }, { verdict: 'stale' }],
      'All 4 containers are running',
      '1 update failed and was rolled back, 1 could not be checked and 2 updates are ready.',
    ],
    [[fresh, { ...fresh, status: 'exited' }], '1 of 2 containers is running', 'No update is waiting.'],
    [
      [{ ...rolledBack, status: 'exited', last: { outcome: 'failed', reason: 'x' } }, fresh],
      'c0 is down',
      '1 update failed.',
    ],
    [
      [fresh, { verdict: 'pinned' }, { verdict: 'held', hold: 'skipped' }],
      'All 3 containers are running',
      '2 are held back.',
    ],
    [[{}, {}], 'All 2 containers are running', '2 have not been checked yet.'],
    [[], 'Nothing is watched yet', 'Upkeep runs and reaches the engine, but watches none of its containers.'],
  ])('%j: %s, %s', (entries, title, lead) => {
    const { title: said, parts } = headline(entries);
    expect([said, parts.map(({ text }) => text).join('')]).toEqual([title, lead]);
  });

  test('what is past is told in the past, with its time', () => {
    expect(headline([fresh, { verdict: 'stale' }], now)).toMatchObject({
      tone: 'past',
      title: 'At 14:52, all 2 containers were running',
    });
  });

  test('a run tells how far it is, and what is going on', () => {
    const fleet = fleetOf([{ verdict: 'stale' }, { verdict: 'stale' }]);
    fleet.ask(['c0', 'c1']);
    fleet.onEvent({ kind: 'phase_entered', data: { container: 'c0', phase: 'checking health' }, atMs: now }, now);
    expect(headlineOf(fleet, countsOf(fleet), undefined)).toMatchObject({
      tone: 'busy',
      title: 'Updating: 0 of 2 done',
      parts: [{ text: 'c0 is having its health checked. ' }],
    });
  });

  const run = { run_id: 'r', rollback: true, containers: [{ name: 'c0', phase: 'stopping' }] };
  test.each<[string, (fleet: ContainerStore) => unknown]>([
    ['requested on the page', (fleet) => fleet.ask(['c0'], 'rollback')],
    [
      'of an event',
      (fleet) => fleet.onEvent({ kind: 'update_started', data: { container: 'c0', rollback: true }, atMs: now }, now),
    ],
    ['of a status', (fleet) => fleet.take(fleet.all(), readStatus({ run }), now)],
  ])('a rollback %s is told as one, until it ends', (_origin, begin) => {
    const fleet = fleetOf([{ verdict: 'fresh' }]);
    const title = () => headlineOf(fleet, countsOf(fleet), undefined).title;
    begin(fleet);
    expect(title()).toBe('Rolling back c0');
    fleet.onEvent({ kind: 'scan_completed', data: {}, atMs: now }, now);
    fleet.ask(['c0']);
    expect(title()).toBe('Updating c0');
  });
});

test('steps are shown of an update that has failed, and not of a rollback that a person has requested', () => {
  const timesAfter = (outcome: string, hold = 'failed') => {
    const [one] = readDetails({
      containers: [{ name: 'web', verdict: 'held', hold, last: { outcome, phases_ms: { starting: 5 } } }],
    });
    return one && failedTimesOf(one);
  };
  expect([timesAfter('rolled_back'), timesAfter('went_back', 'went-back')]).toEqual([{ starting: 5 }, undefined]);
});

test('a higher version that is not taken is named beside what is up to date', () => {
  const explained = (reason: string) => {
    const [one] = readDetails({ containers: [{ name: 'web', verdict: 'fresh', reason }] });
    return one && explain(one, describeState(one, undefined, now), { ...circumstances, update: undefined });
  };
  const plain = 'Runs the newest image of its tag';
  expect(explained(plain)).toEqual([`${plain}.`]);
  expect(explained(`${plain}; "4.0.2-22" is higher, but a pre-release`)?.at(-1)).toMatch(/^"4.0.2-22" is.higher/);
});

const circumstances = { nextRunAtMs: undefined, canDecide: true, nowMs: now };

test('the words about an update under way are true for a rollback too, whose new container has the older version', () => {
  const [one] = readDetails({ containers: [{ name: 'web' }] });
  for (const phase of phases) {
    const update = { ...waiting, phase };
    if (one)
      expect(explain(one, describeState(one, update, now), { ...circumstances, update }).join()).not.toMatch(/version/);
  }
});

describe('arrangeContainers()', () => {
  const entries = [
    { verdict: 'fresh', name: 'b10', project: 'x' },
    { verdict: 'fresh', name: 'b2', project: 'x' },
    { verdict: 'unknown', name: 'z', project: 'y' },
  ];

  test('by state: what needs a look first, names in the order of their numbers', () => {
    expect(
      arrangeContainers(fleetOf(entries), 'status', now).groups.map(({ title, members }) => [
        title,
        members.map(({ one: { name } }) => name),
      ]),
    ).toEqual([
      ['Needs a look', ['z']],
      ['Up to date', ['b2', 'b10']],
    ]);
  });

  test('every heading has the number of its counter, in each state of each run', () => {
    const states = [
      ...[{ verdict: 'fresh' }, { verdict: 'stale' }, { verdict: 'unknown' }, { verdict: 'pinned' }, {}],
      ...['approval', 'failed', 'went-back', 'window'].map((hold) => ({ verdict: 'held', hold })),
    ];
    const fleet = fleetOf(states);
    const check = () => {
      const { groups, counts } = arrangeContainers(fleet, 'status', now);
      expect(Object.fromEntries(groups.map(({ key, members }) => [key, members.length]))).toEqual(
        Object.fromEntries(Object.entries(counts).filter(([key, count]) => count !== 0 && key in groupTitles)),
      );
      return groups.map(({ title }) => title);
    };
    check();
    fleet.ask(['c0', 'c1', 'c2']);
    fleet.onEvent({ kind: 'phase_entered', data: { container: 'c1', phase: 'rolling back' }, atMs: now }, now);
    expect(check()[1]).toBe('In progress');
    for (const container of ['c0', 'c1', 'c2'])
      fleet.onEvent({ kind: 'update_failed', data: { container, error: 'x' }, atMs: now }, now);
    expect(check()[0]).toBe('Needs a look');
  });

  test('by project: the one with the worst member first', () => {
    expect(arrangeContainers(fleetOf(entries), 'project', now).groups.map(({ title }) => title)).toEqual(['y', 'x']);
  });
});

test('scheduleWords() says the schedule, and nothing where there is none', () => {
  expect(scheduleWords(readStatus({ schedule: 'every day at 04:00 (Europe/Berlin)' }))).toBe(
    'Updates every day at 04:00 (Europe/Berlin).',
  );
  expect(scheduleWords(readStatus({}))).toBe('');
});

test('a filter wants every word, in any order, of name, image or project', () => {
  const facts = factsOf(one({ name: 'immich-redis', project: 'photos' }), 'fine');
  const fits = (q: string, show = startAddress.show) => filterFor({ ...startAddress, q, show }).fits(facts);
  expect([
    fits(''),
    fits('REDIS immich'),
    fits('photos nginx'),
    fits('nope'),
    fits('', 'ready'),
    fits('', 'fine'),
  ]).toEqual([true, true, true, false, false, true]);
});

test.each([
  [{ verdict: 'stale', version: '1', latest_version: '2' }, '1', '2'],
  [
    {
      verdict: 'stale',
      version: '1',
      latest_version: '1',
      digest: 'sha256:aaaaaaaaaa',
      latest_digest: 'sha256:bbbbbbbbbb',
    },
    '1',
    '',
  ],
  [{ verdict: 'stale', digest: 'sha256:aaaaaaaaaa', latest_digest: 'sha256:bbbbbbbbbb' }, 'aaaaaaaa', 'bbbbbbbb'],
  [{ verdict: 'fresh', digest: 'sha256:aaaaaaaaaa', latest_digest: 'sha256:aaaaaaaaaa' }, 'aaaaaaaa', ''],
  [{}, '', ''],
])('the versions of %j', (entry, from, to) => expect(versionsOf(one(entry))).toEqual({ from, to }));

test('an image is shown without its registry, and pulled with it and by digest', () => {
  expect(['ghcr.io/a/b:1', 'nginx:1', 'localhost:5000/x:1@sha256:abc', 'a/b'].map(shortImage)).toEqual([
    'a/b:1',
    'nginx:1',
    'x:1',
    'a/b',
  ]);
  expect(pullReference(one({ image: 'localhost:5000/x:1', digest: 'sha256:a', latest_digest: 'sha256:b' }))).toBe(
    'localhost:5000/x@sha256:b',
  );
  expect(pullReference(one({ image: 'blog:local' }))).toBe('');
  // A container that was created from the id of an image.
  for (const image of ['sha256:0123456789abcdef', '0123456789ab'])
    expect(pullReference(one({ image, digest: 'sha256:a' }))).toBe('');
});

test('the last run is told without counts until the history tells a failure from a rollback', () => {
  const timestamp = '2026-01-01T04:00:00Z';
  const status = readStatus({ last_run: timestamp, summary: { scanned: 2, failed: 1, updated: 1 } });
  const [run] = readHistory({ entries: [{ timestamp, updated: 1, failed: 1, rolled_back: 1 }] });
  const told = (newest: Parameters<typeof lastRunWords>[1]) => lastRunWords(status, newest, Date.parse(timestamp));
  expect(told('unread')).toMatch(/^Last run [^:]+(?::\d\d)?$/);
  expect(told(run)).toMatch(/: 1 updated and 1 failed and was rolled back$/);
  expect(told(undefined)).toMatch(/: 1 updated and 1 failed$/);
});
