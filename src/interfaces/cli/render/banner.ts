import { describeError, ServiceError } from '../../../domain/errors.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { CommandContext } from '../context/context.ts';

/** Logs at the start of the service, a line each: version and engine, containers. Unknown values are left out. */
export async function logBanner({ about, application, log, signal }: CommandContext): Promise<void> {
  if (about === undefined || signal.aborted) return;
  try {
    const { kind, version, apiVersion } = await about.engine(signal);
    const engine = `${kind === 'podman' ? 'Podman' : 'Docker'} ${printable(version, 60)}`;
    log.info(`Upkeep ${about.version} with ${engine}`, { api_version: apiVersion });
    log.info(await censusOf(application, signal));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    log.debug('The engine cannot be described', { error: describeError(error) });
  }
}

/** From the inventory where it is kept, else with one list. */
async function censusOf(application: CommandContext['application'], signal: AbortSignal): Promise<string> {
  const { known, containers } = application.inventory();
  if (!known) return `${countOf((await application.containerNames(signal)).length)} on the engine`;
  const others = application.unwatched().length;
  return `${countOf(containers.length)} watched${others === 0 ? '' : `, ${others} not watched`}`;
}

function countOf(count: number): string {
  return `${count} container${count === 1 ? '' : 's'}`;
}
