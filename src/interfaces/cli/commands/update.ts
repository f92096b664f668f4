import { formatDuration } from '../../../domain/text/duration.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import {
  exitCodes,
  planDocument,
  rehearsalDocument,
  codesOfCheck,
  codesOfSession,
  worstCode,
  type CommandContext,
  type PlanReport,
  type RehearsalReport,
} from '../context/context.ts';
import type { CheckedContainer } from '../../json/entries.ts';
import { printDocument, printLines, styleFor, showSession } from '../render/print.ts';
import { withProgress } from '../render/events.ts';
import { recoverFirst } from './recover-first.ts';
import { refuseUnmatched } from '../../../domain/check/selection.ts';
import { shortDigest } from '../../../domain/image/image-reference.ts';
import { digestIn } from '../../../domain/container/swarm-service.ts';
import { printable } from '../../../domain/text/printable.ts';
import type {
  UpdatePlan,
  PlannedMember,
  PlannedTransaction,
  PlannedService,
} from '../../../domain/plan/update-plan.ts';
import type { Style } from '../terminal/style.ts';
import { formatBytes } from '../../../domain/text/plain-data.ts';
import { estimatedCopyMs } from '../../../domain/transaction/data-helper.ts';
import { imageChange, versionCell } from '../context/wording.ts';

/** `upkeep update`: one update with its progress. With `--dry-run` only its plan or its rehearsal. */
export async function update(context: CommandContext): Promise<number> {
  const { application, settings, signal } = context;
  if (settings.request.dryRun) return settings.request.verify ? rehearse(context) : showPlan(context);
  const repaired = await recoverFirst(context);
  const request = requestOf(settings, application);
  // With a typo in a name of the request, nothing is updated.
  const refuseUnmatched = request.images.length + request.containers.length > 0;
  const session = await withProgress(context, () =>
    application.update({ ...request, trigger: 'command', refuseUnmatched }, signal),
  );
  await showSession(context, session);
  return worstCode([...repaired, ...codesOfSession(session)]);
}

async function showPlan({ application, settings, terminal, signal }: CommandContext): Promise<number> {
  const answer = await application.plan(requestOf(settings, application), signal);
  refuseUnmatched(answer.report, 'update');
  if (settings.output.json) printDocument(terminal, planDocument(answer));
  else {
    const style = styleFor(terminal.out, settings);
    const copies = answer.plan.transactions.some(({ members }) => members.some(({ data }) => data?.items.length));
    const hint = copies ? [style.grey('The size of the data is measured with --verify')] : [];
    printLines(terminal.out, [...planLines(answer, style), ...hint]);
  }
  return worstCode(codesOfCheck(answer.report));
}

/** Exits with 1 when an update would find a difference. A real update would find it too, before the first stop. */
async function rehearse(context: CommandContext): Promise<number> {
  const { application, settings, terminal, signal } = context;
  await recoverFirst(context);
  const answer = await application.rehearse(requestOf(settings, application), signal);
  refuseUnmatched(answer.report, 'update');
  const style = styleFor(terminal.out, settings);
  if (settings.output.json) printDocument(terminal, rehearsalDocument(answer));
  else printLines(terminal.out, [...planLines(answer, style), '', ...rehearsalLines(answer, style)]);
  const codes = answer.rehearsals.map(({ faithful }) => (faithful ? exitCodes.done : exitCodes.failed));
  return worstCode([...codes, ...codesOfCheck(answer.report)]);
}

function requestOf({ request }: CommandContext['settings'], { engines: fleet }: CommandContext['application']) {
  const { images, containers, engines, retryFailed, now, ignoreWaves } = request;
  if (now && images.length + containers.length === 0)
    throw new ServiceError('invalid-input', 'Cannot use --now without the name of a container', {
      remedy: 'name the containers that must not wait for their windows: upkeep update web --now',
    });
  // A name of several engines is taken as it is.
  const forgiving = fleet === undefined;
  return { images, containers, forgiving, engines, retryFailed, ignoreWindows: now, ignoreWaves };
}

/** Steps of an update, in order and with the reasons. */
function planLines({ report, plan }: PlanReport, style: Style): readonly string[] {
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

function rehearsalLines({ rehearsals }: RehearsalReport, style: Style): readonly string[] {
  return rehearsals.map(({ containers, faithful, reason, figures }) => {
    const copied =
      figures === undefined
        ? ''
        : `; data: ${formatBytes(figures.bytes)}, ${figures.files.toLocaleString('en')} files, about ${formatDuration(estimatedCopyMs(figures), 'rounded')} more downtime`;
    const names = style.bold(containers.map(shown).join(', '));
    if (faithful)
      return `${style.green('verified')}  ${names}: a trial container differed only in its image, and was removed${copied}`;
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
    ...members.flatMap((member) => [memberLine(member, members, checked, style), ...dataLines(member)]),
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
  { container, cause, reference, formerReference, digest, hardDependencies, desiredEndState, unit }: PlannedMember,
  members: readonly PlannedMember[],
  checked: ReadonlyMap<string, CheckedContainer>,
  style: Style,
): string {
  const name = style.bold(shown(container.name));
  if (cause === 'linked') {
    const targets = members.filter((other) => hardDependencies.includes(other.container.id));
    return `   ${name}: recreated from the same image, because it depends on ${targets.map((target) => shown(target.container.name)).join(', ')}`;
  }
  const found = checked.get(container.id);
  const { version, latestVersion } = found ?? {};
  // The plain reason would say for each container that there is a newer image.
  const isPlain = found?.status === 'stale' && found.pullDigest === found.latestDigest;
  const reason = isPlain ? '' : (found?.reason ?? '');
  const change = latestVersion === undefined ? '' : versionCell({ from: version, to: latestVersion }).text;
  const to = digest === undefined ? '' : ` to ${shortDigest(digest)}`;
  const byUnit = unit === undefined ? '' : `, by a restart of its unit ${shown(unit.name)}`;
  const how = desiredEndState === 'stopped' ? ', left stopped' : byUnit;
  const image = imageChange(formerReference ?? reference, reference);
  const what = `${shown(image)}${change === '' ? to : `, ${change}`}`;
  return `   ${name}: ${what}${how}${reason === '' ? '' : style.grey(` (${shown(reason)})`)}`;
}

/** `data: /data /config; not saved: /cache (memory)` */
function dataLines({ data }: PlannedMember): readonly string[] {
  if (data === undefined) return [];
  const saved = data.items.flatMap(({ paths }) => paths).toSorted();
  const left = data.left.map(({ path, reason }) => `${shown(path)} (${shown(reason)})`);
  const parts = [
    saved.length === 0 ? 'none' : saved.map(shown).join(' '),
    ...(left.length === 0 ? [] : [`not saved: ${left.join(', ')}`]),
  ];
  return [`      data: ${parts.join('; ')}`];
}

function shown(text: string): string {
  return printable(text, 1000);
}
