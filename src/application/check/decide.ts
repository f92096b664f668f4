import {
  obsoleteDecisions,
  takeDecision,
  unreadableRemedy,
  type Decision,
  type Decisions,
  type DecidedCandidate,
  type DecisionFault,
  type DecisionRequest,
} from '../../domain/decision/decisions.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { CheckedContainer } from './checked-container.ts';
import { candidateDigest } from './describe-checked.ts';
import type { DecisionStore } from './decision-store.ts';

/** `isKept` false: the decision could not be stored and ends with this process. */
export type TakenDecision = Decision & { readonly isKept: boolean };

/**
 * The use cases about decisions. They throw a `ServiceError` if the stored ones cannot be read, and for no other failure
 * outside Upkeep.
 */
export type DecisionService = {
  /** Decisions in force, oldest first, including decisions of other processes. */
  readonly list: () => Promise<readonly Decision[]>;
  /** The newer version that a container waits for by the last check, by the container's name. */
  readonly candidateOf: (name: string) => DecidedCandidate | undefined;
  readonly take: (request: DecisionRequest) => Promise<TakenDecision | DecisionFault>;
  /** The withdrawn decision; undefined if there is none with this id. */
  readonly withdraw: (id: string) => Promise<TakenDecision | undefined>;
  /** Ends decisions about versions that their container no longer waits for, as far as the check knows them all. */
  readonly endDead: (checked: readonly CheckedContainer[]) => Promise<void>;
};

type Parts = Pick<ReadOnlyOutside, 'clock' | 'newId' | 'log'> & {
  readonly store: DecisionStore;
  readonly candidateOf: DecisionService['candidateOf'];
  readonly onChange: () => void;
};

export function createDecisionService({ store, clock, newId, log, candidateOf, onChange }: Parts): DecisionService {
  async function readAll(): Promise<Decisions> {
    const { decisions, fault } = await store.refresh();
    if (fault === undefined) return decisions;
    throw new ServiceError('state-unreadable', `Cannot read the decisions of people: ${fault}`, {
      remedy: unreadableRemedy,
    });
  }

  return {
    candidateOf,
    async list() {
      const decisions = [...(await readAll()).values()];
      const nowMs = clock.nowMs();
      return decisions.filter(({ untilMs }) => untilMs === undefined || untilMs > nowMs);
    },
    async take(request) {
      const candidate = candidateOf(request.container);
      await readAll();
      const taken = takeDecision(request, candidate, { id: newId(), nowMs: clock.nowMs() });
      if ('fault' in taken) return taken;
      const written = await store.write([{ kind: 'decided', decision: taken }]);
      const { kind, container, digest, by } = taken;
      log.info(`${pastOf[kind]} by ${by}`, { container, digest });
      onChange();
      return { ...taken, isKept: written === 'kept' };
    },
    async withdraw(id) {
      const decision = [...(await readAll()).values()].find((one) => one.id === id);
      if (decision === undefined) return undefined;
      const { container } = decision;
      const written = await store.write([{ kind: 'ended', container, id }]);
      log.info('A decision was withdrawn', { container, decision: decision.kind, digest: decision.digest });
      onChange();
      return { ...decision, isKept: written === 'kept' };
    },
    async endDead(checked) {
      const { decisions, fault } = await store.refresh();
      if (decisions.size === 0 || fault !== undefined) return;
      const unclear = new Set(checked.flatMap((one) => (knowsNewest(one) ? [] : [one.name])));
      const candidates = new Map<string, Digest | undefined>();
      for (const one of checked.filter(({ name }) => !unclear.has(name))) {
        const decision = decisions.get(one.name);
        const meant = digestMeant(one, decision);
        // A container and a service may have the same name.
        if (!candidates.has(one.name) || meant === decision?.digest) candidates.set(one.name, meant);
      }
      const dead = obsoleteDecisions(decisions, candidates, clock.nowMs());
      if (dead.length > 0)
        await store.write(dead.map(({ container, id }) => ({ kind: 'ended' as const, container, id })));
    },
  };
}

const pastOf = {
  approve: 'A new version was approved',
  skip: 'A new version is skipped',
  snooze: 'A new version was snoozed',
};

function knowsNewest({ status, hidesHigher }: CheckedContainer): boolean {
  return status !== 'unknown' && hidesHigher !== true;
}

/**
 * The version that a decision is about. While the newest version is too young, an older one may be applied, and a
 * person may decide about either. A tag that has moved back may come again, and a skipped version stays skipped then.
 */
function digestMeant(checked: CheckedContainer, decision: Decision | undefined): Digest | undefined {
  const { updateAvailable, latestDigest, digest } = checked;
  const decided = decision?.digest;
  if (updateAvailable) return latestDigest === decided ? decided : candidateDigest(checked);
  return decision?.kind === 'approve' || digest === decided ? undefined : decided;
}
