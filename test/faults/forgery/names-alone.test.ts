import { describe, expect, test } from 'vitest';
import type { Container } from '../../../src/domain/container/container.ts';
import { type Cast, type Part, restart, setStage, type Stage } from '../../failures/rig/stage.ts';

/** Containers outside of any transaction, with names like in a transaction. */

const states = ['running', 'exited', 'created'] as const;
const names = [
  'api.upkeep-old-u',
  'job.upkeep-drop-n',
  'web.upkeep-drop-n',
  'web.upkeep-old-a-s',
  'yy.upkeep-standin',
  'web.upkeep-standin',
  'kk.upkeep-kept-n-1',
  'web.upkeep-kept-u-1',
  'bb.upkeep-bad',
  'web.upkeep-bad',
  'nn.upkeep-new',
  'hh.upkeep-helper',
] as const;

const plain = { next: 'none', body: { HostConfig: restart('unless-stopped') } } as const;

async function standing(name: string, state: (typeof states)[number], beside: Cast = {}): Promise<Stage> {
  const odd: Part = { ...plain, image: 'odd:1', stopped: state === 'created' };
  const stage = await setStage({ ...beside, [name]: odd });
  if (state === 'exited') await stage.scene.sandbox.control.stopContainer(name);
  return { ...stage, before: new Map(Object.entries(stage.scene.sandbox.control.snapshot().containers)) };
}

/** Containers that must stay unchanged. */
function changes(stage: Stage, ...untouched: readonly string[]): string[] {
  return untouched.flatMap((name) => {
    const old = stage.before.get(name);
    const { containers } = stage.scene.sandbox.control.snapshot();
    const now = Object.values(containers).find(({ id }) => id === old?.id);
    if (now === undefined || old === undefined) return [`"${name}" was removed`];
    const told = (container: Container) =>
      [container.name, container.state.status, container.state.startedAt, policyOf(container)].join(' ');
    return told(now) === told(old) ? [] : [`"${told(old)}" is "${told(now)}"`];
  });
}

function policyOf({ settings }: Container): string {
  return settings.HostConfig.RestartPolicy?.Name || 'no';
}

describe.each(states)('a name alone means nothing: a container that is %s', (state) => {
  test.each(names)('"%s" stays as it is, and so does whoever stands beside it', async (name) => {
    const stage = await standing(name, state, { web: plain });
    const { connection, application } = stage.live();
    const beganMs = stage.scene.clock.monotonicMs();
    await application.recover();
    await application.update({ trigger: 'command', images: [], containers: [] });
    await application.recover();
    expect(changes(stage, name, 'web')).toEqual([]);
    expect(connection.calls).toEqual([]);
    expect(stage.scene.clock.monotonicMs() - beganMs).toBeLessThan(5000);
  });
});

test.each(['api.upkeep-old-u', 'job.upkeep-drop-n', 'yy.upkeep-standin'])('"%s" is told of, once', async (name) => {
  const { transactions } = await (await standing(name, 'running')).startAgain();
  expect(transactions).toMatchObject([
    { result: 'left', containers: [expect.stringContaining(name.replace(/\..*/, ''))] },
  ]);
});

test.each([
  'web.upkeep-newer',
  'web.upkeep-old-',
  'web.upkeep-older',
  'web.upkeep-old-x',
  'web.upkeep-dropped',
  'web.upkeep-',
])('"%s" does not keep "web" from its update', async (name) => {
  const stage = await standing(name, 'running', { web: { body: { HostConfig: restart('always') } } });
  const { outcomes } = await stage.update({ request: { containers: ['web'] } });
  expect(outcomes).toEqual({ web: 'updated' });
  expect(changes(stage, name)).toEqual([]);
  expect(stage.harm()).toEqual([]);
});
