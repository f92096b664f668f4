import type { ContainerStore } from './state/containers/container-store.ts';
import { withPeriod, plural, when } from './state/words.ts';
import { readPlan, type PlannedStep } from './state/documents/status.ts';
import { objectOf, objectsOf, textOf } from './state/documents/reading.ts';
import { reasonOf, containerParameters, type SendRequest } from './transport/client.ts';
import type { Actions, PageContext, UpdateKind } from './view/context.ts';
import {
  askAboutData,
  confirmRollBack,
  confirmUpdate,
  confirmApproval,
  chooseSnooze,
  type PlanAnswer,
} from './view/dialogs.ts';
import { notice } from './view/parts/node.ts';
import { readDecision, type Decision, type DecisionKind, type WatchedContainer } from './state/documents/container.ts';
import { newVersionOf } from './state/display/row.ts';

type ActionParts = {
  readonly ask: SendRequest;
  readonly containers: ContainerStore;
  readonly context: () => PageContext;
  /** Reads all documents soon, because containers change. */
  readonly refresh: () => void;
  /** Paints the expected state, until the service reports the real one. Called again if it refuses. */
  readonly onAsked: () => void;
};

const moreOf: Readonly<Record<UpdateKind, string>> = { update: '', retry: '&retry_failed=true', now: '&now=true' };

/** The limit of the API for names in a request: docs/http-api.md. */
const maxNames = 100;
const checkTimeoutMs = 300_000;
const updateTimeoutMs = 120_000;

/** Actions on containers. Each one is a request to the API; its effects arrive as events. */
export function createActions({
  ask,
  containers,
  context,
  refresh,
  onAsked,
}: ActionParts): Pick<Actions, 'update' | 'check' | 'rollBack' | keyof DecisionActions> {
  return {
    ...createDecisionActions({
      ask,
      containers,
      context,
      refresh,
      plan: (one, over) => planOf(containerParameters([one]), '&approved=true&now=true', over),
      begin: (one) =>
        begin([one.name], 'v1/update?async=true&now=true', containerParameters([one]), `Cannot update ${one.name}`),
    }),
    update: (names, kind = 'update') => {
      const scopes = scopesFor(names, kind);
      if (scopes === undefined) return notice(`Select at most ${maxNames} containers.`);
      const more = moreOf[kind];
      confirmUpdate(context(), {
        names,
        kind,
        ask: (over) => planOf(scopes, more, over),
        start: () => {
          context().act.clearPicked();
          begin(names, `v1/update?async=true${more}`, scopes, 'Cannot update');
        },
      });
    },
    check: (names) => void check(names),
    rollBack: (name) => {
      const one = containers.named(name);
      if (one === undefined) return;
      const start = (data?: 'restore' | 'leave'): void =>
        begin(
          [name],
          // The dialog has said so.
          `v1/rollback?async=true${one.hold === 'went-back' ? '&forward=true' : ''}${data === undefined ? '' : `&data=${data}`}`,
          containerParameters([one]),
          `Cannot roll back ${name}`,
          'rollback',
          (why) => data === undefined && askAboutData(name, why, start),
        );
      confirmRollBack(one, () => start());
    },
  };

  function scopesOfNames(names: readonly string[]): readonly string[] {
    return containerParameters(names.flatMap((name) => containers.named(name) ?? []));
  }

  /** Undefined for more names than a request accepts, unless they include all ready updates. */
  function scopesFor(names: readonly string[], kind: UpdateKind): readonly string[] | undefined {
    if (names.length <= maxNames) return scopesOfNames(names);
    const ready = containers.all().filter(({ verdict }) => verdict === 'stale');
    const wanted = new Set(names);
    return kind === 'update' && ready.every(({ name }) => wanted.has(name)) ? [''] : undefined;
  }

  /** The result of a dry run. Joins the plans of several engines. */
  async function planOf(scopes: readonly string[], more: string, signal: AbortSignal): Promise<PlanAnswer> {
    const order = { method: 'POST', timeoutMs: updateTimeoutMs, signal } as const;
    const replies = await Promise.all(scopes.map((scope) => ask(`v1/update?dry_run=true${more}${scope}`, order)));
    // A dry run checks, too. It may have found a newer version, and decisions name its digest.
    refresh();
    const steps: PlannedStep[] = [];
    for (const reply of replies) {
      if (reply.kind !== 'ok') return { why: `Cannot plan the update: ${reasonOf(reply)}` };
      const plan = readPlan(reply.document);
      if (plan === undefined) return { plan };
      steps.push(...plan);
    }
    return { plan: steps };
  }

  function begin(
    names: readonly string[],
    path: string,
    scopes: readonly string[],
    what: string,
    rollback?: 'rollback',
    isAnswered: (why: string) => boolean = () => false,
  ): void {
    containers.ask(names, rollback);
    onAsked();
    for (const scope of scopes) {
      void ask(`${path}${scope}`, { method: 'POST', timeoutMs: updateTimeoutMs }).then((reply) => {
        if (reply.kind !== 'ok') {
          containers.withdraw(names);
          onAsked();
          if (!isAnswered(reasonOf(reply))) notice(withPeriod(`${what}: ${reasonOf(reply)}`));
        }
        refresh();
      });
    }
  }

  async function check(names: readonly string[]): Promise<void> {
    if (names.length > maxNames) return notice(`Select at most ${maxNames} containers.`);
    const [first = ''] = names;
    const what = names.length === 0 ? 'all containers' : names.length === 1 ? first : plural(names.length, 'container');
    notice(`Checking ${what}…`);
    const scopes = names.length === 0 ? [''] : scopesOfNames(names);
    const order = { method: 'POST', timeoutMs: checkTimeoutMs } as const;
    const replies = await Promise.all(scopes.map((scope) => ask(`v1/check?${scope.slice(1)}`, order)));
    const refused = replies.find((reply) => reply.kind !== 'ok');
    notice(
      refused === undefined
        ? checkedWords(replies.flatMap((reply) => (reply.kind === 'ok' ? [reply.document] : [])))
        : withPeriod(`Cannot check ${what}: ${reasonOf(refused)}`),
    );
    refresh();
  }
}

