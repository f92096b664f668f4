import { swarmTaskLabel } from '../../../domain/check/watch-rules.ts';
import type { ContainerSummary } from '../../../domain/container/container.ts';
import { ServiceError } from '../../../domain/errors.ts';
import type { EngineReader } from '../../../domain/outside/engine-reader.ts';
import type { Engine } from '../../../domain/outside/outside.ts';
import { mapConcurrently } from '../../async/concurrency.ts';
import type { ReachedMember } from '../member/member.ts';
import type { SharedSwarm } from './shared-swarm.ts';

export type SwarmEngineParts = {
  readonly shared: SharedSwarm;
  /** All engines. Upkeep's own container may run on any of them. */
  readonly members: readonly ReachedMember[];
  /** The id of Upkeep's own container. */
  readonly ownId: string | undefined;
};

/**
 * The managers of a swarm as one engine. It lists no images and no containers, so it never changes any: each manager's
 * own engine lists those. The exception is Upkeep's own container, listed as a task: its labels name Upkeep's scope and
 * service.
 */
export function createSwarmEngine(engine: Engine, { shared, members, ownId }: SwarmEngineParts): Engine {
  let own: ContainerSummary | undefined;
  /** Engines without our own container. A container never moves to another engine. */
  const withoutOwn = new Set<string>();

  async function findOwn(signal: AbortSignal | undefined): Promise<readonly ContainerSummary[]> {
    if (ownId === undefined || own !== undefined) return own === undefined ? [] : [own];
    const asked = members.filter(({ name, reach }) => !withoutOwn.has(name) && reach.isReachable() !== false);
    await mapConcurrently(asked, askedAtOnce, async ({ name, node }) => {
      try {
        const found = await node?.engine.listContainers({ ids: [ownId] }, signal);
        const [summary] = found?.filter(({ id }) => id === ownId) ?? [];
        if (summary === undefined) withoutOwn.add(name);
        else own = { ...summary, labels: { [swarmTaskLabel]: '', ...summary.labels } };
      } catch (error) {
        // The next call asks an unreachable engine again.
        if (signal?.aborted) throw error;
      }
    });
    return own === undefined ? [] : [own];
  }

  async function firstOf<Answer>(ask: (by: Engine) => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    try {
      return await Promise.any(shared.inOrder().map(({ node }) => ask(node.engine)));
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof AggregateError ? (error.errors[0] ?? noEngine()) : error;
    }
  }

  async function* events(signal: AbortSignal, onBreak: () => void = () => {}): ReturnType<EngineReader['events']> {
    while (!signal.aborted) {
      const serving = shared.serving();
      if (serving === undefined) return;
      const { manager, left } = serving;
      for await (const event of manager.node.engine.events(AbortSignal.any([signal, left]), onBreak))
        if (event.kind === 'connected' || event.kind === 'service') yield event;
      onBreak();
      // Without a change of the serving manager, a stream ends only when its engine is closed.
      if (!left.aborted) return;
    }
  }

  return {
    ...engine,
    ping: (signal) => firstOf((by) => by.ping(signal), signal),
    info: (signal) => {
      const by = shared.serving()?.manager;
      return by === undefined ? firstOf((one) => one.info(signal), signal) : by.node.engine.info(signal);
    },
    listContainers: (_filter, signal) => findOwn(signal),
    inspectContainer: () => Promise.resolve(undefined),
    listImages: () => Promise.resolve([]),
    inspectImage: () => Promise.resolve(undefined),
    manifestsIn: () => Promise.resolve([]),
    events,
    close: () => Promise.resolve(),
  };
}

const askedAtOnce = 20;

function noEngine(): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot ask the swarm: none of its managers is left');
}
