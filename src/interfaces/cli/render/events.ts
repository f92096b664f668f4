import { composeNote } from '../../../domain/compose/compose-state.ts';
import { words } from '../../../domain/text/words.ts';
import { fleetKeyOf, shownName } from '../../../domain/run/session.ts';
import type { Application } from '../../../application/application.ts';
import type { Settings } from '../../../config/read/process-settings.ts';
import { shortDigest } from '../../../domain/image/image-reference.ts';
import { percentOf, type ServiceEvent } from '../../../domain/run/event.ts';
import type { Log, LogFields } from '../../../domain/outside/outside.ts';
import { printable } from '../../../domain/text/printable.ts';
import {
  countOf,
  formatDowntime,
  formatTasks,
  runWording,
  sayResult,
  startWord,
  wordingOfStatus,
  wordOf,
} from '../context/wording.ts';
import type { CommandContext } from '../context/context.ts';
import { isLive, styleFor } from './print.ts';
import type { TextOutput } from '../terminal/terminal.ts';

/** An event as a line for people, and as data for machines. */
type EventDescription = {
  readonly level: Level;
  /** A sentence without a final period, safe to print. */
  readonly message: string;
  readonly fields: LogFields;
};

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Undefined for events that are too frequent for a line each. */
export function describeEvent(event: ServiceEvent): EventDescription | undefined {
  const said = say(event);
  return said && { level: said[0], message: printable(said[1], maxMessage), fields: fieldsOf(event) };
}

/** Logs the application's events until the returned function is called. */
export function logEvents(
  application: Application,
  log: Log,
  { failedChecks }: Pick<Settings['log'], 'failedChecks'>,
): () => void {
  const saySkipped = createSkippedLines(log);
  const isNewReason = createNewReasons();
  return application.subscribe((event) => {
    saySkipped(event);
    const announcement = describeEvent(event);
    if (announcement === undefined) return;
    log[levelInLog(event, announcement.level)](announcement.message, announcement.fields);
  });

  /** That a container is held back, or could not be checked, for the reason of the previous run is no news. */
  function levelInLog(event: ServiceEvent, level: Level): Level {
    if (event.kind !== 'container_checked') return level;
    const { container: name, entryKind: kind, engine, status, reason } = event;
    const isLeft = status === 'held' || status === 'unknown';
    const isNew = isNewReason(fleetKeyOf(engine, { name, kind }), isLeft && reason);
    if (isLeft && !isNew) return 'debug';
    return level === 'warn' ? failedChecks : level;
  }
}

/**
 * Logs why a run did not update a container with a ready update, if only the end of a run has the reason, such as a
 * forbidden call. Each is logged once, until it changes.
 */
function createSkippedLines(log: Pick<Log, 'info'>): (event: ServiceEvent) => void {
  const isNewSkip = createNewReasons();
  /** Containers of the present run whose event has the same reason. */
  const said = new Set<string>();
  return (event) => {
    if (event.kind === 'scan_started') said.clear();
    if (event.kind === 'container_checked' && event.status !== 'stale') said.add(`${event.container} ${event.reason}`);
    if ('outcome' in event) said.add(`${event.outcome.name} ${event.outcome.reason}`);
    if (event.kind !== 'scan_completed') return;
    for (const { name: bare, engine, outcome, reason, ...one } of event.session?.containers ?? []) {
      const name = shownName({ name: bare, engine });
      const isSkipped = (outcome === 'skipped' || outcome === 'deferred') && !said.has(`${bare} ${reason}`);
      if (!isNewSkip(name, isSkipped && reason)) continue;
      const what = printable(
        `${name}: ${withReason(runWording[wordOf({ outcome, ...one })].text, reason)}`,
        maxMessage,
      );
      log.info(what, { event: 'update_skipped', container: bare, ...(engine !== undefined && { engine }), reason });
    }
    said.clear();
  };
}

/**
 * Tells whether a container has another reason than at the last call for its name. False or an empty text ends a reason,
 * so that it is new when it comes back.
 */
function createNewReasons(): (name: string, reason: string | false) => boolean {
  const told = new Map<string, string>();
  return (name, reason) => {
    if (reason === false || reason === '') {
      told.delete(name);
      return false;
    }
    // The age of an image, or the time that a test has run, is another one in each run.
    const lasting = reason.replace(durations, '');
    if (told.get(name) === lasting) return false;
    if (told.size >= maxTold) told.clear();
    told.set(name, lasting);
    return true;
  };
}

const durations = /\b(?:\d+(?:\.\d+)?(?:ms|[dhms]))+\b|\b\d+ of \d+ minutes?\b/g;

/** More containers than an engine has. Above it, reasons are logged again. */
const maxTold = 5000;

