import { shortDigest } from '../../../domain/image/image-reference.ts';
import type { PlannedService } from '../../../domain/swarm/decide-service.ts';
import { digestIn } from '../../../domain/container/swarm-service.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { UpdatePlan, PlannedMember, PlannedTransaction } from '../../../domain/plan/update-plan.ts';
import type { CheckedContainer, PlanReport, RehearsalReport } from '../context/context.ts';
import type { Style } from '../terminal/style.ts';
import { imageChange, versionCell } from '../words/version-cell.ts';

/** Steps of an update, in order and with the reasons. */
export function planLines({ report, plan }: PlanReport, style: Style): readonly string[] {
  const checked = new Map(report.containers.map((container) => [container.id, container]));
  const { transactions, restarts, services = [] } = plan;
  const refused = plan.refused.filter(({ id }) => checked.get(id)?.status !== 'held');
  const unknown = report.containers.filter(({ status }) => status === 'unknown');
  const held = report.containers.filter(({ status }) => status === 'held');
  const groups = transactions.length === 1 ? 'one group' : `${transactions.length} groups`;
  const nothing = services.length > 0 ? 'No container would be updated' : 'Nothing would be updated';
  const head = transactions.length === 0 ? nothing : `An update would replace ${groups} of containers`;
  return [
    style.bold(head),
    ...transactions.flatMap((transaction, index) => transactionLines(transaction, index + 1, plan, checked, style)),
    ...(restarts.length === 0 ? [] : ['', style.bold(restartsHead)]),
    ...restarts.map(({ container, because }) => {
      const names = because.map(({ name }) => shown(name));
      return `  ${style.bold(shown(container.name))}: after ${names.join(', ')}`;
    }),
    ...(services.length === 0 ? [] : ['', style.bold('The swarm would update')]),
    ...services.map((service) => serviceLine(service, checked, style)),
    ...(refused.length === 0 ? [] : ['', style.bold('It would leave alone')]),
    ...refused.map(({ name, reason }) => `  ${style.bold(shown(name))}: ${shown(reason)}`),
    ...(held.length === 0 ? [] : ['', style.bold('These are held back')]),
    ...held.map(({ name, reason }) => `  ${style.bold(shown(name))}: ${shown(reason)}`),
    ...(unknown.length === 0 ? [] : ['', style.bold('These could not be checked')]),
    ...unknown.map(({ name, reason }) => `  ${style.bold(shown(name))}: ${shown(reason)}`),
    '',
    style.grey('Nothing was changed'),
  ];
}

export function rehearsalLines({ rehearsals }: RehearsalReport, style: Style): readonly string[] {
  return rehearsals.map(({ containers, faithful, reason }) => {
    const names = style.bold(containers.map(shown).join(', '));
    if (faithful)
      return `${style.green('verified')}  ${names}: a test successor differed only in its image, and was removed`;
    return `${style.red('refused')}   ${names}: ${shown(reason)}`;
  });
}

const restartsHead = 'Then these would restart (depends_on with restart: true)';

function transactionLines(
  { id, members, after }: PlannedTransaction,
  number: number,
  { transactions, canaries = [] }: UpdatePlan,
  checked: ReadonlyMap<string, CheckedContainer>,
  style: Style,
): readonly string[] {
  const numbersOf = (ids: readonly string[]) =>
    ids
      .map((wanted) => transactions.findIndex((other) => other.id === wanted) + 1)
      .filter((other) => other > 0)
      .join(', ');
  const groups = canaries.filter((group) => group.transactions.includes(id));
  const isCanary = groups.some((group) => group.transactions[0] === id);
  const awaited = groups.flatMap((group) => group.transactions.slice(0, 1)).filter((canary) => canary !== id);
  const notes = [
    ...(after.length === 0 ? [] : [`after ${numbersOf(after)}, if that succeeds`]),
    ...(isCanary ? ['first with this new image: the others follow once it has passed'] : []),
    ...(awaited.length === 0 ? [] : [`when the new image has passed in ${numbersOf([...new Set(awaited)])}`]),
  ];
  const title = members.length === 1 ? `${number}.` : `${number}. together or not at all:`;
  return [
    '',
    notes.length === 0 ? title : `${title} ${style.grey(`(${notes.join('; ')})`)}`,
    ...members.map((member) => memberLine(member, members, checked, style)),
  ];
}

function serviceLine(
  { id, name, image, to, after, isOwn }: PlannedService,
  checked: ReadonlyMap<string, CheckedContainer>,
  style: Style,
): string {
  const first = isOwn ? ', last of all' : after.length > 0 ? `, after ${after.map(shown).join(', ')}` : '';
  const reason = checked.get(id)?.reason ?? '';
  const why = reason === '' ? '' : style.grey(` (${shown(reason)})`);
  return `   ${style.bold(shown(name))}: ${shown(image)} to ${shortDigest(digestIn(to) ?? to)}${first}${why}`;
}

function memberLine(
  { container, cause, reference, formerReference, digest, hardDependencies, desiredEndState }: PlannedMember,
  members: readonly PlannedMember[],
  checked: ReadonlyMap<string, CheckedContainer>,
  style: Style,
): string {
  const name = style.bold(shown(container.name));
  if (cause === 'linked') {
    const targets = members.filter((other) => hardDependencies.includes(other.container.id));
    return `   ${name}: re-created from the same image, because it depends on ${targets.map((target) => shown(target.container.name)).join(', ')}`;
  }
  const { version, latestVersion, reason = '' } = checked.get(container.id) ?? {};
  const change = latestVersion === undefined ? '' : versionCell({ from: version, to: latestVersion }).text;
  const to = digest === undefined ? '' : ` to ${shortDigest(digest)}`;
  const how = desiredEndState === 'stopped' ? ', left stopped' : '';
  const image = imageChange(formerReference ?? reference, reference);
  const what = `${shown(image)}${change === '' ? to : `, ${change}`}`;
  return `   ${name}: ${what}${how}${reason === '' ? '' : style.grey(` (${shown(reason)})`)}`;
}

function shown(text: string): string {
  return printable(text, 1000);
}
