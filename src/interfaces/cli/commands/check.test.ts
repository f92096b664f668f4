import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { checkedContainer, checkReport, type FakeAnswers } from '../../../../test/support/scene/fake-application.ts';
import type { FakeTerminalOptions } from '../../../../test/support/scene/fake-terminal.ts';
import type { CheckReport } from '../context/context.ts';
import { runReportingFailures } from '../cli.ts';
import { check } from './check.ts';

const web = checkedContainer('web', {
  image: 'nginx:1.27',
  status: 'stale',
  reason: 'A newer image of "nginx:1.27" is available',
  updateAvailable: true,
});
const db = checkedContainer('db', { image: 'postgres:16' });
const api = checkedContainer('api', {
  status: 'unknown',
  reason: 'The registry cannot be reached',
  latestDigest: undefined,
  error: 'Cannot check "api:1": connection refused',
});

describe('check()', () => {
  test('prints a table and the counts, and nothing on standard error', async () => {
    const { code, fake } = await run(
      ['check'],
      checkReport([web, db, api], { unwatched: [{ name: 'x', reason: 'is stopped' }] }),
    );
    expect(code).toBe(3);
    expect(fake.out().split('\n')).toEqual([
      'CONTAINER  STATUS                IMAGE        WHY',
      'api        could not be checked  api:1        Cannot check "api:1": connection refused',
      'web        update ready          nginx:1.27',
      'db         up to date            postgres:16',
      '',
      '3 containers: 1 could not be checked, 1 update ready, 1 up to date (1 more not watched)',
      '',
    ]);
    expect(fake.err()).toBe('');
  });

  test('names a higher version that is not taken beside what is up to date', async () => {
    const remark = '"16-18" is higher, but the number 18 at its end may be the version of another program';
    const { fake } = await run(
      ['check'],
      checkReport([{ ...db, reason: `Runs the newest image of its tag; ${remark}` }]),
    );
    expect(fake.out()).toMatch(/^db +up to date +postgres:16 +"16-18" is higher, but the number 18 at its end/m);
  });

  test('counts each container of an unfinished update once, by that state', async () => {
    const pending = { ...web, state: 'repair pending', reason: 'its owner is gone', isParked: false } as const;
    const { fake } = await run(['check'], checkReport([web, db], { unfinished: [pending] }));
    expect(fake.out().split('\n').slice(1)).toEqual([
      'web        repair pending  nginx:1.27   its owner is gone',
      'db         up to date      postgres:16',
      '',
      '2 containers: 1 repair pending, 1 up to date; the next run or start of Upkeep repairs what is pending',
      '',
    ]);
  });

  test('names versions old → new and for how long the new one has been out, where they are known', async () => {
    const versions = { version: '1.27.3', latestVersion: '1.27.4', releasedAtMs: Date.UTC(2025, 11, 29) };
    const newer = { ...web, ...versions };
    const same = { ...db, version: '16.4', releasedAtMs: 0 };
    const { fake } = await run(['check'], checkReport([same, newer]));
    expect(fake.out().split('\n').slice(0, 3)).toEqual([
      'CONTAINER  STATUS        VERSION          RELEASED  IMAGE',
      'web        update ready  1.27.3 → 1.27.4  3d ago    nginx:1.27',
      'db         up to date    16.4                       postgres:16',
    ]);
  });

  test('with --json prints one document with the fields of the HTTP interface', async () => {
    const { fake } = await run(['check', '--json'], checkReport([web, api]));
    const document = JSON.parse(fake.out()) as Record<string, unknown>;
    expect(document).toMatchObject({ count: 2, timestamp: '2026-01-01T00:00:01Z', api_version: 'v1' });
    expect(document['containers']).toEqual([
      {
        name: 'web',
        image: 'nginx:1.27',
        image_id: web.imageId,
        digest: web.digest,
        status: 'stale',
        reason: web.reason,
        update_available: true,
        latest_image_id: '',
        latest_digest: web.latestDigest,
        timestamp: '2026-01-01T00:00:01.500Z',
      },
      expect.objectContaining({ name: 'api', latest_digest: '', error: api.error }),
    ]);
  });

  test.each([
    [[web, db], 10],
    [[db], 0],
    [[web, api], 10],
    [[db, api], 3],
    [[], 0],
  ])('with --exit-code %# ends with %i', async (containers, expected) => {
    const { code } = await run(['check', '--exit-code'], checkReport(containers));
    expect(code).toBe(expected);
  });

  test('hands names and images to the service', async () => {
    const { application } = await run(['check', 'web', '/db', '--image', 'nginx'], checkReport([web]));
    expect(application.asked).toEqual([
      ['check', { images: ['nginx'], containers: ['web', 'db'], engines: [], asScheduled: true, forgiving: true }],
    ]);
  });

  test('a name or an image that means nothing is an error that names it, also beside one that does', async () => {
    const unmatched = [{ filter: 'ngnix', reason: 'No watched container runs this image; did you mean "nginx"?' }];
    const { code, fake } = await run(['check', '--image', 'nginx,ngnix'], checkReport([web], { unmatched }));
    expect(code).toBe(1);
    expect(fake.out()).toBe('');
    expect(fake.err().split('\n')).toEqual([
      'upkeep: Cannot check "ngnix": no watched container runs this image; did you mean "nginx"?',
      '  "upkeep check" without names lists the watched containers',
      '',
    ]);
  });

  test('shows on a terminal what has been checked so far, and then the table alone', async () => {
    const screens: (readonly string[])[] = [];
    const scene = createCommandScene(
      ['check'],
      {
        check: async (application) => {
          application.publish({ kind: 'containers_selected', runId: '1', names: ['web', 'db'] });
          const { image, reason, status } = web;
          application.publish({ kind: 'container_checked', runId: '1', container: 'web', image, reason, status });
          await scene.clock.advance(200);
          screens.push(scene.fake.screen());
          return checkReport([web, db]);
        },
      },
      { isTerminal: true, columns: 100 },
    );
    expect(await check(scene.context)).toBe(0);
    expect(screens[0]?.slice(1)).toEqual([
      expect.stringMatching(/^web +update ready +nginx:1.27$/),
      expect.stringMatching(/^db +waits for its turn$/),
      '',
    ]);
    expect(scene.fake.screen().slice(1, 3)).toEqual([
      expect.stringMatching(/^web +update ready +nginx:1.27$/),
      expect.stringMatching(/^db +up to date +postgres:16$/),
    ]);
    expect(scene.application.listeners()).toBe(0);
    expect(scene.clock.sleepers()).toBe(0);
  });

  test.each([[['check', '--no-color']], [['check', '--json']]])('%j prints no colours on a terminal', async (argv) => {
    const { fake } = await run(argv, checkReport([web]), { isTerminal: true });
    expect(fake.out()).not.toContain('\u001b[3');
  });

  test('lets no name or reason write to the terminal by itself', async () => {
    const evil = checkedContainer('\u001b]0;owned\u0007web\n', { reason: '\u009b2J', image: 'x\r' });
    const { fake } = await run(['check'], checkReport([evil]));
    // oxlint-disable-next-line no-control-regex -- looking for them is the point
    expect(fake.out()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });
});

async function run(argv: readonly string[], report: CheckReport, options: FakeTerminalOptions = {}) {
  const answers: FakeAnswers = { check: () => report };
  const scene = createCommandScene(argv, answers, options);
  return { code: await runReportingFailures(check, scene.context), ...scene };
}
