import { defined } from '../../domain/text/plain-data.ts';
import type { ContainerOutcome, OutcomeKind, Outcomes } from '../../domain/run/session.ts';
import type { MadePlan, UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import type { CheckReport } from '../check/check.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { untouched } from './run-plan.ts';
import { versionsBetween } from '../../domain/image/image-labels.ts';
import { type ImageIndex, versionFactsOf } from '../../domain/container/lookup.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { shortDigest } from '../../domain/image/image-reference.ts';

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
    ...(status !== 'fresh' && status !== 'stale' && { verdict: status }),
  };
}

/** Outcome of a container outside every transaction. */
const outcomeOf: Readonly<Record<Staleness, OutcomeKind>> = {
  fresh: 'fresh',
  // Without a newer version it counts as fresh, as in other updaters.
  pinned: 'fresh',
  local: 'fresh',
  // A newer version exists, but a setting holds it back. With a temporary reason the outcome is `deferred`.
  held: 'skipped',
  unknown: 'unknown',
  // Refused by the plan.
  stale: 'skipped',
};

/** Adds the versions that the check has named to an outcome. */
function withCheckedVersions(outcome: ContainerOutcome, checked: CheckedContainer | undefined): ContainerOutcome {
  if (checked === undefined) return outcome;
  const { version, latestVersion, latestDigest, pullDigest, updateAvailable, kind, sourceUrl } = checked;
  const isEarlier = pullDigest !== undefined && pullDigest !== latestDigest;
  const next = updateAvailable ? (isEarlier ? shortDigest(pullDigest) : latestVersion) : undefined;
  const to = outcome.outcome === 'restarted' ? version : next;
  return { ...outcome, ...defined({ from: version, to, kind, sourceUrl }) };
}

/** The same outside, but published outcomes get the versions of the check. */
export function namingVersions(outside: Outside, { containers }: Pick<CheckReport, 'containers'>): Outside {
  const byId = new Map(containers.map((container) => [container.id, container]));
  return {
    ...outside,
    publish: (event) => {
      if (!('outcome' in event)) return outside.publish(event);
      const outcome = withCheckedVersions(event.outcome, byId.get(event.outcome.containerId ?? ''));
      outside.publish({ ...event, outcome });
    },
  };
}

/** Adds the versions of its images to an outcome, if the engine has the images. */
export function withImageVersions(outcome: ContainerOutcome, images: ImageIndex): ContainerOutcome {
  const { image, tagChange, oldImageId, newImageId } = outcome;
  const factsOf = (id: string, reference = image) => versionFactsOf(images.byId(id), { image: reference, digest: id });
  const named = versionsBetween(factsOf(oldImageId, tagChange?.from), factsOf(newImageId, tagChange?.to));
  return { ...outcome, ...defined({ from: named.version, to: named.latestVersion }) };
}