function checkedWords(documents: readonly unknown[]): string {
  const containers = documents.flatMap((document) => objectsOf(objectOf(document)['containers']));
  const found = containers.filter(({ status }) => status === 'stale').length;
  const unknown = containers.filter(({ status }) => status === 'unknown');
  const [only] = unknown;
  const parts = [found === 0 ? 'nothing to update' : `${plural(found, 'update')} ready`];
  if (containers.length === 1 && only !== undefined)
    return withPeriod(`Could not be checked: ${textOf(only['error']) || textOf(only['reason'])}`);
  if (unknown.length > 0) parts.push(`${unknown.length} could not be checked`);
  return withPeriod(`Checked: ${parts.join(', ')}`);
}

type DecisionActions = Pick<Actions, 'approve' | 'skip' | 'snooze' | 'withdraw'>;

type DecisionActionParts = {
  readonly ask: SendRequest;
  readonly containers: ContainerStore;
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
function createDecisionActions({
  ask,
  containers,
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
        decision.kind === 'approve'
          ? `${named(one)} waits for your approval again.`
          : `${named(one)} is offered again.`;
      notice(words, { label: 'Undo', run: () => void send(one, decision) });
    }),
  };

  function withNamed(act: (one: WatchedContainer) => void | Promise<void>): (name: string) => void {
    return (name) => {
      const one = containers.named(name);
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
    const { nextRunAtMs } = containers.status();
    return nextRunAtMs === undefined
      ? `Approved. No run is scheduled: ${name} is updated when you ask for it.`
      : `Approved. ${name} is updated ${when(nextRunAtMs, context().nowMs())}.`;
  }
}

function named(one: WatchedContainer): string {
  return `${one.latestVersion || 'The new version'} of ${one.name}`;
}

/** The service answers 409 if the container waits for another version than the one on the page. */
function refusalOf({ name }: WatchedContainer, reply: Parameters<typeof reasonOf>[0]): string {
  return reply.kind === 'refused' && reply.status === 409
    ? `${name} now waits for another version, or for none. Nothing was decided; look at it again`
    : reasonOf(reply);
}
