import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import type { Lab } from '../../lab/lab.ts';
import { pinnedImage } from '../../lab/swarm/pinned-image.ts';
import { serviceSpec } from '../../lab/swarm/service-spec.ts';
import { startSwarm } from '../../lab/swarm/swarm.ts';
import type { SwarmFixture, SwarmProgram } from './fixture.ts';

const programs: readonly SwarmProgram[] = ['v1', 'v2', 'crash', 'crash-later', 'sick'];

/** A real swarm of three nodes. */
export async function dockerSwarm(lab: Lab): Promise<SwarmFixture> {
  const raw = await startSwarm(lab);
  const clock = createSystemClock();
  const engine = createDockerEngine({ host: `unix://${raw.node(1).engine.socket}`, clock });
  const images = new Map<SwarmProgram, string>();
  for (const program of programs) images.set(program, await pinnedImage(raw.registry, program));
  return {
    swarm: engine.swarm,
    clock,
    image: (program) => images.get(program) ?? '',
    missing: `${raw.registry.host}/app:missing@sha256:${'0'.repeat(64)}`,
    create: (name, image, wish) => raw.create(serviceSpec(name, image, wish)),
    label: async (id, name, value) => {
      const reply = await raw.change(id, (spec) => (spec.Labels = { ...spec.Labels, [name]: value }));
      if (reply.status !== 200) throw new Error(reply.text);
    },
    loseNode: (number) => raw.node(number).lose(),
    reset: raw.reset,
    close: async () => {
      await engine.close();
      await raw.remove();
    },
  };
}
