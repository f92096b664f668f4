import type { Settings } from '../../../config/read/process-settings.ts';
import type { HelperTask } from '../../../domain/self-update/helper.ts';
import type { Schedule } from '../../../domain/run/event.ts';
import { exitCodes, codesOfSession, worstCode, type CommandContext, type ResultCode } from '../context/context.ts';
import { logEvents } from '../render/events.ts';
import { recoverFirst, logRecovered, recoverWhenReachable } from './recover-first.ts';
import { commands, nearestCommand } from '../../../config/table/commands.ts';
import { nearest, namePattern } from '../../../domain/text/name-pattern.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { printable, quoted, printableJson } from '../../../domain/text/printable.ts';
import { failureLines, printLines, styleFor } from '../render/print.ts';
import type { EngineKind } from '../../../domain/outside/engine.ts';
import { countOf } from '../context/wording.ts';
import { shortId } from '../../../domain/container/container.ts';
import { familiarReference, tryParseImageReference } from '../../../domain/image/image-reference.ts';
import type { ContainerOutcome, OutcomeKind, Session } from '../../../domain/run/session.ts';

/** `upkeep run`: the service. Its output is the log. After a stop signal it ends at the next safe point. */
export async function run(context: CommandContext): Promise<number> {
  const { application, settings, log, signal } = context;
  if (settings.run.healthCheck) return checkHealth(context);
  if (settings.run.finishUpdate !== undefined) return finishUpdate(context, settings.run.finishUpdate);
  if (!settings.run.isNamed && (await refuseUnmatchedNames(context))) return exitCodes.usage;
  const stopLogging = logEvents(application, log, settings.log);
  const stopPrinting = printOutcomes(context);
  const api = settings.run.once ? undefined : await context.serve?.();
  // The API refuses new work during the stop; `finally` waits for the running update.
  signal.addEventListener('abort', () => void api?.stop(), { once: true });
  try {
    const repaired = settings.run.once ? await recoverFirst(context) : await recoverWhenReachable(context);
    if (!settings.run.once) await logStart(context);
    const strayCount = await warnOfUnmatchedNames(context);
    if (!settings.run.once && signal.aborted) return exitCodes.done;
    const stray = strayCount > 0 ? exitCodes.incomplete : exitCodes.done;
    const { updateOnStart } = settings.run;
    const about = { updateOnStart, servesApi: api !== undefined, runOnce: settings.run.once };
    if (settings.run.once) {
      await context.announceStart?.({ ...about, schedule: 'Running a one time update', nextRunAtMs: undefined });
      return worstCode([...repaired, stray, ...(await runOnce(context))]);
    }
    const { schedule, level, why } = scheduleOf(settings, api !== undefined);
    log[level](why);
    await context.announceStart?.({
      ...about,
      schedule: why,
      nextRunAtMs: firstRunAtMs(schedule, context.clock.nowMs()),
    });
    const checking = updateOnStart ? undefined : checkAtStart(context);
    await application.keepUpdating({ schedule, updateOnStart, ...(!schedule && { whyNone: why }) }, signal);
    await checking;
    return exitCodes.done;
  } catch (error) {
    context.announceFailure?.(error);
    throw error;
  } finally {
    await api?.stop();
    await application.close();
    stopPrinting();
    stopLogging();
  }
}

/**
 * Checks, without an update, the containers that the API or Home Assistant would show without a result. Results that an earlier process
 * has left are enough for a while, and a registry that asked for a pause gets it.
 */
