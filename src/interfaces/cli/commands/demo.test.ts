import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/scene/command-scene.ts';
import { containerOutcome, session } from '../../../../test/support/scene/fake-application.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { createDemo } from './demo.ts';

function stageOf(stories: readonly (readonly string[])[]) {
  let rounds = 0;
  return {
    nextRound: () => stories[rounds++ % stories.length] ?? [],
    countContainers: () => ({ containers: 10, running: 10 }),
  };
}

describe('createDemo()', () => {
  const stage = stageOf([['nginx:1.27: a new release'], ['worker: a release that crashes']]);

  test('says what it is, tells each round, and ends by itself after --rounds', async () => {
    const scene = createCommandScene(['demo', '--rounds', '2'], {
      update: (application) => {
        const outcome = containerOutcome('web', { outcome: 'updated' });
        application.publish({ kind: 'update_completed', runId: '1', outcome, atMs: 0 });
        return session([outcome, containerOutcome('worker', { outcome: 'rolled_back', reason: 'x' })]);
      },
    });
    expect(await scene.clock.run(() => createDemo(stage)(scene.context))).toBe(0);
    const lines = scene.fake.out().split('\n');
    expect(lines[0]).toContain('touches no real container');
    expect(lines.slice(4)).toEqual([
      'Round 1',
      '  nginx:1.27: a new release',
      'web: updated',
      'Round 2',
      '  worker: a release that crashes',
      'web: updated',
      '',
      'Rounds: 2; replaced: 2; rolled back: 2; failed: 0; 10 of 10 containers are running',
      '',
    ]);
  });

  test('goes on when a client of the API has an update under way', async () => {
    let asked = 0;
    const scene = createCommandScene(['demo', '--rounds', '2'], {
      update: () => {
        asked += 1;
        if (asked === 1) throw new ServiceError('busy', 'Cannot update: another update is already running');
        return session([containerOutcome('web', { outcome: 'updated' })]);
      },
    });
    expect(await scene.clock.run(() => createDemo(stage)(scene.context))).toBe(0);
    expect(scene.fake.out()).toMatch(/^Round 1\n.*\n {2}An update requested over the API is under way/m);
    expect(scene.fake.out()).toContain('Rounds: 2; replaced: 1;');
  });

  test.each([
    ['the token', { api: 'one', events: 'one' }, 'the token one'],
    ['both tokens if they differ', { api: 'one', events: 'other' }, 'the token one and the events token other'],
  ])('is one line with the address of its page and %s with --page', async (_, tokens, words) => {
    const scene = createCommandScene(['demo', '--rounds', '1', '--page'], { update: () => session([]) });
    const page = 'http://127.0.0.1:8080/';
    const serve = () =>
      Promise.resolve({ address: 'http://127.0.0.1:8080', page, tokens, stop: () => Promise.resolve() });
    expect(await scene.clock.run(() => createDemo(stage)({ ...scene.context, serve }))).toBe(0);
    expect(scene.fake.out()).toBe(`${page}  sign in with ${words}\n`);
  });

  test('keeps a line of what became of each container above the table, with the reason', async () => {
    const reason = 'the new version failed: it ended with exit code 1';
    const scene = createCommandScene(
      ['demo', '--rounds', '2'],
      {
        update: (application) => {
          const outcome = containerOutcome('web', { outcome: 'rolled_back', reason, log: 'one\ntwo\nthree\n' });
          application.publish({ kind: 'update_failed', runId: '1', outcome, atMs: 0 });
          return session([outcome]);
        },
      },
      { isTerminal: true, columns: 120 },
    );
    expect(await scene.clock.run(() => createDemo(stage)(scene.context))).toBe(0);
    const kept = scene.fake.screen().filter((line) => line.startsWith(`  web: failed and was rolled back: ${reason}`));
    expect(kept).toHaveLength(2);
    const words = scene.fake.screen().filter((line) => line.startsWith('    '));
    expect(words).toEqual(['    two', '    three', '    two', '    three']);
  });

  test('is one JSON object per line with --json', async () => {
    const scene = createCommandScene(['demo', '--rounds', '1', '--json']);
    await scene.clock.run(() => createDemo(stage)(scene.context));
    const lines = scene.fake.out().trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual([
      'demo_started',
      'releases_published',
      'demo_ended',
    ]);
  });

  test('ends when it is asked to, with the table as it was', async () => {
    const scene = createCommandScene(
      ['demo'],
      {
        update: (application) => {
          const checked = { kind: 'container_checked', runId: '1', image: 'nginx:1.27', reason: '' } as const;
          application.publish({ ...checked, container: 'web', status: 'fresh' });
          return session([containerOutcome('web')]);
        },
      },
      { isTerminal: true, columns: 120 },
    );
    const code = createDemo(stage)(scene.context);
    await scene.clock.advance(2000);
    expect(scene.fake.screen()).toContain('Round 1');
    scene.interrupt.abort();
    expect(await code).toBe(0);
    expect(scene.fake.screen().slice(-4)).toEqual([
      'web        up to date  nginx:1.27',
      '',
      'Rounds: 1; replaced: 0; rolled back: 0; failed: 0; 10 of 10 containers are running',
      '',
    ]);
    expect([scene.application.listeners(), scene.clock.sleepers()]).toEqual([0, 0]);
  });
});
