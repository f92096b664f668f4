import type { SwarmOfEngines } from '../../../domain/fleet/group-by-swarm.ts';
import type { ServiceEvent } from '../../../domain/run/event.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { EngineApplication } from '../../application.ts';
import { withEngine } from '../member/of-engine.ts';
import { followMember } from '../member/follow-member.ts';
import type { EngineNode, ReachedMember } from '../member/member.ts';
import { createSwarmSearch } from './find-swarms.ts';
import type { Manager } from './serving-manager.ts';
import { createSharedSwarm } from './shared-swarm.ts';
import { createSwarmEngine } from './swarm-engine.ts';
import { asMember, onlyServices } from './swarm-as-member.ts';

/** Settings for the services of swarms. */
export type SwarmOptions = {
  /** Opens the application of one swarm. `owner` returns the name of the engine that its services are shown under. */
  readonly open: (swarm: {
    readonly id: string;
    readonly node: EngineNode;
    readonly owner: () => string;
  }) => EngineApplication;
  /** The id of Upkeep's own container. */
  readonly ownId: string | undefined;
};

export type SwarmParts = {
  readonly members: readonly ReachedMember[];
  /** Absent: services are not watched. */
  readonly options: SwarmOptions | undefined;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly publish: (event: ServiceEvent) => void;
};

export type SwarmMembers = {
  /** The known swarms, each as a member under the name of its owner. */
  readonly known: () => readonly ReachedMember[];
  /** The swarms that the engine manages. */
  readonly managedBy: (engine: string) => readonly ReachedMember[];
  /** The swarms under the names of these engines, after a search. Empty if services are not watched. */
  readonly of: (owners: readonly ReachedMember[], signal?: AbortSignal) => Promise<readonly ReachedMember[]>;
  /** Resolves after the first search. */
  readonly searched: () => Promise<void>;
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** Called when an engine has answered. */
  readonly heard: (engine: string) => void;
  readonly close: () => Promise<void>;
};

/**
 * The swarms that several engines manage. Each swarm is one member with its own lock, cache, decisions and memory, even
 * if several of its managers are among the engines. It has the name of its first manager in configured order, also
 * while that manager is unreachable and another one serves.
 */
export function createSwarmMembers({ members, options, clock, log, publish }: SwarmParts): SwarmMembers {
  const opened = new Map<string, Opened>();
  let isFollowed = false;
  let hasWarned = false;
  let isClosed = false;
  let first: Promise<unknown> | undefined;
  const search = createSwarmSearch(options === undefined ? [] : members, clock, refresh);

  /** Opens new swarms, and closes swarms that no engine manages any more. */
  function refresh(): void {
    if (isClosed) return;
    const known = search.known();
    for (const [id, { close }] of opened) {
      if (known.some((swarm) => swarm.id === id)) continue;
      opened.delete(id);
      void close();
    }
    for (const { id } of known) {
      if (options === undefined || opened.has(id)) continue;
      const swarm = openSwarm(id, options);
      opened.set(id, swarm);
      if (isFollowed) void swarm.application.follow().catch(() => undefined);
    }
  }

  function openSwarm(id: string, { open, ownId }: SwarmOptions): Opened {
    const owned = () => search.known().find((swarm) => swarm.id === id);
    const managers = (): readonly Manager[] =>
      (owned()?.managers ?? []).flatMap(({ node, ...member }) => (node === undefined ? [] : [{ ...member, node }]));
    const shared = createSharedSwarm(id, managers);
    const [first] = managers();
    if (first === undefined) throw new Error(`No engine manages the swarm ${id}`);
    const owner = () => owned()?.managers[0].name ?? first.name;
    const engine = createSwarmEngine(first.node.engine, { shared, members, ownId });
    const node = { engine, swarm: shared.swarm };
    const application = onlyServices(open({ id, node, owner }), shared.swarm);
    const unsubscribe = application.subscribe((event) => {
      const tagged = withEngine(event, owner());
      if (tagged !== undefined) publish(tagged);
    });
    return {
      application,
      close: async () => {
        unsubscribe();
        await application.close();
      },
    };
  }

  function membersOf(swarms: readonly SwarmOfEngines<ReachedMember>[]): readonly ReachedMember[] {
    return swarms.flatMap((swarm) => {
      const application = opened.get(swarm.id)?.application;
      return application === undefined ? [] : [asMember(swarm, application)];
    });
  }

  async function find(signal: AbortSignal | undefined): Promise<readonly ReachedMember[]> {
    if (options === undefined) return [];
    await search.ask(signal);
    const found = membersOf(search.known());
    if (found.length === 0 && !hasWarned) log.warn('No engine that answers manages a swarm: --swarm finds no services');
    hasWarned = true;
    return found;
  }

  return {
    known: () => membersOf(search.known()),
    managedBy: (engine) =>
      membersOf(search.known().filter(({ managers }) => managers.some(({ name }) => name === engine))),
    async of(owners, signal) {
      const names = new Set(owners.map(({ name }) => name));
      return (await find(signal)).filter(({ name }) => names.has(name));
    },
    async searched() {
      await (first ??= find(undefined));
    },
    async follow(signal) {
      isFollowed = true;
      const found = await find(signal);
      await Promise.all(found.map((member) => followMember(member, signal)));
    },
    heard: search.heard,
    close: async () => {
      isClosed = true;
      await Promise.all([...opened.values()].map(({ close }) => close()));
    },
  };
}

type Opened = { readonly application: EngineApplication; readonly close: () => Promise<void> };
