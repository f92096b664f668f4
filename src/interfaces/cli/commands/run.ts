import type { Settings } from '../../../config/read/process-settings.ts';
import type { HelperTask } from '../../../domain/self-update/helper.ts';
import type { Schedule } from '../../../domain/run/event.ts';
import { exitCodes, type CommandContext } from '../context/context.ts';
import { codesOfSession, type ResultCode, worstCode } from '../context/exit-code.ts';
import { logStart } from '../render/start-lines.ts';
import { logEvents } from '../render/event-description.ts';
import { printOutcomes } from '../render/porcelain.ts';
import { recoverFirst, logRecovered, recoverWhenReachable } from './recover-first.ts';
import { refuseUnmatchedNames, warnOfUnmatchedNames } from './unmatched-names.ts';

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
 * Checks, without an update, the containers that the API would show without a result. Results that an earlier process
 * has left are enough for a while, and a registry that asked for a pause gets it.
 */
async function checkAtStart({ application, settings, clock, log, signal }: CommandContext): Promise<void> {
  const { startCheck, startCheckDelayMs = 0 } = settings.run;
  const isShown = settings.http.groups.some((group) => group === 'containers' || group === 'dashboard');
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
