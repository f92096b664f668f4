import { formatDuration } from '../../../domain/duration.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { Trigger } from '../../../domain/session.ts';
import { exitCodes, type CommandContext } from '../context.ts';
import { exitCodeOfSession } from '../exit-code-of-session.ts';
import { logEvents } from '../log-events.ts';
import { recoverFirst } from '../recover-first.ts';

/** `upkeep run`: the service. It speaks through the log; asked to stop, it ends at the next safe point. */
export async function run(context: CommandContext): Promise<number> {
  const { application, settings, log } = context;
  const stopLogging = logEvents(application, log);
  const api = settings.run.once ? undefined : await context.serve?.();
  try {
    await recoverFirst(context);
    if (settings.run.once) return await runOnce(context);
    return api === undefined ? await runAtIntervals(context) : await runWithApi(context);
  } finally {
    await api?.stop();
    stopLogging();
  }
}

/** Who has the API decides there when to update, unless told that the interval counts too. */
async function runWithApi({ application, settings, log, signal }: CommandContext): Promise<number> {
  const { intervalMs: everyMs, updateOnStart } = settings.run;
  const words = `every ${formatDuration(everyMs)}`;
  const polls = settings.http.periodicPolls;
  log.info(
    polls
      ? `Updates ${words}, besides those that the API is asked for`
      : 'No periodic updates, because the HTTP API is on: --http-api-periodic-polls brings them back',
  );
  const schedule = polls ? ({ kind: 'interval', words, everyMs } as const) : undefined;
  await application.keepUpdating({ schedule, updateOnStart }, signal);
  return exitCodes.done;
}

async function runOnce({ application, signal }: CommandContext): Promise<number> {
  return exitCodeOfSession(await application.update({ ...everything, trigger: 'start' }, signal));
}

/** Counts from the begin of one update to the begin of the next; one that takes longer is followed at once. */
async function runAtIntervals(context: CommandContext): Promise<number> {
  const { settings, clock, log, signal } = context;
  const { intervalMs, updateOnStart } = settings.run;
  let nextMs = clock.monotonicMs() + intervalMs;
  if (updateOnStart) await updateAndGoOn(context, 'start');
  while (!signal.aborted) {
    const waitMs = Math.max(0, nextMs - clock.monotonicMs());
    log.info(`Next update in ${formatDuration(Math.round(waitMs / 1000) * 1000)}`, { atMs: clock.nowMs() + waitMs });
    await clock.sleep(waitMs, signal).catch(() => undefined);
    nextMs = clock.monotonicMs() + intervalMs;
    if (!signal.aborted) await updateAndGoOn(context, 'schedule');
  }
  return exitCodes.done;
}

/** A run that fails as a whole, because the engine is away for instance, is told by its event; the next one may succeed. */
async function updateAndGoOn({ application, log, signal }: CommandContext, trigger: Trigger): Promise<void> {
  try {
    await application.update({ ...everything, trigger }, signal);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.debug('The update ended early', { code: error.code, error: describeError(error) });
  }
}

const everything = { images: [], containers: [] } as const;
