import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createFleetScene } from '../../../test/support/scene/fleet-scene.ts';
import { createReadiness } from '../inventory/status.ts';
import { createReachability } from './members.ts';
import { createSharedSwarm } from './swarm-members.ts';

type Manager = ReturnType<Parameters<typeof createSharedSwarm>[1]>[number];

const names = ['one', 'two', 'three'];

/** Three managers of one swarm with one service. */
function openManagers() {
  const clock = createFakeClock({ auto: true });
  const scene = createFleetScene({ names, swarm: names, clock });
  const { digest } = scene.registry.store.publish('web:1', { version: '1' });
  scene.engines['one']?.sandbox.swarmControl.create({
    Name: 'web',
    Mode: { Replicated: { Replicas: 1 } },
    TaskTemplate: { ContainerSpec: { Image: `web:1@${digest}` } },
  });
  const managers = Object.entries(scene.engines).map(([name, { engine, swarm }]): Manager => {
    const silence = { publish: () => {}, onReturn: () => {}, onId: () => {} };
    const reach = createReachability({ name, info: engine.info }, { clock, ...silence });
    return { name, reach, node: { engine, swarm }, application: { ready: createReadiness({ engine, clock }) } };
  });
  const world = scene.engines['one']?.sandbox.ownSwarm.world;
  const round = () => [...(world?.services.values() ?? [])][0]?.spec.Labels?.['round'];
  return { scene, managers, round, shared: createSharedSwarm(world?.id ?? '', () => managers) };
}

const step = fc.oneof(
  fc.record({
    kind: fc.constant('behave' as const),
    name: fc.constantFrom(...names),
    how: fc.constantFrom('well' as const, 'refusing' as const),
  }),
  fc.record({ kind: fc.constantFrom('look' as const, 'read' as const, 'change' as const) }),
);

test('whichever managers answer: reads tell the same, and a change is made once or not at all', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { scene, managers, round, shared } = openManagers();
      const unreachable = new Set<string>();
      const first = (await shared.swarm.services())[0];
      let read = first;
      let made = 0;
      for (const each of steps) {
        if (each.kind === 'behave') {
          scene.engines[each.name]?.behave(each.how);
          if (each.how === 'well') unreachable.delete(each.name);
          else unreachable.add(each.name);
          // As the mirror of the engine finds out.
          if (each.how === 'well') managers.find(({ name }) => name === each.name)?.reach.note(undefined);
        } else if (each.kind === 'look') {
          const state = shared.swarm.state();
          if (unreachable.size === names.length)
            await expect(state).rejects.toMatchObject({ code: 'engine-unreachable' });
          else expect(await state).toMatchObject({ kind: 'manager' });
          const here = names.find((name) => !unreachable.has(name));
          if (here !== undefined) expect(shared.serving()?.manager.name).toBe(here);
        } else if (each.kind === 'read') {
          const services = shared.swarm.services();
          if (unreachable.size === names.length)
            await expect(services).rejects.toMatchObject({ code: 'engine-unreachable' });
          else expect((await services).map(({ name }) => name)).toEqual(['web']);
          read = await services.then(
            ([one]) => one,
            () => read,
          );
        } else if (read !== undefined) {
          const outcome = await shared.swarm.change(read, {
            image: read.image,
            labels: { round: String(made + 1) },
          });
          if (outcome.kind === 'done') made += 1;
          else expect(outcome.kind).toBe('conflict');
        }
        expect(round()).toBe(made === 0 ? undefined : String(made));
      }
      await scene.close();
    }),
    { numRuns: 60 },
  );
});

test('a change goes to the manager that has read the service, though another one serves by now', async () => {
  const { scene, managers, shared } = openManagers();
  scene.engines['one']?.behave('refusing');
  const [service] = await shared.swarm.services();
  scene.engines['one']?.behave('well');
  managers[0]?.reach.note(undefined);
  await shared.swarm.state();
  expect(shared.serving()?.manager.name).toBe('one');
  if (service !== undefined) await shared.swarm.change(service, { image: service.image, labels: { by: 'two' } });
  expect(scene.engines['two']?.sandbox.calls.map(({ kind }) => kind)).toEqual(['changeService']);
  await scene.close();
});
