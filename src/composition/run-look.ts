import type { CommandName } from '../config/declaration/commands.ts';
import type { lookFunctions } from '../interfaces/cli/cli.ts';
import type { Sources } from '../interfaces/cli/context/views.ts';
import type { Interrupt } from '../interfaces/cli/terminal/interrupt.ts';
import type { Command, Surroundings } from './surroundings.ts';
import { openService } from './service.ts';

/** Reads from the service of --url, or else from the engine with the options of this command. */
export async function runLook(
  command: LookName,
  { settings, options }: Command,
  surroundings: Surroundings,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const { createLocalSources, createRemoteSources } = await import('../interfaces/cli/context/sources.ts');
  const { clock, log } = surroundings;
  const { url, token } = settings.remote;
  // A closed output, as in `upkeep events | head -1`, ends the command.
  process.stdout.on('error', () => interrupt.hear('SIGPIPE'));
  const sources = url === undefined ? await openLocal() : await openRemote(url);
  const code = await cli.carryOut(await cli.lookFunctions[command](sources), {
    settings,
    ...surroundings,
    signal: interrupt.signal,
  });
  return interrupt.exitCode() ?? code;

  async function openRemote(address: string): Promise<Sources> {
    const { createServiceClient } = await import('../adapters/service/client.ts');
    return createRemoteSources(createServiceClient({ url: address, token, clock, log }));
  }

  async function openLocal(): Promise<Sources> {
    const { shownConfiguration } = await import('../config/show/shown-configuration.ts');
    const configuration = shownConfiguration(settings.service, options, '');
    return createLocalSources({ open: () => openService('check', settings, surroundings), configuration, clock });
  }
}

type LookName = keyof typeof lookFunctions;

export function isLook(command: CommandName): command is LookName {
  const looks: readonly CommandName[] = ['containers', 'history', 'events', 'config'] satisfies readonly LookName[];
  return looks.includes(command);
}
