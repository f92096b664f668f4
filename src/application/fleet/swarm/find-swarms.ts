import { groupBySwarm, type SwarmOfEngines } from '../../../domain/fleet/group-by-swarm.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { SwarmState } from '../../../domain/outside/swarm.ts';
import { mapConcurrently } from '../../async/concurrency.ts';
import { waitAtMost } from '../../async/stopped.ts';
import type { ReachedMember } from '../member/member.ts';

export type SwarmSearch = {
  /** Swarms by each engine's last answer. An unreachable engine, or one without a leader, keeps its earlier answer. */
  readonly known: () => readonly SwarmOfEngines<ReachedMember>[];
  /** Asks all engines except known unreachable ones. Waits 5 s at most; later answers still count. Never throws. */
  readonly ask: (signal?: AbortSignal) => Promise<void>;
  /** Asks one engine, unless it was asked within the last minute. */
  readonly heard: (engine: string) => void;
};

/** Finds the swarms and the engines that manage them. */
export function createSwarmSearch(members: readonly ReachedMember[], clock: Clock, onAnswer: () => void): SwarmSearch {
  const swarms = new Map<string, string>();
  const asked = new Map<string, Asked>();

  function note(name: string, state: SwarmState): void {
    if (state.kind === 'manager' && state.clusterId !== '') swarms.set(name, state.clusterId);
    else if (state.kind !== 'leaderless') swarms.delete(name);
    onAnswer();
  }

  function askOne(member: ReachedMember, freshMs: number): Promise<void> {
    const last = asked.get(member.name);
    if (last !== undefined && (last.isOpen || clock.monotonicMs() - last.atMs < freshMs)) return last.answer;
    const asking: Asked = { isOpen: true, atMs: clock.monotonicMs(), answer: answerOf(member) };
    asked.set(member.name, asking);
    return asking.answer;
  }

  async function answerOf({ name, application, node }: ReachedMember): Promise<void> {
    try {
      await application.ready();
      if (node !== undefined) note(name, await node.swarm.state());
      asked.set(name, { isOpen: false, atMs: clock.monotonicMs(), answer: Promise.resolve() });
    } catch {
      // The engine's own part of a run reports the reason.
      asked.delete(name);
    }
  }

  return {
    known: () => groupBySwarm(members, ({ name }) => swarms.get(name)),
    async ask(signal) {
      const reachable = members.filter(({ node, reach }) => node !== undefined && reach.isReachable() !== false);
      const answers = mapConcurrently(reachable, askedAtOnce, (member) => askOne(member, askAgainMs));
      await waitAtMost(answerTimeoutMs, answers, clock, signal);
    },
    heard(engine) {
      const member = members.find(({ name, node }) => name === engine && node !== undefined);
      if (member !== undefined) void askOne(member, staleAfterMs);
    },
  };
}

type Asked = { readonly isOpen: boolean; readonly atMs: number; readonly answer: Promise<void> };

/** The longest wait for the answers of all engines. */
const answerTimeoutMs = 5000;

/** The steps of one run share an answer. */
const askAgainMs = 10_000;

/** Nodes rarely join or leave a swarm. Each engine is listed once a minute. */
const staleAfterMs = 55_000;

const askedAtOnce = 20;
