import { ServiceError } from '../../../domain/text/errors.ts';
import { exitCodes, type CommandContext } from '../context/context.ts';
import { planDocument, rehearsalDocument } from '../context/documents.ts';
import { codesOfCheck, codesOfSession, worstCode } from '../context/exit-code.ts';
import { planLines, rehearsalLines } from '../render/plan-lines.ts';
import { printDocument, printLines, styleFor } from '../render/print.ts';
import { withProgress } from '../render/progress.ts';
import { recoverFirst } from './recover-first.ts';
import { showSession } from '../render/show-session.ts';
import { refuseUnmatched } from '../../../domain/check/selection.ts';

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
  else printLines(terminal.out, planLines(answer, styleFor(terminal.out, settings)));
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
