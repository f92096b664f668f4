import type { ContainerOutcome, OutcomeKind, Outcomes } from '../../domain/run/session.ts';
import type { UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import type { CheckReport } from '../check/check.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import type { MadePlan } from '../plan/make-plan.ts';
import { withCheckedVersions } from './outcome-versions.ts';
import { untouched } from './run-plan.ts';

/** Outcome of a container outside every transaction. */
const outcomeOf: Readonly<Record<Staleness, OutcomeKind>> = {
  fresh: 'fresh',
  // There is no newer version, so it counts as fresh, as with other updaters.
  pinned: 'fresh',
  local: 'fresh',
  // A newer version exists, but a setting holds it back. See `heldBack` for temporary reasons.
  held: 'skipped',
  unknown: 'unknown',
  // Refused by the plan.
  stale: 'skipped',
};

/** The outcome of every container of a run, from its transaction or else from its check. */
export function inListingOrder(
  report: CheckReport,
  { plan, listing }: MadePlan,
  outcomes: Outcomes,
): readonly ContainerOutcome[] {
  const checked = new Map(report.containers.map((container) => [container.id, container]));
  const ids = new Set([...listing, ...checked.keys()]);
  const reached = [...ids].flatMap((id) => {
    const container = checked.get(id);
    const acted = outcomes.get(id);
    if (container === undefined) return acted ?? [];
    const { cooldown } = container;
    const outcome = { ...(acted ?? withoutTransaction(container, plan)), ...(cooldown && { cooldown }) };
    return withCheckedVersions(outcome, container);
  });
  const acted = new Set([...outcomes.values()].map(({ name }) => name));
  const held = report.unfinished.filter(({ name, isParked }) => isParked && !acted.has(name));
  const isHeld = new Set(held.map(({ name }) => name));
  return [
    ...reached.filter(({ name }) => !isHeld.has(name)),
    ...held.map((container) => untouched(container, 'deferred', container.reason)),
  ];
}

function withoutTransaction(container: CheckedContainer, plan: UpdatePlan): ContainerOutcome {
  const { id, status, hold, digest = '', latestDigest = '', eligibleAtMs, error } = container;
  const refused = plan.refused.find((one) => one.id === id);
  const isDeferred =
    (status === 'held' && (eligibleAtMs !== undefined || hold === 'wave')) || refused?.isDeferred === true;
  return {
    ...untouched(container, isDeferred ? 'deferred' : outcomeOf[status], refused?.reason ?? error ?? container.reason),
    oldDigest: digest,
    newDigest: latestDigest,
  };
}