async function checkAtStart({ application, settings, clock, log, signal }: CommandContext): Promise<void> {
  const { startCheck, startCheckDelayMs = 0 } = settings.run;
  const isShown =
    settings.http.groups.some((group) => group === 'containers' || group === 'dashboard') ||
    settings.notifications.urls.some((url) => /homeassistant\+mqtts?:/i.test(url));
  if (!startCheck || !isShown) return;
  try {
    await application.follow(signal);
    await clock.sleep(startCheckDelayMs, signal);
    const { containers } = application.inventory();
    const due = containers.filter((one) => isCheckDue(one, clock.nowMs()));
    const engines = new Map<string | undefined, string[]>();
    for (const { engine, name } of due)
      engines.set(engine, [...(engines.get(engine) ?? []), name.replaceAll('.', String.raw`\.`)]);
    for (const [engine, names] of engines) {
      const where = engine === undefined ? {} : { engines: [engine] };
      const isAll = due.length === containers.length && engine === undefined;
      await application.check({ images: [], containers: isAll ? [] : names, ...where, trigger: 'start' }, signal);
    }
  } catch (error) {
    if (!signal.aborted)
      log.warn('The check at the start failed; the next one is the next update or request', { error });
  }
}

function isCheckDue({ checkedAtMs, retryAtMs = 0 }: CheckTimes, nowMs: number): boolean {
  if (checkedAtMs === undefined || checkedAtMs > nowMs) return true;
  return retryAtMs <= nowMs && nowMs - checkedAtMs >= recentMs;
}

type CheckTimes = { readonly checkedAtMs: number | undefined; readonly retryAtMs?: number };

/** A service that is restarted again and again must not ask the registries each time. */
const recentMs = 15 * 60_000;

/** Runs in a helper container, which the engine restarts after an exit code other than 0. */
async function finishUpdate(
  { application, log }: CommandContext,
  { transaction }: Pick<HelperTask, 'transaction'>,
): Promise<number> {
  const { transactions } = await application.finishUpdate(transaction);
  if (transactions.length === 0) log.info('The update has already ended');
  logRecovered(log, transactions, 'the update');
  return transactions.some(({ result }) => result === 'failed') ? exitCodes.failed : exitCodes.done;
}

async function checkHealth({ application, signal }: CommandContext): Promise<number> {
  await application.ready(signal);
  return exitCodes.done;
}

async function runOnce({ application, signal }: CommandContext): Promise<readonly ResultCode[]> {
  return codesOfSession(await application.update({ images: [], containers: [], trigger: 'start' }, signal));
}

function firstRunAtMs(schedule: Schedule | undefined, nowMs: number): number | undefined {
  return schedule?.kind === 'interval' ? nowMs + schedule.everyMs : schedule?.nextRunAfter(nowMs);
}

type StartSchedule = {
  readonly schedule: Schedule | undefined;
  readonly level: 'info' | 'warn';
  readonly why: string;
};

/** With the API on, updates run on request only, unless `periodicPolls` also enables the schedule. */
function scheduleOf({ run: { schedule, scheduleSource, periodicPolls } }: Settings, servesApi: boolean): StartSchedule {
  if (!servesApi) return { schedule, level: 'info', why: `Updates ${schedule.words}` };
  if (periodicPolls) return { schedule, level: 'info', why: `Updates ${schedule.words}, and on request over the API` };
  const why = 'No periodic updates, because the HTTP API is on: --http-api-periodic-polls enables them';
  if (scheduleSource === undefined) return { schedule: undefined, level: 'info', why };
  return { schedule: undefined, level: 'warn', why: `${scheduleSource} has no effect. ${why}` };
}

/**
 * Warns of each name on the command line that matches no container, and returns their number. Such containers may be
 * created later.
 */
async function warnOfUnmatchedNames({ application, settings, log, signal }: CommandContext): Promise<number> {
  const { names } = settings.service;
  if (names.length === 0 || signal.aborted) return 0;
  try {
    const strays = strayNames(names, await application.containerNames(signal));
    const then = settings.run.once ? 'the run goes on without it' : 'Upkeep waits for one with this name';
    for (const { name, nearby } of strays) log.warn(`No container matches ${quoted(name)}: ${then}; ${nearby}`);
    return strays.length;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.debug('Cannot compare the names to watch with the containers', { error: describeError(error) });
    return 0;
  }
}

