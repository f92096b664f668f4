import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readOptions, percentOf, readEvent, readPlan, readStatus } from './status.ts';
import { readDecisions, readDetails, withDecisions } from './container.ts';
import { readHistory } from './history.ts';

describe('any JSON is read', () => {
  const readers = { readDetails, readStatus, readHistory, readOptions, readPlan, readDecisions };
  const shaped = fc.record({
    containers: fc.anything(),
    unfinished: fc.array(fc.anything()),
    entries: fc.array(fc.anything()),
    options: fc.array(fc.anything()),
    run: fc.anything(),
    engine: fc.anything(),
    plan: fc.array(fc.anything()),
    dry_run: fc.boolean(),
    decisions: fc.array(fc.anything()),
  });

  test.each(Object.entries(readers))('by %s', (_, read) => {
    fc.assert(fc.property(fc.oneof(fc.anything(), shaped), (json) => void read(json)));
  });

  test('by readEvent', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void readEvent(text)));
  });
});

describe('readDetails()', () => {
  test('reads what an entry tells, and leaves out what it does not', () => {
    const [one] = readDetails({
      containers: [
        {
          name: 'web',
          image: 'nginx:1.27',
          verdict: 'held',
          hold: 'failed',
          version: '1.27.2',
          latest_version: '1.27.3',
          change: 'patch',
          checked_at: '2026-11-20T12:00:00Z',
          download_bytes: 40_000_000,
          source_url: 'https://example.com/nginx',
          settings: [{ name: 'stop-timeout', value: '1m', source: 'label upkeep.stop-timeout' }],
          last: { outcome: 'rolled_back', at: '2026-11-20T04:02:00Z', to: '1.27.3', reason: 'it exited', log: 'boom' },
        },
      ],
    });
    expect(one).toMatchObject({
      name: 'web',
      verdict: 'held',
      hold: 'failed',
      change: 'patch',
      checkedAtMs: Date.UTC(2026, 10, 20, 12),
      last: { outcome: 'rolled_back', to: '1.27.3', log: 'boom', downtimeMs: undefined },
      eligibleAtMs: undefined,
      canRollBack: false,
    });
  });

  test.each([
    [{}, undefined],
    [{ verdict: 'splendid', checked_at: '2026-11-20T12:00:00Z', digest: 'a', latest_digest: 'b' }, 'unknown'],
    [{ verdict: 'unknown' }, 'unknown'],
  ])('%j is never up to date', (entry, verdict) => {
    expect(readDetails({ containers: [{ name: 'web', ...entry }] })[0]?.verdict).toBe(verdict);
  });

  test.each(['javascript:alert(1)', 'data:text/html,x', 'https://a b', ' https://a', `https://${'a'.repeat(500)}`])(
    '%s becomes no link',
    (url) => expect(readDetails({ containers: [{ name: 'web', source_url: url }] })[0]?.sourceUrl).toBe(''),
  );

  test('a version that failed after the last check is not ready, a newer one is', () => {
    const failed = { outcome: 'rolled_back', at: '2026-11-20T04:02:00Z', to: '2' };
    const read = (entry: object) =>
      readDetails({ containers: [{ name: 'web', verdict: 'stale', last: failed, ...entry }] })[0]?.verdict;
    expect([
      read({ latest_version: '2', checked_at: '2026-11-20T04:01:00Z' }),
      read({ latest_version: '3', checked_at: '2026-11-20T04:01:00Z' }),
      read({ latest_version: '2', checked_at: '2026-11-20T04:03:00Z' }),
    ]).toEqual(['held', 'stale', 'stale']);
  });

  test('a container whose update was interrupted is among them, listed or not', () => {
    const unfinished = [
      { name: 'gone', image: 'app:1', state: 'repair pending', reason: 'killed' },
      { name: 'web', state: 'in progress' },
    ];
    const all = readDetails({ containers: [{ name: 'web', image: 'nginx' }], unfinished });
    expect(all.map(({ name, unfinished: state }) => [name, state])).toEqual([
      ['web', 'in progress'],
      ['gone', 'repair pending'],
    ]);
  });
});

test('a status tells of an engine that is away, with a reason in any case', () => {
  expect(readStatus({ engine: { reachable: false, error: 'permission denied' } }).engineError).toBe(
    'permission denied',
  );
  expect(readStatus({ engine: { reachable: false } }).engineError).toBe('it does not answer');
  expect(readStatus({ engine: { reachable: true } }).engineError).toBeUndefined();
  expect(readStatus({}).engineError).toBeUndefined();
  const missing = { message: 'Updates are not possible', remedy: 'POST=1', prevents_updates: true };
  expect(readStatus({ engine: { reachable: true, missing_permissions: missing } }).missing).toEqual({
    message: 'Updates are not possible',
    remedy: 'POST=1',
    preventsUpdates: true,
  });
  expect(readStatus({ engine: { reachable: true, missing_permissions: { remedy: 'x' } } }).missing).toBeUndefined();
});

