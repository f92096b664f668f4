import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type Fault, type FaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('the tag is where it was when no successor was created', (lab) => {
  const { engine } = lab;
  const { stale, image, names } = effectsScene(lab, 'tag-goes-back');
  let proxy: FaultProxy | undefined;
  afterEach(async () => {
    await proxy?.close();
    await engine.clear();
  });

  const tagged = async (name: string) =>
    ((await engine.call('GET', `/images/${encodeURIComponent(image(name))}/json`)).body as { Id?: string }).Id;
  const answer = (status: number): Fault => ({ kind: 'answer', when: 'before', status, body: '{"message":"refused"}' });

  const ways = [['update'], ['update', '--dry-run', '--verify']] as const;
  const faults: readonly (readonly [string, Fault, number])[] = [
    ['409', answer(409), 1],
    ['500', answer(500), 1],
    ['a lost connection, each time', { kind: 'reset', when: 'before' }, 99],
  ];
  const cases = ways.flatMap((way) => faults.map((fault) => [way.join(' '), way, ...fault] as const));

  test.each(cases)('%s: %o, %s', async (_title, way, _why, fault, times) => {
    const { Id } = await stale('api');
    const before = await tagged('api');
    const socketPath = `${lab.dir}/tag-goes-back.sock`;
    proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    proxy.arm({ at: ({ path, change }) => change !== undefined && path.includes('/containers/create'), times, fault });
    const { stderr } = await runUpkeep([...way, '--health-window', '1s'], { socket: socketPath });
    expect(
      proxy.calls.some(({ path }) => path.includes('/tag?')),
      stderr,
    ).toBe(true);
    expect(await tagged('api')).toBe(before);
    expect(await names()).toEqual(['api']);
    expect(await engine.inspect('api')).toMatchObject({ Id, State: { Running: true } });
  });
});
