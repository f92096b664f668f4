import type { CommandName } from '../config/declaration/commands.ts';
import type { RunningService } from '../domain/run/running-service.ts';
import type { lookFunctions } from '../interfaces/cli/cli.ts';
import type { Interrupt } from '../interfaces/cli/terminal/interrupt.ts';
import type { Command } from './command.ts';
import { openService } from './service.ts';
import type { Surroundings } from './surroundings.ts';

/** Of the service that --url names, else of the engine and this command line. */
export async function runLook(
  command: LookName,
  { settings, options }: Command,
  surroundings: Surroundings,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const { clock, log } = surroundings;
  const { url, token } = settings.remote;
  // Stops the request when the reader of the output has gone, as in `upkeep events | head -1`.
  process.stdout.on('error', () => interrupt.hear('SIGPIPE'));
  const service = url === undefined ? await openLocal() : await openRemote(url);
  const code = await cli.carryOut(cli.lookFunctions[command](service), {
    settings,
    ...surroundings,
    signal: interrupt.signal,
  });
  return interrupt.exitCode() ?? code;

  async function openRemote(address: string): Promise<RunningService> {
    const { createServiceClient } = await import('../adapters/service/client.ts');
    return createServiceClient({ url: address, token, clock, log });
  }

  async function openLocal(): Promise<RunningService> {
    const { createLocalService } = await import('../interfaces/cli/context/local-service.ts');
    const { shownConfiguration } = await import('../config/show/shown-configuration.ts');
    const configuration = shownConfiguration(settings.service, options, '');
    return createLocalService({ open: () => openService('check', settings, surroundings), configuration, clock });
  }
}

type LookName = keyof typeof lookFunctions;

export function isLook(command: CommandName): command is LookName {
  const looks: readonly CommandName[] = ['containers', 'history', 'events', 'config'] satisfies readonly LookName[];
  return looks.includes(command);
}
