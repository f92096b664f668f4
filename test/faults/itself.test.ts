import { describe, expect, test } from 'vitest';
import type { PlannedFault } from '../../sandbox/engine/calls.ts';
import {
  type FaultsOf,
  faultsOfService,
  type Life,
  type ServiceShape,
  type ServiceStage,
  setServiceStage,
} from './memory/service-itself.ts';

/** Upkeep replaces the container that it runs in. At no call may it be lost, whichever process is killed. */

const shapes: readonly ServiceShape[] = [
  { name: 'unless-stopped', next: {}, good: true, policy: 'unless-stopped' },
  {
    name: 'always, with a published port',
    next: {},
    good: true,
    policy: 'always',
    hostConfig: { PortBindings: { '8080/tcp': [{ HostPort: '8080' }] } },
  },
  { name: 'the new version ends at once', next: { exitsAfterMs: 1, exitCode: 3 }, good: false, policy: 'always' },
  {
    name: 'the new version ends later',
    next: { exitsAfterMs: 2000, exitCode: 4 },
    good: false,
    policy: 'unless-stopped',
  },
  {
    name: 'the new version cannot start',
    next: { startError: 'exec: "upkeep": not found' },
    good: false,
    policy: 'always',
  },
  { name: 'the new version is never healthy', next: { sick: true }, good: false, policy: 'unless-stopped' },
];

type Calls = Readonly<Record<Life['kind'], readonly string[]>>;

/** A run without a fault shows the calls of the first service and the first helper. */
async function clean(shape: ServiceShape): Promise<{ readonly stage: ServiceStage; readonly calls: Calls }> {
  const stage = await setServiceStage(shape);
  await stage.settle();
  stage.close();
  const of = (kind: Life['kind']) =>
    stage.lives
      .find((life) => life.kind === kind)!
      .connection.calls.map(({ kind: call, target, detail }) => `${kind}: ${call} ${target} ${detail}`);
  return { stage, calls: { service: of('service'), helper: of('helper') } };
}

function first(who: Life['kind'], fault: PlannedFault): FaultsOf {
  return (kind, nth) => (kind === who && nth === 1 ? [fault] : []);
}

