import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../sandbox/base/behaviour.ts';
import type { PlannedFault } from '../../sandbox/engine/calls.ts';
import { recoverTransactions } from '../../src/application/recovery/recover.ts';
import { runTransaction } from '../../src/application/transaction/run-transaction.ts';
import type { ContainerOutcome, OutcomeKind } from '../../src/domain/run/session.ts';
import { defaultSettings, type ServiceSettings } from '../../src/domain/settings/effective-settings.ts';
import { fnv64 } from '../../src/domain/text/plain-data.ts';
import type { PlannedTransaction } from '../../src/domain/plan/update-plan.ts';
import { createSandboxScene, type SandboxScene } from '../support/scene/sandbox-outside.ts';
import { faultsIn, setStage, settings as stageSettings, shapes, type Stage, startAgain } from './memory/stage.ts';

const image = 'registry.test/app:stable';
const settings = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000 };

/** A running `web` whose tag has moved on, and the plan to update it. */
async function setScene(
  next: Behaviour = {},
): Promise<{ readonly scene: SandboxScene; readonly planned: PlannedTransaction }> {
  const scene = createSandboxScene();
  scene.registry.store.publish(image, { version: '1', behaviour: { stopMs: 200 } });
  await scene.sandbox.engine.pullImage({ reference: image });
  const id = scene.sandbox.control.runContainer('web', {
    Image: image,
    HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
  });
  const { digest } = scene.registry.store.publish(image, { version: '2', behaviour: next });
  const container = (await scene.sandbox.engine.inspectContainer(id))!;
  return {
    scene,
    planned: {
      id,
      after: [],
      requires: [],
      members: [
        {
          container,
          cause: 'stale',
          reference: image,
          digest,
          hardDependencies: [],
          desiredEndState: 'running',
          waitsFor: [],
        },
      ],
    },
  };
}

/** Latencies of up to `maxMs` that differ from run to run, so that the racers meet at other calls each time. */
function jitter(seed: number, maxMs = 120): Record<string, number> {
  const kinds = [
    'tagImage',
    'createContainer',
    'renameContainer',
    'updateRestartPolicy',
    'stopContainer',
    'startContainer',
    'removeContainer',
  ];
  return Object.fromEntries(
    kinds.map((kind) => [kind, 1 + (Number.parseInt(fnv64(`${seed} ${kind}`).slice(0, 8), 16) % maxMs)]),
  );
}

type Race = {
  readonly round: number;
  /** The first one starts at once, the others within this number of milliseconds. */
  readonly withinMs: number;
  readonly settings: ServiceSettings;
  /** The first is killed at one of its calls, or after the last. */
  readonly oneDies?: boolean;
};

function race(
  { scene, planned }: Pick<Stage, 'scene' | 'planned'>,
  { round, withinMs, settings: effective, oneDies = false }: Race,
): Promise<readonly (readonly ContainerOutcome[])[]> {
  const death: PlannedFault = { at: 1 + ((round * 7) % 16), fault: { kind: 'crash', when: 'during' } };
  const racers = Array.from({ length: 2 + (round % 3) }, async (_, index) => {
    const dies = oneDies && index === 0;
    const { outside, connection } = scene.startProcess(
      scene.sandbox.connect({
        latencyMs: jitter(round * 5 + index, round % 4 === 0 ? 2000 : 120),
        faults: dies ? [death] : [],
      }),
    );
    await scene.clock.sleep((round * 131 * index) % withinMs);
    const run = runTransaction(outside, effective, planned, { runId: 'race' });
    if (!dies) return run;
    const outcomes = await run.catch(() => []);
    connection.crash();
    return outcomes;
  });
  return scene.clock.run(() => Promise.all(racers));
}

function expectOneWeb(scene: SandboxScene): void {
  const { containers } = scene.sandbox.control.snapshot();
  expect(Object.keys(containers)).toEqual(['web']);
  expect(containers['web']).toMatchObject({
    running: true,
    settings: { HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } },
  });
}

