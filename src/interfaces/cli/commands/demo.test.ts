import { describe, expect, test } from 'vitest';
import { createCommandScene } from '../../../../test/support/command-scene.ts';
import { containerOutcome, session } from '../../../../test/support/fake-application.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { createDemo } from './demo.ts';

function stageOf(stories: readonly (readonly string[])[]) {
  let rounds = 0;
  return { nextRound: () => stories[rounds++ % stories.length] ?? [], census: () => ({ containers: 10, running: 10 }) };
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
      'Rounds: 2; replaced: 2; brought back: 2; failed: 0; 10 of 10 containers are running',
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
    expect(scene.fake.out()).toMatch(/^Round 1\n.*\n {2}An update that the API was asked for is under way/m);
    expect(scene.fake.out()).toContain('Rounds: 2; replaced: 1;');
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
      'Rounds: 1; replaced: 0; brought back: 0; failed: 0; 10 of 10 containers are running',
      '',
    ]);
    expect([scene.application.listeners(), scene.clock.sleepers()]).toEqual([0, 0]);
  });
});