test('an option is set by a user as the service says, and by its source where an older one does not', () => {
  const options = [{ source: 'TERM', given: false }, { source: 'TERM' }, { source: 'default' }, {}];
  expect(readOptions({ options }).map(({ given }) => given)).toEqual([false, true, false, false]);
});

test('an answer that is no dry run is no plan', () => {
  expect(readPlan({ plan: [], dry_run: false })).toBeUndefined();
  expect(readPlan({ summary: {} })).toBeUndefined();
  expect(readPlan({ plan: [{ name: 'web', action: 'explode' }], dry_run: true })?.[0]?.action).toBe('skip');
});

test('a plan tells which data are copied, and why others are not; the history how large they were', () => {
  const data = { saved: ['/data', '/config'], not_saved: [{ path: '/cache', reason: 'memory' }] };
  const steps = readPlan({ dry_run: true, plan: [{ name: 'db', action: 'update', data }, { name: 'web' }] });
  expect(steps?.map((step) => step.data)).toEqual([
    { saved: ['/data', '/config'], notSaved: ['/cache (memory)'] },
    undefined,
  ]);
  const containers = [
    { name: 'db', outcome: 'updated', data: { bytes: 412, files: 3, restored: false } },
    { name: 'web', outcome: 'updated' },
  ];
  const [run] = readHistory({ entries: [{ timestamp: '2026-11-20T04:00:00Z', containers }] });
  expect(run?.containers.map(({ dataBytes }) => dataBytes)).toEqual([412, undefined]);
});

test('history is newest first, and has failures where a service lists no containers', () => {
  const runs = readHistory({
    entries: [
      { timestamp: '2026-11-19T04:00:00Z', failures: [{ name: 'web', outcome: 'failed', reason: 'x' }] },
      { timestamp: '2026-11-20T04:00:00Z', containers: [{ name: 'db', outcome: 'updated' }] },
    ],
  });
  expect(runs.map(({ containers }) => containers.map(({ name }) => name))).toEqual([['db'], ['web']]);
});

test('a run that ended after the clock of the service was set back is the newest', () => {
  const entries = [{ timestamp: '2026-11-20T04:00:00Z' }, { timestamp: '2026-11-19T23:00:00Z', run_id: 'last' }];
  expect(readHistory({ entries }).map(({ runId }) => runId)).toEqual(['last', '']);
});

test.each([
  [{ percent: 64 }, 64],
  [{ percent: 640 }, 100],
  [{ current_bytes: 1, total_bytes: 3 }, 33],
  [{ current_bytes: 1, total_bytes: 0 }, undefined],
  [{}, undefined],
])('percentOf(%j) is %j', (data, percent) => expect(percentOf(data)).toBe(percent));

describe('a service and a container of one name', () => {
  const containers = [
    { name: 'web', candidate_digest: 'sha256:new' },
    { name: 'web', kind: 'service', candidate_digest: 'sha256:new', depends_on: ['db'], engine: 'nas' },
  ];

  test('are two, and a service needs services', () => {
    expect(readDetails({ containers }).map(({ name, ownName, dependsOn }) => [name, ownName, dependsOn])).toEqual([
      ['web', 'web', []],
      ['nas/web (service)', 'web', ['nas/db (service)']],
    ]);
    const steps = containers.map((one) => ({ ...one, action: 'update' }));
    expect(readPlan({ dry_run: true, plan: steps })?.map(({ name }) => name)).toEqual(['web', 'nas/web (service)']);
  });

  test('both have the decision about their version', () => {
    const decision = { id: '1', decision: 'skip', container: 'web', digest: 'sha256:new', engine: 'nas' };
    const read = withDecisions(readDetails({ containers }), readDecisions({ decisions: [decision] }));
    expect(read.map(({ decision: one }) => one?.kind)).toEqual([undefined, 'skip']);
  });
});

describe('several engines', () => {
  const entry = { name: 'web', verdict: 'stale', latest_digest: 'sha256:new', depends_on: ['db'] };
  const containers = [
    { ...entry, engine: 'nas' },
    { ...entry, engine: 'pi' },
  ];

  test('containers of one name are two, and need the containers of their own engine', () => {
    const read = readDetails({ containers, unfinished: [{ name: 'web', engine: 'pi', state: 'in progress' }] });
    expect(
      read.map(({ name, ownName, engine, dependsOn, unfinished }) => [name, ownName, engine, dependsOn, unfinished]),
    ).toEqual([
      ['nas/web', 'web', 'nas', ['nas/db'], undefined],
      ['pi/web', 'web', 'pi', ['pi/db'], 'in progress'],
    ]);
  });

  test('a decision is about the container of its engine, and about the version that this waits for', () => {
    const decision = { id: '1', decision: 'skip', container: 'web', digest: 'sha256:new', by: 'API token' };
    const decisions = readDecisions({
      decisions: [
        { ...decision, engine: 'pi' },
        { ...decision, engine: 'nas', digest: 'sha256:old' },
      ],
    });
    const read = withDecisions(readDetails({ containers }), decisions);
    expect(read.map(({ name, decision: one }) => [name, one?.kind])).toEqual([
      ['nas/web', undefined],
      ['pi/web', 'skip'],
    ]);
  });
});