/**
 * Reports each name that matches neither a container nor a command. True if there were any: they are mistyped commands.
 * Without an engine they are refused too, after a while if no command is near and nobody waits: "run" before them waits on.
 */
async function refuseUnmatchedNames({
  application,
  settings,
  terminal,
  signal,
  isAttended,
  clock,
}: CommandContext): Promise<boolean> {
  const { names } = settings.service;
  if (names.length === 0) return false;
  const containers = await namesOfContainers();
  if (containers === undefined) return false;
  const strays = strayNames(names, containers);
  if (strays.length === 0) return false;
  const message = strays
    .map(({ name, nearby }) => `Cannot run ${quoted(name)}: it is neither a command nor a container; ${nearby}`)
    .join('\n');
  const error = new ServiceError('invalid-input', message, { remedy: remedyFor(names) });
  printLines(terminal.err, failureLines(error, styleFor(terminal.err, settings)));
  return true;

  /** Undefined after a stop signal. */
  async function namesOfContainers(): Promise<readonly string[] | undefined> {
    const [near] = names.flatMap((name) => nearestCommand(name) ?? []);
    const untilMs = clock.monotonicMs() + (isAttended || near !== undefined ? 0 : startOfEngineMs);
    for (;;) {
      try {
        return await application.containerNames(signal);
      } catch (error) {
        if (!(error instanceof ServiceError) || signal.aborted) throw error;
        if (clock.monotonicMs() < untilMs) await clock.sleep(askAgainMs, signal).catch(() => undefined);
        else throw unknownNames(names, near, error);
        if (signal.aborted) return undefined;
      }
    }
  }
}

/** A supervisor may start the service a little before the engine. */
const startOfEngineMs = 20_000;
const askAgainMs = 2000;

function unknownNames(names: readonly string[], near: string | undefined, cause: ServiceError): ServiceError {
  const which = names.map((name) => quoted(name)).join(', ');
  const nearby = near === undefined ? '' : `; the nearest command is "${near}"`;
  const why = `Cannot check whether a container matches ${which}, which is not a command${nearby}: ${describeError(cause)}`;
  return new ServiceError(cause.code, why, { cause, remedy: cause.remedy ?? remedyFor(names) });
}

function remedyFor(names: readonly string[]): string {
  const written = printable(`upkeep run ${names.join(' ')}`, 200);
  return `upkeep --help lists the commands, upkeep containers the watched containers; to wait for a container of that name write "${written}"`;
}

type StrayName = { readonly name: string; /** Similar names. */ readonly nearby: string };

function strayNames(names: readonly string[], containers: readonly string[]): readonly StrayName[] {
  return names
    .filter((name) => !containers.some(namePattern(name)))
    .map((name) => ({ name, nearby: `${nearbyContainer(name, containers)}, and ${nearbyCommand(name)}` }));
}

function nearbyContainer(name: string, containers: readonly string[]): string {
  if (containers.length === 0) return 'there are no containers';
  const near = nearest(name, containers.slice(0, maxCompared), 1);
  return near === undefined ? 'no container has a similar name' : `the nearest container is ${quoted(near)}`;
}

/** Each comparison takes microseconds. */
const maxCompared = 2000;

function nearbyCommand(name: string): string {
  const near = nearestCommand(name);
  if (near !== undefined) return `the nearest command is "${near}"`;
  return `the commands are ${commands.map((command) => command.name).join(', ')}`;
}

/** Logs the version and engine at the start of the service, then the number of containers. Omits unknown values. */
export async function logStart({ about, application, log, signal }: CommandContext): Promise<void> {
  if (about === undefined || signal.aborted) return;
  try {
    const engine = engineWords(await about.engine(signal));
    const engines = application.engines?.();
    log.info(`Upkeep ${about.version} with ${engines === undefined ? engine : fleetWords(engines)}`);
    log.info(await countContainers(application, signal));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.debug('Cannot read the version and containers of the engine', { error: describeError(error) });
  }
}