function say(event: ServiceEvent): readonly [Level, string] | undefined {
  switch (event.kind) {
    case 'scan_started':
      return ['info', event.by === undefined ? 'Checking for updates' : `Checking for updates, asked by ${event.by}`];
    case 'scan_skipped':
      return ['warn', event.reason];
    case 'containers_selected':
      return ['debug', `${countOf(event.names.length, 'container')} to check`];
    case 'container_checked':
      return [
        levelOfStatus(event.status),
        `${shownName({ name: event.container, engine: event.engine })}: ${withReason(wordingOfStatus(event.status).text, event.reason)}`,
      ];
    case 'pull_progress':
    // The repair itself has reported this.
    case 'earlier_updates_settled':
      return undefined;
    case 'update_started':
      return ['info', `${shownName({ name: event.container, engine: event.engine })}: ${sayChange(event)}`];
    case 'phase_entered':
      return ['debug', `${shownName({ name: event.container, engine: event.engine })}: ${sayPhase(event)}`];
    case 'update_completed':
    case 'update_deferred':
      return ['info', sayOutcome(event)];
    case 'update_failed':
      return ['error', sayOutcome(event)];
    case 'compose_file': {
      const isBad = event.state.state === 'refused' || event.state.state === 'failed';
      return [
        isBad ? 'warn' : 'info',
        `${shownName({ name: event.container, engine: event.engine })}: ${composeNote(event.state) ?? event.state.state}`,
      ];
    }
    case 'image_cleanup':
      return ['info', `${countOf(event.images.length, 'old image')} removed`];
    case 'scan_completed':
      return [event.failed > 0 ? 'warn' : 'info', sayCounts(event)];
    case 'scan_failed':
      return ['error', event.error];
    case 'engine_unreachable':
      return ['warn', `${event.engine ?? 'The engine'} cannot be reached: ${event.error}`];
    case 'notes_read':
      return ['debug', 'Release notes were read'];
    case 'results_changed':
      return ['debug', 'The states of containers have changed'];
    case 'engine_reachable':
      return ['info', `${event.engine ?? 'The engine'} can be reached again`];
  }
}

const maxMessage = 2000;

function sayChange({ image, formerImage, to, isRollback }: Extract<ServiceEvent, { kind: 'update_started' }>): string {
  const verb = startWord(isRollback);
  if (formerImage !== undefined) return `${verb} ${formerImage} to ${image}`;
  return to === '' ? `${verb} ${image}` : `${verb} ${image} to ${shortDigest(to)}`;
}

function levelOfStatus(status: string): Level {
  if (status === 'unknown') return 'warn';
  return status === 'stale' || status === 'held' ? 'info' : 'debug';
}

function sayOutcome({
  outcome: { name: bare, engine, reason, ...result },
}: Extract<ServiceEvent, { outcome: object }>): string {
  const down = formatDowntime(result);
  const what = sayResult(result).text;
  const name = shownName({ name: bare, engine });
  return `${name}: ${withReason(down === '' ? what : `${what} (${down})`, reason)}`;
}

function sayPhase({ phase, tasks, copied }: Extract<ServiceEvent, { kind: 'phase_entered' }>): string {
  const word = words.phase[phase];
  if (copied !== undefined) return `${word}, ${percentOf(copied) ?? 0}%`;
  return tasks === undefined ? word : `${word}, ${formatTasks(tasks)}`;
}

function sayCounts({ scanned, updated, failed, purpose }: ServiceEvent & { kind: 'scan_completed' }): string {
  const checked = `${countOf(scanned, 'container')} checked`;
  return purpose === 'check' ? checked : `${checked}, ${updated} updated, ${failed} failed`;
}

function withReason(what: string, reason: string): string {
  return reason === '' ? what : `${what}: ${reason}`;
}

/** Fields of the event that neither the line nor other events show. */
function fieldsOf(event: ServiceEvent): LogFields {
  const fields = Object.entries(event).filter(([name]) => !unsaid.has(name));
  return { event: event.kind, ...Object.fromEntries<unknown>(fields), ...('outcome' in event ? event.outcome : {}) };
}

const unsaid: ReadonlySet<string> = new Set(['kind', 'atMs', 'session', 'outcome', 'recipients']);

/** Shows the application's progress while the work lasts. */
export async function withProgress<Result>(context: CommandContext, work: () => Promise<Result>): Promise<Result> {
  const stop = await showProgress(context);
  try {
    return await work();
  } finally {
    stop();
  }
}

/** A live table on a terminal, lines in a pipe, the log if standard output is reserved for a document. */
async function showProgress(context: CommandContext): Promise<() => void> {
  const { application, settings, terminal, clock, log } = context;
  if (settings.output.json) return logEvents(application, log, settings.log);
  if (!isLive(terminal, settings)) return writeEventLines(application, terminal.out);
  const { showLiveTable } = await import('./live-table.ts');
  return showLiveTable(application, { terminal, clock, style: styleFor(terminal.out, settings) }).end;
}

/** One line for each event that is news, until the returned function is called. */
export function writeEventLines(application: Application, output: TextOutput): () => void {
  return application.subscribe((event) => {
    const announcement = isNews(event) ? describeEvent(event) : undefined;
    if (announcement !== undefined) output.write(`${announcement.message}\n`);
  });
}

/** The final table lists unchanged containers. */
function isNews(event: ServiceEvent): boolean {
  if (event.kind === 'container_checked') return event.status === 'stale' || event.status === 'unknown';
  return newsKinds.has(event.kind);
}

const newsKinds: ReadonlySet<string> = new Set<ServiceEvent['kind']>([
  'update_started',
  'phase_entered',
  'update_completed',
  'update_failed',
  'update_deferred',
  'compose_file',
  'image_cleanup',
]);
