import { join } from 'node:path';
import type { CommandName } from '../config/declaration/commands.ts';
import type { readCommands } from '../interfaces/cli/cli.ts';
import type { Sources } from '../interfaces/cli/context/views.ts';
import type { Interrupt } from '../interfaces/cli/terminal/interrupt.ts';
import type { Command, ProcessContext } from './process-context.ts';
import { openService } from './service.ts';

/**
 * Reads from the service of --url, or else from the running service and the files in the folder of --state-dir, or else
 * from the engine with the options of this command.
 */
export async function runReadCommand(
  command: ReadCommandName,
  { settings, options }: Command,
  surroundings: ProcessContext,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const { createLocalSources, createRemoteSources } = await import('../interfaces/cli/context/sources.ts');
  const { clock, log } = surroundings;
  const { url, token } = settings.remote;
  const { folder } = settings.state;
  // A closed output, as in `upkeep events | head -1`, ends the command.
  process.stdout.on('error', () => interrupt.onSignal('SIGPIPE'));
  const sources = url === undefined ? await openLocal() : await openRemote(url);
  const code = await cli.runReportingFailures(await cli.readCommands[command](sources), {
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
    const open = () => openService('check', settings, surroundings);
    const local = createLocalSources({ open, configuration, clock });
    if (folder === undefined) return local;
    // A service may work on other engines than the one that is named here.
    const isOfOther = options.some(({ name, source }) => name === 'host' && source.startsWith('-'));
    const { createFolderSources } = await import('../interfaces/cli/context/sources.ts');
    const { createServiceClient, socketName, socketToken } = await import('../adapters/service/client.ts');
    const socketPath = join(folder, socketName);
    const client = createServiceClient({ url: 'http://upkeep', socketPath, token: socketToken, clock, log });
    const { openMemory } = await import('./memory.ts');
    const { history } = openMemory(folder, surroundings);
    const sources = createFolderSources({ folder, local, client, history, clock });
    return isOfOther ? { ...sources, containers: local.containers } : sources;
  }
}

type ReadCommandName = keyof typeof readCommands;

export function isReadCommand(command: CommandName): command is ReadCommandName {
  const names: readonly CommandName[] = [
    'containers',
    'history',
    'events',
    'config',
  ] satisfies readonly ReadCommandName[];
  return names.includes(command);
}
