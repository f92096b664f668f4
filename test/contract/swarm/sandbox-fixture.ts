import { createSandboxEngine } from '../../../sandbox/engine/engine.ts';
import { behaviours, type Behaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxRegistry } from '../../../sandbox/registry/registry.ts';
import { serviceSpec } from '../../lab/swarm/service-spec.ts';
import { createFakeClock } from '../../support/clock/fake-clock.ts';
import type { SwarmFixture, SwarmProgram } from './fixture.ts';

const programs: Readonly<Record<SwarmProgram, Behaviour>> = {
  v1: behaviours.good,
  v2: behaviours.good,
  crash: behaviours.crashesAtStart,
  'crash-later': behaviours.exitsLater,
  sick: behaviours.neverHealthy,
};

/** A swarm in memory on a clock that never waits. */
export function sandboxSwarm(): SwarmFixture {
  const clock = createFakeClock({ auto: true });
  const { store } = createSandboxRegistry({ clock });
  const { swarm, swarmControl, control } = createSandboxEngine({ clock, registries: store });
  const repository = 'registry.test/contract/app';
  const images = new Map<SwarmProgram, string>();
  for (const [program, behaviour] of Object.entries(programs) as [SwarmProgram, Behaviour][]) {
    const config = { Cmd: [program], Healthcheck: { Test: ['CMD', 'true'] } };
    const { digest } = store.publish(`${repository}:${program}`, { behaviour, config });
    images.set(program, `${repository}:${program}@${digest}`);
  }
  swarmControl.form(3);
  return {
    swarm,
    clock,
    image: (program) => images.get(program) ?? '',
    missing: `${repository}:missing@sha256:${'0'.repeat(64)}`,
    create: (name, image, wish) => Promise.resolve(swarmControl.create(serviceSpec(name, image, wish))),
    label: (id, name, value) =>
      Promise.resolve(swarmControl.update(id, (spec) => (spec.Labels = { ...spec.Labels, [name]: value }))),
    loseNode: (number) => Promise.resolve(swarmControl.loseNode(number)),
    reset: () => Promise.resolve(swarmControl.reset()),
    close: () => Promise.resolve(control.close()),
  };
}
