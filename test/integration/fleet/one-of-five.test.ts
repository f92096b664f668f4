import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import type { ProxiedCall } from '../../lab/proxy/fault-proxy.ts';
import { isSampled } from '../../support/sampled.ts';
import { followEvents } from '../../support/http/event-reader.ts';
import { engineFaults } from '../../support/scene/engine-faults.ts';
import { five, four, startFiveEngines, type FiveEngines } from '../../support/scene/five-engines.ts';
import { serveFleet, updatedEngines } from '../../support/scene/serve-fleet.ts';

type Reply = {
  readonly containers: readonly {
    readonly engine: string;
    readonly status?: string;
    readonly outcome?: string;
    readonly reason: string;
  }[];
  readonly engines: readonly { readonly name: string; readonly result: string; readonly error?: string }[];
};

describeInLab('one of five engines', (lab) => {
  let fleet: FiveEngines;
  beforeAll(async () => {
    fleet = await startFiveEngines(lab, 'one-of-five/app');
  });
  afterAll(() => fleet.remove());

  // An unreachable engine is retried after up to a minute. A push runs a third of the faults, because they take long.
  test.each(engineFaults.filter((_, index) => isSampled(index, 3)))(
    '$name: the others are updated, and it comes back by itself',
    async ({ strike, heal, told }) => {
      const upkeep = await serveFleet(fleet.hosts(five), { args: ['--health-window', '500ms'] });
      await upkeep.lists(5);
      const events = await followEvents(upkeep.url);
      onTestFinished(() => events.end());
      const digest = await fleet.release();
      strike(fleet.fifth);
      let isHealed = false;
      const healOnce = async () => {
        if (!isHealed) await heal(fleet.fifth);
        isHealed = true;
      };
      onTestFinished(healOnce);

      const update = upkeep.read<Reply>('/v1/update', 'POST');
      await expect
        .poll(() => updatedEngines(events), { timeout: 120_000, interval: 50 })
        .toEqual(expect.arrayContaining([...four]));
      if (told === 'waits') expectAway(await upkeep.read<Reply>('/v1/check', 'POST'));
      else if (told === 'unreachable') expectAway(await update);
      else
        expect(ofFive(await update)).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('no space') });

      await healOnce();
      await expect.poll(() => upkeep.isReachable('five'), { timeout: 90_000, interval: 200 }).toBe(true);
      if (told === 'waits') expect(ofFive(await update)).toMatchObject({ outcome: 'updated' });
      expect(await statesOn(fleet.fifth.engine)).toEqual(['/web running']);
      await upkeep.read<Reply>('/v1/update?engine=five', 'POST');
      for (const [name, engine] of Object.entries(fleet.engines)) {
        expect(await statesOn(engine), name).toEqual(['/web running']);
        expect(await digestOf(engine, 'web'), name).toContain(digest);
      }
    },
  );

  test('full and targeted updates overlap on different engines', async () => {
    const upkeep = await serveFleet(fleet.hosts(five), { args: ['--health-window', '500ms'] });
    await upkeep.lists(5);
    const events = await followEvents(upkeep.url);
    onTestFinished(() => events.end());
    let goOn = () => {};
    const held = new Promise<void>((resolve) => (goOn = resolve));
    onTestFinished(goOn);
    const isPull = ({ path, change }: ProxiedCall) => change !== undefined && path.includes('/images/create');
    fleet.fifth.proxy.arm({ at: isPull, fault: { kind: 'meanwhile', when: 'before', act: () => held } });
    await fleet.release();

    const full = upkeep.read<Reply>('/v1/update', 'POST');
    await expect
      .poll(() => updatedEngines(events), { timeout: 120_000, interval: 50 })
      .toEqual(expect.arrayContaining([...four]));
    await fleet.release();
    const targeted = await upkeep.read<Reply>('/v1/update?container=web&engine=one', 'POST');
    expect(targeted.containers).toMatchObject([{ engine: 'one', outcome: 'updated' }]);
    const second = await upkeep.read<Reply>('/v1/update', 'POST');
    expect(second.engines.map(({ name, result }) => `${name} ${result}`)).toEqual([
      ...four.map((name) => `${name} ran`),
      'five busy',
    ]);
    goOn();
    expect(ofFive(await full)).toMatchObject({ outcome: 'updated' });
  });
});

function ofFive({ containers }: Reply) {
  return containers.find(({ engine }) => engine === 'five');
}

function expectAway(reply: Reply): void {
  const told = reply.engines.map(({ name, result }) => `${name} ${result}`);
  expect(told).toEqual([...four.map((name) => `${name} ran`), 'five unreachable']);
  const { status, outcome, reason } = ofFive(reply) ?? {};
  expect([outcome ?? status, reason]).toEqual(['unknown', expect.stringMatching(/^Cannot reach the /)]);
}

async function statesOn(engine: EngineClient): Promise<readonly string[]> {
  const { body } = await engine.call('GET', '/containers/json?all=1');
  const listed = body as readonly { readonly Names: readonly string[]; readonly State: string }[];
  return listed.map(({ Names, State }) => `${Names.join(' ')} ${State}`);
}

async function digestOf(engine: EngineClient, name: string): Promise<string> {
  const container = await engine.inspect(name);
  expect(container?.State.Running).toBe(true);
  const { body } = await engine.call('GET', `/images/${container?.Image}/json`);
  return (body as { RepoDigests?: readonly string[] }).RepoDigests?.join(' ') ?? '';
}
