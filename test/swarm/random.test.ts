import { setTimeout as sleep } from 'node:timers/promises';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import type { LabSwarm } from '../lab/swarm/swarm.ts';
import { deploy, update, type Deployed, type DeployWish } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

const servicesAtOnce = 8;
/** 200 of them with `npm run test:swarm -- --cases 200`; the draw of a push selects some. */
const rounds = Math.ceil(Number(process.env['SWARM_CASES'] ?? '8') / servicesAtOnce);
const onlyRound = process.env['SWARM_ROUND'];
const seed = process.env['TEST_DRAW'] ?? 'all';

const faults = ['none', 'none', 'a node is lost', 'the registry is away'] as const;

describeInSwarm('updates at random', {}, (swarm) => {
  const outcomes = new Map<string, number>();
  let untrue = 0;
  /** Prints after each round, so that an interrupted run still shows results. */
  async function report(file: string): Promise<void> {
    const { body } = await swarm().node(1).engine.call('GET', '/version');
    const cases = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
    const engine = `Docker ${(body as { Version: string }).Version}`;
    const told = { engine, cases, untrue, outcomes: Object.fromEntries(outcomes) };
    writeFileSync(file, `${JSON.stringify(told, undefined, 2)}\n`);
  }

  test.each(onlyRound === undefined ? Array.from({ length: rounds }, (_, round) => round) : [Number(onlyRound)])(
    'are told as the tasks are (round %i)',
    async (round) => {
      const draw = drawFrom(`${seed} ${round}`);
      const away = { Placement: { Constraints: ['node.hostname!=n1'] } };
      const services: { readonly deployed: Deployed; readonly next: string; readonly what: object }[] = [];
      for (let index = 0; index < servicesAtOnce; index += 1) {
        const wish: DeployWish = {
          ...draw<DeployWish>([{ replicas: 1 }, { replicas: 2 }, { replicas: 4 }, { global: true }]),
          ...draw<DeployWish>([
            {},
            { hostPort: 18_120 + index, replicas: 2, global: false },
            { task: away, replicas: 2, global: false },
          ]),
          update: {
            Order: draw(['stop-first', 'start-first', 'stop-first']),
            FailureAction: draw(['rollback', 'pause', 'continue']),
            Parallelism: draw([0, 1, 1, 2]),
            MaxFailureRatio: draw([0, 0, 0.5]),
            Delay: draw([0, 0, 1_000_000_000]),
          },
        };
        const tag = draw(['v2', 'plain-v2', 'slow', 'crash', 'crash-later', 'sick', 'unstartable'] as const);
        const deployed = await deploy(swarm(), `web-${index}`, catalogue.v1, wish);
        services.push({ deployed, next: await deployed.publish(catalogue[tag]), what: { tag, ...wish } });
      }
      const fault = draw(faults);
      const running = update(swarm(), '--pull-timeout', '45s');
      await sleep(draw([500, 1500, 3000]));
      await strike(swarm(), fault);
      const told = await running;
      const untruths = [];
      for (const { deployed, next, what } of services) {
        const entry = told.of(deployed.name);
        outcomes.set(entry.outcome, (outcomes.get(entry.outcome) ?? 0) + 1);
        const why = await untruth(swarm(), deployed, next, entry);
        if (why !== undefined) untruths.push({ why, fault, what, entry });
      }
      untrue += untruths.length;
      const file = process.env['SWARM_REPORT'];
      if (file !== undefined) await report(file);
      if (fault === 'the registry is away') await swarm().registry.start();
      expect(untruths, JSON.stringify(untruths)).toEqual([]);
    },
  );
});

async function strike(swarm: LabSwarm, fault: (typeof faults)[number]): Promise<void> {
  if (fault === 'a node is lost') await swarm.node(3).lose();
  if (fault === 'the registry is away') await swarm.registry.stop();
}

/** The same choices for the same text, on every machine. */
function drawFrom(text: string): <Item>(choices: readonly Item[]) => Item {
  let count = 0;
  return (choices) => {
    const number = createHash('sha256')
      .update(`${text} ${(count += 1)}`)
      .digest()
      .readUInt32BE(0);
    const item = choices[number % choices.length];
    if (item === undefined) throw new Error('There is nothing to choose from');
    return item;
  };
}
