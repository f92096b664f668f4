import type { Clock } from '../../../src/domain/outside/outside.ts';
import type { Swarm } from '../../../src/domain/outside/engine.ts';
import type { SwarmService, SwarmTask } from '../../../src/domain/container/swarm-service.ts';
import type { ServiceWish } from '../../lab/swarm/service-spec.ts';

/** Fixture of the rows, without the swarm under test: three nodes, of which the first is the only manager. */
export type SwarmFixture = {
  readonly swarm: Swarm;
  readonly clock: Clock;
  /** A reference with a digest, which the nodes can pull. */
  readonly image: (program: SwarmProgram) => string;
  /** A reference with a digest that no registry has. */
  readonly missing: string;
  /** Creates a service as a person does, through another client; resolves to the id. */
  readonly create: (name: string, image: string, wish?: ServiceWish) => Promise<string>;
  /** A person sets a label of the service. */
  readonly label: (id: string, name: string, value: string) => Promise<void>;
  readonly loseNode: (number: number) => Promise<void>;
  /** Removes services and their history; all nodes are back. */
  readonly reset: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * `v1` and `v2` run, and pass their health check; `crash` ends at once with code 3, `crash-later` with 4 after two
 * seconds; `sick` fails its health check.
 */
export type SwarmProgram = 'v1' | 'v2' | 'crash' | 'crash-later' | 'sick';

export type GetSwarm = () => SwarmFixture;

export async function read({ swarm }: SwarmFixture, id: string): Promise<SwarmService> {
  const service = await swarm.service(id);
  if (service === undefined) throw new Error(`there is no service ${id}`);
  return service;
}

/** Reads and changes; repeats this while the swarm changes the version. */
export async function changeTo(fixture: SwarmFixture, id: string, image: string): Promise<void> {
  for (;;) {
    const service = await read(fixture, id);
    const outcome = await fixture.swarm.change(service, { image, labels: {} });
    if (outcome.kind === 'done') return;
    if (outcome.kind !== 'conflict') throw new Error(`change of ${service.name}: ${JSON.stringify(outcome)}`);
  }
}

export type Seen = { readonly service: SwarmService; readonly tasks: readonly SwarmTask[] };

/** Waits by the fixture's clock until the swarm shows it. */
export async function until(
  fixture: SwarmFixture,
  id: string,
  passes: (seen: Seen) => boolean,
  timeoutMs = 60_000,
): Promise<Seen> {
  const { swarm, clock } = fixture;
  const deadlineMs = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const seen = { service: await read(fixture, id), tasks: await swarm.tasks([id]) };
    if (passes(seen)) return seen;
    if (clock.monotonicMs() > deadlineMs) throw new Error(`it did not come to that: ${JSON.stringify(shown(seen))}`);
    await clock.sleep(50);
  }
}

export function running(tasks: readonly SwarmTask[], image?: string): readonly SwarmTask[] {
  return tasks.filter(
    (task) => task.state === 'running' && task.desired === 'running' && (image === undefined || task.image === image),
  );
}

export function hasEnded({ service: { update } }: Seen): boolean {
  return update !== undefined && !['updating', 'rollback_started'].includes(update.state);
}

function shown({ service, tasks }: Seen): object {
  return {
    update: service.update,
    tasks: tasks.map(
      ({ slot, state, desired, image, error }) => `${slot} ${state}/${desired} ${image.slice(-6)} ${error}`,
    ),
  };
}