function engineWords({ kind, version }: { readonly kind: EngineKind; readonly version: string }): string {
  return `${products[kind]} ${printable(version, 60)}`;
}

const products: Readonly<Record<EngineKind, string>> = { docker: 'Docker', podman: 'Podman' };

type Engines = ReturnType<NonNullable<CommandContext['application']['engines']>>;

/** `3 engines: nas (Docker 27.3.1), pi (Podman 4.9.4), vps (unreachable)` */
function fleetWords(engines: Engines): string {
  const all = engines.map(({ name, kind, version, reachable }) => {
    if (reachable === false) return `${name} (unreachable)`;
    return kind === undefined || version === undefined ? name : `${name} (${engineWords({ kind, version })})`;
  });
  return `${all.length} engines: ${all.join(', ')}`;
}

/** From the inventory if it is kept, else from one listing. */
async function countContainers(application: CommandContext['application'], signal: AbortSignal): Promise<string> {
  const { known, containers } = application.inventory();
  if (!known) return `${countOf((await application.containerNames(signal)).length, 'container')} on the engine`;
  const others = application.unwatched().length;
  return `${countOf(containers.length, 'container')} watched${others === 0 ? '' : `, ${others} not watched`}`;
}

/** Prints each update's outcome for scripts, if requested, until the returned function is called. */
function printOutcomes({ application, settings, terminal }: CommandContext): () => void {
  const { porcelain } = settings.output;
  if (porcelain === 'none') return () => undefined;
  return application.subscribe((event) => {
    if (event.kind === 'scan_completed' && event.session !== undefined)
      terminal.out.write(porcelainTexts[porcelain](event.session));
  });
}

/** The output of the Watchtower family's `--porcelain`, which scripts read. */
export const porcelainTexts: Readonly<Record<'v1' | 'json', (session: Session) => string>> = {
  v1: ({ containers }) =>
    containers.length === 0 ? 'no containers matched filter\n' : containers.map(lineOf).join(''),
  json: ({ containers }) => `${printableJson(JSON.stringify({ containers: containers.map(entryOf) }, undefined, 2))}\n`,
};

/** The family has no state for a rollback or a deferred update. */
const states: Readonly<Record<OutcomeKind, string>> = {
  updated: 'Updated',
  went_back: 'Updated',
  fresh: 'Fresh',
  failed: 'Failed',
  rolled_back: 'Failed',
  restarted: 'Restarted',
  skipped: 'Skipped',
  deferred: 'Skipped',
  unknown: 'Skipped',
};

function lineOf(container: ContainerOutcome): string {
  const error = errorOf(container);
  const { name, outcome } = container;
  const why = error === '' ? '' : ` Error: ${error}`;
  return `${printable(name, 300)} (${imageOf(container)}): ${states[outcome]}${why}\n`;
}

function entryOf(container: ContainerOutcome) {
  const { name, outcome, oldImageId, newImageId, oldDigest, newDigest } = container;
  const error = errorOf(container);
  return {
    name,
    image: imageOf(container),
    image_id: shortId(oldImageId),
    latest_image_id: shortId(newImageId),
    state: states[outcome],
    update_available: (newImageId !== '' && newImageId !== oldImageId) || (newDigest !== '' && newDigest !== oldDigest),
    ...(error === '' ? {} : { error }),
  };
}

function errorOf({ outcome, reason }: ContainerOutcome): string {
  const isWell = outcome === 'updated' || outcome === 'went_back' || outcome === 'fresh' || outcome === 'restarted';
  return isWell ? '' : printable(reason, 1000);
}

function imageOf({ image }: ContainerOutcome): string {
  const reference = tryParseImageReference(image);
  return reference === undefined ? printable(image, 500) : familiarReference(reference);
}
