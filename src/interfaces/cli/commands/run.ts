import type { Settings } from '../../../config/settings.ts';
import { exitCodes, type CommandContext } from '../context.ts';
import { exitCodeOfSession } from '../exit-code-of-session.ts';
import { logEvents } from '../log-events.ts';
import { printOutcomes } from '../porcelain.ts';
import { recoverFirst, tellRecovered } from '../recover-first.ts';
import { recoverWhenReachable } from '../recover-when-reachable.ts';

/** `upkeep run`: the service. It speaks through the log; asked to stop, it ends at the next safe point. */
export async function run(context: CommandContext): Promise<number> {
  const { application, settings, log, signal } = context;
  if (settings.run.healthCheck) return checkHealth(context);
  if (settings.run.finishUpdate !== undefined) return finishUpdate(context, settings.run.finishUpdate);
  const stopLogging = logEvents(application, log, settings.log);
  const stopPrinting = printOutcomes(context);
  const api = settings.run.once ? undefined : await context.serve?.();
  // Nothing new is taken on while what runs comes to its end; `finally` waits for it.
  signal.addEventListener('abort', () => void api?.stop(), { once: true });
  try {
    await (api === undefined ? recoverFirst(context) : recoverWhenReachable(context));
    if (settings.run.once) return await runOnce(context);
    const { schedule, why } = scheduleOf(settings, api !== undefined);
    log.info(why);
    await application.keepUpdating({ schedule, updateOnStart: settings.run.updateOnStart }, signal);
    return exitCodes.done;
  } finally {
    await api?.stop();
    await application.close();
    stopPrinting();
    stopLogging();
  }
}

/** In a helper container. With another code than 0 the engine starts it again. */
async function finishUpdate({ application, log }: CommandContext, transaction: string): Promise<number> {
  const { transactions } = await application.finishUpdate(transaction);
  if (transactions.length === 0) log.info('The update of Upkeep itself has come to its end already');
  tellRecovered(log, transactions, 'the update');
  return transactions.some(({ result }) => result === 'failed') ? exitCodes.failed : exitCodes.done;
}

async function checkHealth({ application, signal }: CommandContext): Promise<number> {
  await application.ready(signal);
  return exitCodes.done;
}

async function runOnce({ application, signal }: CommandContext): Promise<number> {
  const request = { images: [], containers: [], trigger: 'start' } as const;
  return exitCodeOfSession(await application.update(request, signal));
}

/** Who has the API decides there when to update, unless told that the schedule counts too. */
function scheduleOf({ run: { schedule, periodicPolls } }: Settings, servesApi: boolean) {
  if (!servesApi) return { schedule, why: `Updates ${schedule.words}` };
  if (periodicPolls) return { schedule, why: `Updates ${schedule.words}, besides those that the API is asked for` };
  const why = 'No periodic updates, because the HTTP API is on: --http-api-periodic-polls brings them back';
  return { schedule: undefined, why };
}