describe.each(shapes)('an update of its own container: $name', (shape) => {
  test(shape.good ? 'replaces it' : 'is undone', async () => {
    const { stage } = await clean(shape);
    expect(faultsOfService(stage, shape)).toEqual([]);
    const outcomes = new Map(stage.session()?.containers.map((outcome) => [outcome.name, outcome]));
    expect(outcomes.get('web')?.outcome).toBe('updated');
    expect(outcomes.get('upkeep')).toMatchObject({
      outcome: 'deferred',
      reason: 'Upkeep itself: a helper container finishes this update, and the next start reports the result',
    });
    const told = stage.lives.flatMap(({ log }) => log).filter((line) => line.includes('Upkeep itself was'));
    expect(told).toEqual([
      shape.good ? 'info: Upkeep itself was updated from 1 to 2' : 'warn: Upkeep itself was not updated from 1 to 2',
    ]);
    expect(stage.maxAtOnce()).toBe(1);
  });

  test('comes last, and once the helper runs the process that made it touches nothing more', async () => {
    const { calls } = await clean(shape);
    expect(calls.service.at(-1)).toMatch(/^service: startContainer upkeep\.upkeep-helper /);
    expect(calls.service.findLastIndex((call) => call.includes(' web'))).toBeLessThan(
      calls.service.findIndex((call) => / upkeep(?!-open)/.test(call)),
    );
    expect(calls.helper[0]).toBe(
      'helper: renameContainer upkeep upkeep.upkeep-old-' + (shape.policy === 'always' ? 'a' : 'u'),
    );
  });

  test.each(['before', 'during', 'after'] as const)('whoever is killed %s any call: nothing is lost', async (when) => {
    const { calls } = await clean(shape);
    const lost: string[] = [];
    for (const who of ['service', 'helper'] as const) {
      for (const [index, call] of calls[who].entries()) {
        const stage = await setServiceStage(shape, first(who, { at: index + 1, fault: { kind: 'crash', when } }));
        await stage.settle();
        const faults = faultsOfService(stage, shape);
        stage.close();
        if (stage.maxAtOnce() > 1) faults.push(`${stage.maxAtOnce()} ran at once`);
        if (faults.length > 0) lost.push(`${when} ${call}: ${faults.join('; ')}`);
      }
    }
    expect(lost).toEqual([]);
  });

  test('the helper is killed at any call, and each later one at any of its calls: nothing is lost', async () => {
    const { calls } = await clean(shape);
    const lost: string[] = [];
    for (const [index, call] of calls.helper.entries()) {
      for (let at = 1; at < 12; at += 1) {
        const stage = await setServiceStage(shape, (kind, nth) => {
          if (kind !== 'helper' || nth > 2) return [];
          return [{ at: nth === 1 ? index + 1 : at, fault: { kind: 'crash', when: nth === 1 ? 'after' : 'during' } }];
        });
        await stage.settle();
        const faults = faultsOfService(stage, shape);
        stage.close();
        if (faults.length > 0) lost.push(`after ${call}, then at ${at}: ${faults.join('; ')}`);
        const second = stage.lives.filter(({ kind }) => kind === 'helper')[1];
        if ((second?.connection.calls.length ?? 0) < at) break;
      }
    }
    expect(lost).toEqual([]);
  });

  test('someone removes the helper at any of its calls, and starts Upkeep where none runs: nothing is lost', async () => {
    const { calls } = await clean(shape);
    const lost: string[] = [];
    for (const [index, call] of calls.helper.entries()) {
      for (const when of ['before', 'after'] as const) {
        let removed = false;
        const act = () => {
          removed = true;
          stage.scene.sandbox.control.removeContainer('upkeep.upkeep-helper');
        };
        const stage: ServiceStage = await setServiceStage(
          shape,
          first('helper', { at: index + 1, fault: { kind: 'third-party', when, act } }),
        );
        await stage.settle();
        await stage.startByHand();
        const faults = faultsOfService(stage, shape);
        stage.close();
        if (!removed) faults.push('nobody removed it');
        if (faults.length > 0) lost.push(`${when} ${call}: ${faults.join('; ')}`);
      }
    }
    expect(lost).toEqual([]);
  });

  test.each([
    ['the answer is lost', { kind: 'lose-answer' }],
    ['the request is lost', { kind: 'lose-request' }],
    ['the engine refuses with 500', { kind: 'refuse', status: 500 }],
  ] as const)('%s at any one call: nothing is lost', async (_what, fault) => {
    const { calls } = await clean(shape);
    const lost: string[] = [];
    for (const who of ['service', 'helper'] as const) {
      for (const [index, call] of calls[who].entries()) {
        const stage = await setServiceStage(shape, first(who, { at: index + 1, fault }));
        await stage.settle();
        const faults = faultsOfService(stage, shape);
        stage.close();
        if (faults.length > 0) lost.push(`${call}: ${faults.join('; ')}`);
      }
    }
    expect(lost).toEqual([]);
  });

  test.each(['power-cut', 'crash', 'graceful'] as const)(
    '%s of the engine at any call: nothing is lost',
    async (how) => {
      const { calls } = await clean(shape);
      const lost: string[] = [];
      for (const who of ['service', 'helper'] as const) {
        for (const [index, call] of calls[who].entries()) {
          for (const when of ['before', 'during', 'after'] as const) {
            const fault = { kind: 'engine-restart', how, when } as const;
            const stage = await setServiceStage(shape, first(who, { at: index + 1, fault }));
            await stage.settle();
            if (how === 'crash') await stage.startByHand();
            const faults = faultsOfService(stage, shape);
            stage.close();
            if (faults.length > 0) lost.push(`${when} ${call}: ${faults.join('; ')}`);
          }
        }
      }
      expect(lost).toEqual([]);
    },
  );
});
