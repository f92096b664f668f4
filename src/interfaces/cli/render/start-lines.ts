import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import type { EngineKind } from '../../../domain/outside/engine.ts';
import { printable } from '../../../domain/text/printable.ts';
import type { CommandContext } from '../context/context.ts';
import { countOf } from '../words/wording.ts';

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
