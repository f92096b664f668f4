import { checkTable, withoutUnfinished } from '../render/container-table.ts';
import {
  exitCodes,
  checkDocument,
  codesOfCheck,
  worstCode,
  type CommandContext,
  type CheckReport,
} from '../context/context.ts';
import { engineLines, isLive, printDocument, printLines, styleFor, printTable } from '../render/print.ts';
import { composeNote } from '../../../domain/compose/compose-state.ts';
import { shownName } from '../../../domain/run/session.ts';
import { printable } from '../../../domain/text/printable.ts';
import { refuseUnmatched } from '../../../domain/check/selection.ts';
import { countsOf, statusWording, unfinishedWording } from '../context/wording.ts';

/** `upkeep check`: asks the registries and prints the results. It changes nothing. */
export async function check(context: CommandContext): Promise<number> {
  const { settings, terminal } = context;
  const report = await watchedCheck(context);
  refuseUnmatched(report, 'check');
  if (settings.output.json) printDocument(terminal, checkDocument(report));
  else await printReport(context, report);
  return settings.output.exitCode && hasUpdates(report) ? exitCodes.updatesAvailable : worstCode(codesOfCheck(report));
}

async function watchedCheck({ application, settings, terminal, clock, signal }: CommandContext): Promise<CheckReport> {
  const { images, containers, engines } = settings.request;
  const style = styleFor(terminal.out, settings);
  const table = isLive(terminal, settings)
    ? (await import('../render/live-table.ts')).showLiveTable(application, { terminal, clock, style })
    : undefined;
  try {
    const forgiving = application.engines === undefined;
    return await application.check({ images, containers, engines, forgiving, asScheduled: true }, signal);
  } finally {
    table?.end();
  }
}

async function printReport({ settings, terminal, clock }: CommandContext, report: CheckReport): Promise<void> {
  const { containers, unwatched, unfinished } = report;
  const style = styleFor(terminal.out, settings);
  if (containers.length + unfinished.length > 0)
    await printTable(terminal, checkTable(containers, unfinished, clock.nowMs()), style);
  const counts = countsOf(
    [...unfinished.map(({ state }) => state), ...withoutUnfinished(containers, unfinished).map(({ status }) => status)],
    { ...unfinishedWording, ...statusWording },
  );
  const others = unwatched.length === 0 ? '' : ` (${unwatched.length} more not watched)`;
  printLines(terminal.out, [
    ...(containers.length + unfinished.length > 0 ? [''] : []),
    `${counts}${others}${nextRepair(unfinished)}`,
    ...(report.notPossible === undefined ? [] : [report.notPossible]),
    ...containers.flatMap((one) => composeLine(one) ?? []),
    ...engineLines(report, style),
  ]);
}

function composeLine({ compose, ...one }: CheckReport['containers'][number]): string | undefined {
  const note = compose === undefined ? undefined : composeNote(compose);
  return note === undefined ? undefined : printable(`${shownName(one)}: ${note}`, 400);
}

function nextRepair(unfinished: CheckReport['unfinished']): string {
  const isPending = unfinished.some(({ state }) => state === 'repair pending');
  return isPending ? '; the next run or start of Upkeep repairs what is pending' : '';
}

/** A version that no update applies is not available. */
function hasUpdates({ containers }: CheckReport): boolean {
  return containers.some(({ updateAvailable, hold }) => updateAvailable && hold !== 'not-replaceable');
}