describe('several instances of the service at once', () => {
  const rounds = Array.from({ length: 200 }, (_, round) => round);

  test('of 2 to 4 updaters on one container, at most one updates it, and nothing is lost, in 200 rounds', async () => {
    for (const round of rounds) {
      const { scene, planned } = await setScene();
      const outcomes = await race({ scene, planned }, { round, withinMs: 800, settings });
      const kinds = outcomes.map(([outcome]) => outcome?.outcome);
      expect(
        kinds.filter((kind) => kind === 'updated').length,
        `round ${round}: ${JSON.stringify(outcomes)}`,
      ).toBeLessThanOrEqual(1);
      expect(
        kinds.filter((kind) => kind !== 'updated' && kind !== 'deferred'),
        `round ${round}: ${JSON.stringify(outcomes)}`,
      ).toEqual([]);
      expectOneWeb(scene);
    }
  });

  test('of 2 to 4 updaters to a bad version none updates it, and the old one runs as it did, in 600 rounds', async () => {
    for (let round = 0; round < 600; round += 1) {
      const { scene, planned } = await setScene({ exitsAfterMs: 30, exitCode: 1 });
      const outcomes = await race({ scene, planned }, { round, withinMs: 2500, settings });
      const kinds = outcomes.map(([outcome]) => outcome?.outcome);
      const told = `round ${round}: ${JSON.stringify(outcomes)}`;
      expect(
        kinds.filter((kind) => kind !== 'rolled_back' && kind !== 'deferred'),
        told,
      ).toEqual([]);
      expectOneWeb(scene);
      expect(scene.sandbox.control.snapshot().containers['web']?.id, told).toBe(planned.members[0]?.container.id);
    }
  });

  test('a start beside a living updater leaves its transaction alone', async () => {
    for (const round of rounds) {
      const { scene, planned } = await setScene();
      const updater = scene.startProcess(scene.sandbox.connect({ latencyMs: jitter(round) }));
      const newcomer = scene.startProcess();
      await scene.clock.run(async () => {
        const update = runTransaction(updater.outside, settings, planned, { runId: 'run' });
        await scene.clock.sleep(round * 7);
        await recoverTransactions(newcomer.outside, settings);
        expect((await update)[0]?.outcome).toBe('updated');
      });
      expect(newcomer.connection.calls).toEqual([]);
      expectOneWeb(scene);
    }
  });

  test('two starts after a crash repair the same transaction together without harm', async () => {
    for (const round of rounds) {
      const { scene, planned } = await setScene();
      const killed = scene.startProcess(
        scene.sandbox.connect({ faults: [{ at: 1 + (round % 12), fault: { kind: 'crash', when: 'after' } }] }),
      );
      await scene.clock.run(() => runTransaction(killed.outside, settings, planned, { runId: 'run' })).catch(() => []);
      killed.connection.crash();
      const starts = [1, 2].map((index) =>
        scene.startProcess(scene.sandbox.connect({ latencyMs: jitter(round * 3 + index) })),
      );
      await scene.clock.run(() => Promise.all(starts.map(({ outside }) => recoverTransactions(outside, settings))));
      expectOneWeb(scene);
    }
  });
});

/** In these, one creates its successor while another one undoes its own update. */
const lateRounds = [1076, 1100, 1844, 2768, 2784];

/** 35 rounds for each shape. In every third one, one process is killed at one of its calls, and a start follows. */
describe.each(shapes)('2 to 4 updaters at once of a container: $name', (shape) => {
  test('at most one does it, the others leave it to that one, and nothing is lost', async () => {
    const wrong: string[] = [];
    for (const round of [...Array.from({ length: 30 }, (_, each) => each), ...lateRounds]) {
      const stage = await setStage(shape);
      const oneDies = round % 3 === 2;
      const withinMs = round % 2 === 0 ? 800 : 4000;
      const outcomes = await race(stage, { round, withinMs, settings: stageSettings, oneDies });
      const kinds = outcomes.flat().map(({ outcome }) => outcome);
      const faults: string[] = [];
      const ofBad = shape.stopped ? 'failed' : 'rolled_back';
      const expected: readonly OutcomeKind[] = [
        shape.good ? 'updated' : ofBad,
        'deferred',
        ...(shape.dependent ? (['skipped'] as const) : []),
      ];
      if (!oneDies && kinds.some((kind) => !expected.includes(kind))) faults.push(tellShort(outcomes));
      const most = shape.good ? stage.before.size : Infinity;
      if (kinds.filter((kind) => kind === expected[0]).length > most) faults.push('two have done it');
      if (oneDies) await startAgain(stage);
      faults.push(...faultsIn(stage, shape));
      const { changes } = await startAgain(stage);
      if (changes > 0) faults.push(`a start made ${changes} changes afterwards`);
      if (faults.length > 0) wrong.push(`round ${round}: ${faults.join('; ')}`);
    }
    expect(wrong).toEqual([]);
  });
});

function tellShort(outcomes: readonly (readonly ContainerOutcome[])[]): string {
  return outcomes
    .map((racer) => racer.map(({ name, outcome, reason }) => `${name} ${outcome} (${reason})`).join(', '))
    .join(' | ');
}
