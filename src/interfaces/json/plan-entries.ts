import type { Application } from '../../application/application.ts';
import type { PlannedTransaction } from '../../domain/plan/update-plan.ts';

type PlanReport = Awaited<ReturnType<Application['plan']>>;

/** The plan of an update: one entry for each container that is changed or skipped, in the order of execution. */
export function planEntries({ report, plan }: PlanReport) {
  const checked = new Map(report.containers.map((container) => [container.id, container]));
  const transactions = [...plan.transactions, ...(plan.doors ?? []), ...(plan.self ? [plan.self] : [])];
  const leaders = new Map(transactions.map((each) => [each.id, each.members[0]?.container.name ?? '']));
  const services = plan.services ?? [];
  const moved = new Set([
    ...transactions.flatMap(({ members }) => members.map(({ container }) => container.id)),
    ...services.map(({ id }) => id),
  ]);
  const refused = new Map(plan.refused.map(({ id, reason }) => [id, reason]));
  const skipped = report.containers.filter(({ id, status }) => !moved.has(id) && status !== 'fresh');
  return [
    ...transactions.flatMap((transaction) => memberEntries(transaction, leaders, checked)),
    ...plan.restarts.map(({ container, because }) => ({
      name: container.name,
      image: container.settings.Config.Image,
      action: 'restart',
      because: `it depends on ${because.map(({ name }) => name).join(', ')}`,
      depends_on: because.map(({ name }) => name),
      reason: '',
      engine: checked.get(container.id)?.engine,
    })),
    ...services.map(({ id, name, image, after }) => ({
      name,
      image,
      from: checked.get(id)?.version,
      to: checked.get(id)?.latestVersion,
      action: 'update',
      because: 'a newer image',
      depends_on: after,
      reason: checked.get(id)?.reason ?? '',
      engine: checked.get(id)?.engine,
      kind: 'service',
    })),
    ...skipped.map(({ id, name, engine, kind, image, version, latestVersion, reason, error, status }) => ({
      name,
      image,
      from: version,
      to: latestVersion,
      action: 'skip',
      because: refused.has(id) ? 'refused' : status,
      depends_on: [],
      reason: refused.get(id) ?? error ?? reason,
      engine,
      kind,
    })),
  ];
}

function memberEntries(
  { members, after }: PlannedTransaction,
  leaders: ReadonlyMap<string, string>,
  checked: ReadonlyMap<string, PlanReport['report']['containers'][number]>,
) {
  const names = new Map(members.map(({ container }) => [container.id, container.name]));
  return members.map(({ container, cause, reference, formerReference, hardDependencies }) => {
    const { image = reference, version, latestVersion, reason = '', engine } = checked.get(container.id) ?? {};
    const held = hardDependencies.flatMap((id) => names.get(id) ?? []);
    const isStale = cause === 'stale';
    return {
      name: container.name,
      image,
      from: version,
      to: isStale ? latestVersion : version,
      to_image: formerReference && reference,
      action: isStale ? 'update' : 'restart',
      because: isStale ? 'a newer image' : `it is linked to ${held.join(', ')}`,
      depends_on: [...new Set([...after.flatMap((id) => leaders.get(id) ?? []), ...held])],
      reason: isStale ? reason : '',
      engine,
    };
  });
}
