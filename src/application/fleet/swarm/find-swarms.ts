import { groupBySwarm, type SwarmOfEngines } from '../../../domain/fleet/group-by-swarm.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { SwarmState } from '../../../domain/outside/swarm.ts';
import { mapConcurrently } from '../../async/concurrency.ts';
import { waitAtMost } from '../../async/stopped.ts';
import type { ReachedMember } from '../member/member.ts';

export type SwarmSearch = {
  /** As far as engines have told; an engine that is away or without a leader stays what it was. */
  readonly known: () => readonly SwarmOfEngines<ReachedMember>[];
  /** Asks the engines that are not known to be away, and waits 5 s at most; later answers count too. Never throws. */
  readonly ask: (signal?: AbortSignal) => Promise<void>;
  /** Asks one engine, unless it has told within the last minute. */
  readonly heard: (engine: string) => void;
};

/** Finds out which engines manage which swarm. */
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
      // Its own part in a run tells why it cannot be asked.
      asked.delete(name);
    }
  }

  return {
    known: () => groupBySwarm(members, ({ name }) => swarms.get(name)),
    async ask(signal) {
      const near = members.filter(({ node, reach }) => node !== undefined && reach.isReachable() !== false);
      const answers = mapConcurrently(near, askedAtOnce, (member) => askOne(member, askAgainMs));
      await waitAtMost(answerTimeoutMs, answers, clock, signal);
    },
    heard(engine) {
      const member = members.find(({ name, node }) => name === engine && node !== undefined);
      if (member !== undefined) void askOne(member, lookAgainMs);
    },
  };
}

type Asked = { readonly isOpen: boolean; readonly atMs: number; readonly answer: Promise<void> };

/** The time that an engine has for a sign of life. */
const answerTimeoutMs = 5000;

/** Several steps of one run ask. */
const askAgainMs = 10_000;

/** A node joins and leaves a swarm seldom; mirrors read their engine every minute. */
const lookAgainMs = 55_000;

const askedAtOnce = 20;
