import type { ContainerStore } from './state/containers/container-store.ts';
import { withPeriod, plural } from './state/words/sentences.ts';
import { type PlannedStep, readPlan } from './state/documents/plan.ts';
import { objectOf, objectsOf, textOf } from './state/documents/reading.ts';
import { type SendRequest, reasonOf } from './transport/client.ts';
import { containerParameters } from './transport/container-parameters.ts';
import type { Actions, PageContext, UpdateKind } from './view/context.ts';
import { createDecisionActions, type DecisionActions } from './decision-actions.ts';
import { confirmRollBack } from './view/dialogs/roll-back.ts';
import type { PlanAnswer } from './view/dialogs/update-plan.ts';
import { confirmUpdate } from './view/dialogs/update.ts';
import { notice } from './view/parts/notice.ts';

export type ActionParts = {
  readonly ask: SendRequest;
  readonly fleet: ContainerStore;
  readonly context: () => PageContext;
  /** Reads all documents soon, because containers change. */
  readonly refresh: () => void;
  /** Paints the expected state, until the service reports the real one. Called again if it refuses. */
  readonly onAsked: () => void;
};

const moreOf: Readonly<Record<UpdateKind, string>> = { update: '', retry: '&retry_failed=true', now: '&now=true' };

/** The limit of the API for names in a request: docs/http-api.md. */
const mostNames = 100;
const checkTimeoutMs = 300_000;
const updateTimeoutMs = 120_000;

/** Actions on containers. Each one is a request to the API; its effects arrive as events. */
export function createActions({
  ask,
  fleet,
  context,
  refresh,
  onAsked,
}: ActionParts): Pick<Actions, 'update' | 'check' | 'rollBack' | keyof DecisionActions> {
  return {
    ...createDecisionActions({
      ask,
      fleet,
      context,
      refresh,
      plan: (one, over) => planOf(containerParameters([one]), '&approved=true&now=true', over),
      begin: (one) =>
        begin([one.name], 'v1/update?async=true&now=true', containerParameters([one]), `Cannot update ${one.name}`),
    }),
    update: (names, kind = 'update') => {
      const scopes = scopesFor(names, kind);
      if (scopes === undefined) return notice(`Select at most ${mostNames} containers.`);
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
      const one = fleet.named(name);
      if (one === undefined) return;
      const start = (): void =>
        begin(
          [name],
          // The dialog has said so.
          `v1/rollback?async=true${one.hold === 'went-back' ? '&forward=true' : ''}`,
          containerParameters([one]),
          `Cannot roll back ${name}`,
          'rollback',
        );
      confirmRollBack(one, start);
    },
  };

  function scopesOfNames(names: readonly string[]): readonly string[] {
    return containerParameters(names.flatMap((name) => fleet.named(name) ?? []));
  }

  /** Undefined for more names than a request accepts, unless they include all ready updates. */
  function scopesFor(names: readonly string[], kind: UpdateKind): readonly string[] | undefined {
    if (names.length <= mostNames) return scopesOfNames(names);
    const ready = fleet.all().filter(({ verdict }) => verdict === 'stale');
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
  ): void {
    fleet.ask(names, rollback);
    onAsked();
    for (const scope of scopes) {
      void ask(`${path}${scope}`, { method: 'POST', timeoutMs: updateTimeoutMs }).then((reply) => {
        if (reply.kind !== 'ok') {
          fleet.withdraw(names);
          onAsked();
          notice(withPeriod(`${what}: ${reasonOf(reply)}`));
        }
        refresh();
      });
    }
  }

  async function check(names: readonly string[]): Promise<void> {
    if (names.length > mostNames) return notice(`Select at most ${mostNames} containers.`);
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
