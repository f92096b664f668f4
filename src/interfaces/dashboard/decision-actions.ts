import { type Decision, type DecisionKind, readDecision } from './state/documents/decisions.ts';
import type { WatchedContainer } from './state/documents/container.ts';
import { objectOf } from './state/documents/reading.ts';
import type { ContainerStore } from './state/containers/container-store.ts';
import { newVersionOf } from './state/telling/versions.ts';
import { when } from './state/words/moments.ts';
import { capitalized, withPeriod } from './state/words/sentences.ts';
import { type SendRequest, reasonOf } from './transport/client.ts';
import type { Actions, PageContext } from './view/context.ts';
import { confirmApproval } from './view/dialogs/approve.ts';
import { chooseSnooze } from './view/dialogs/snooze.ts';
import type { PlanAnswer } from './view/dialogs/update-plan.ts';
import { notice } from './view/parts/notice.ts';

export type DecisionActions = Pick<Actions, 'approve' | 'skip' | 'snooze' | 'withdraw'>;

export type DecisionActionParts = {
  readonly ask: SendRequest;
  readonly fleet: ContainerStore;
  readonly context: () => PageContext;
  /** Reads all documents soon, because a decision changes them. */
  readonly refresh: () => void;
  /** The plan of the container's update with an approval. */
  readonly plan: (one: WatchedContainer, over: AbortSignal) => Promise<PlanAnswer>;
  /** Begins the update of a container whose new version was approved. */
  readonly begin: (one: WatchedContainer) => void;
};

type Order = { readonly kind: DecisionKind; readonly untilMs?: number | undefined };

/**
 * Decisions of people about new versions. Each names the version on the page. The service refuses a decision about an
 * older version.
 */
export function createDecisionActions({
  ask,
  fleet,
  context,
  refresh,
  plan,
  begin,
}: DecisionActionParts): DecisionActions {
  return {
    approve: withNamed((one) => {
      const { isOn } = context();
      confirmApproval(context(), {
        one,
        plan: isOn('update') ? (over) => plan(one, over) : undefined,
        approve: () => void take(one, { kind: 'approve' }, approvedWords(one)),
        approveAndUpdate: () => {
          void send(one, { kind: 'approve' }).then((taken) => taken === undefined || begin(one));
        },
      });
    }),
    skip: withNamed((one) => void take(one, { kind: 'skip' }, `${named(one)} is skipped.`)),
    snooze: withNamed((one) => {
      const nowMs = context().nowMs();
      chooseSnooze(one, nowMs, (untilMs) => {
        void take(one, { kind: 'snooze', untilMs }, `${named(one)} is snoozed until ${when(untilMs, nowMs)}.`);
      });
    }),
    withdraw: withNamed(async (one) => {
      const { decision } = one;
      if (decision === undefined || !(await remove(decision, one))) return;
      const words =
        decision.kind === 'approve' ? `${named(one)} waits for approval again.` : `${named(one)} is offered again.`;
      notice(words, { label: 'Undo', run: () => void send(one, decision) });
    }),
  };

  function withNamed(act: (one: WatchedContainer) => void | Promise<void>): (name: string) => void {
    return (name) => {
      const one = fleet.named(name);
      if (one !== undefined) void act(one);
    };
  }

  /** Decides, and offers to undo it by restoring the earlier decision. */
  async function take(one: WatchedContainer, order: Order, words: string): Promise<void> {
    const taken = await send(one, order);
    if (taken === undefined) return;
    const forgotten = taken.isKept ? '' : ' It is forgotten when Upkeep ends, because there is no state folder.';
    notice(`${words}${forgotten}`, {
      label: 'Undo',
      run: () => void (one.decision === undefined ? remove(taken.decision, one) : send(one, one.decision)),
    });
  }

  async function send(one: WatchedContainer, { kind, untilMs }: Order) {
    const { ownName: container, candidateDigest: digest } = one;
    const engine = one.engine || undefined;
    const until = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
    const reply = await ask('v1/decisions', {
      method: 'POST',
      body: { container, engine, decision: kind, digest, until },
    });
    refresh();
    const decision = reply.kind === 'ok' ? readDecision(reply.document) : undefined;
    if (reply.kind === 'ok' && decision !== undefined)
      return { decision, isKept: objectOf(reply.document)['kept'] === true };
    const why = reply.kind === 'ok' ? 'the answer contains no decision' : refusalOf(one, reply);
    notice(withPeriod(`Cannot ${kind} ${newVersionOf(one)} of ${one.name}: ${why}`));
    return undefined;
  }

  async function remove({ id }: Decision, one: WatchedContainer): Promise<boolean> {
    const reply = await ask(`v1/decisions/${encodeURIComponent(id)}`, { method: 'DELETE' });
    refresh();
    // 404: the decision was already withdrawn.
    if (reply.kind === 'ok' || (reply.kind === 'refused' && reply.status === 404)) return true;
    notice(withPeriod(`Cannot withdraw the decision about ${one.name}: ${reasonOf(reply)}`));
    return false;
  }

  function approvedWords({ name }: WatchedContainer): string {
    const { nextRunAtMs } = fleet.status();
    return nextRunAtMs === undefined
      ? `Approved. No run is scheduled: ${name} is updated when somebody asks for it.`
      : `Approved. ${name} is updated ${when(nextRunAtMs, context().nowMs())}.`;
  }
}

function named(one: WatchedContainer): string {
  return capitalized(`${newVersionOf(one)} of ${one.name}`);
}

/** The service answers 409 if the container waits for another version than the one on the page. */
function refusalOf({ name }: WatchedContainer, reply: Parameters<typeof reasonOf>[0]): string {
  return reply.kind === 'refused' && reply.status === 409
    ? `${name} now waits for another version, or for none. Nothing was decided; look at it again`
    : reasonOf(reply);
}
