import { decisionCommands, type CommandName } from '../config/declaration/commands.ts';
import { ServiceError } from '../domain/text/errors.ts';
import type { Settings } from '../config/read/process-settings.ts';
import type { DecisionSource } from '../interfaces/cli/context/decision-sources.ts';
import type { Interrupt } from '../interfaces/cli/terminal/interrupt.ts';
import type { Command, ProcessContext } from './process-context.ts';
import { openService } from './service.ts';

/** Makes a decision in the service of --url, or else in the file of --state-dir. */
export async function runDecide(
  command: DecidingName,
  { settings }: Command,
  surroundings: ProcessContext,
  interrupt: Interrupt,
): Promise<number> {
  const cli = await import('../interfaces/cli/cli.ts');
  const { createDecide, createUnskip } = await import('../interfaces/cli/commands/decide.ts');
  const code = await cli.runReportingFailures(
    async (context) => {
      const { source, close } = await openSource(command, settings, surroundings);
      try {
        return await (command === 'unskip' ? createUnskip(source) : createDecide(command, source))(context);
      } finally {
        await close();
      }
    },
    { settings, ...surroundings, signal: interrupt.signal },
  );
  return interrupt.exitCode() ?? code;
}

type DecidingName = (typeof decisionCommands)[number];

export function isDecision(command: CommandName): command is DecidingName {
  return decisionCommands.some((name) => name === command);
}

type OpenSource = { readonly source: DecisionSource; readonly close: () => Promise<void> };

async function openSource(command: string, settings: Settings, surroundings: ProcessContext): Promise<OpenSource> {
  const { url, token } = settings.remote;
  if (url !== undefined) {
    const { createServiceClient } = await import('../adapters/service/client.ts');
    const { createRemoteDecisions } = await import('../interfaces/cli/context/decision-sources.ts');
    const { clock, log } = surroundings;
    return {
      source: createRemoteDecisions(createServiceClient({ url, token, clock, log })),
      close: () => Promise.resolve(),
    };
  }
  if (settings.state.folder === undefined)
    throw new ServiceError('invalid-input', `Cannot ${command}: the decision would not be stored`, {
      remedy: 'name the folder of the service with --state-dir, or the service itself with --url',
    });
  const { createLocalDecisions } = await import('../interfaces/cli/context/decision-sources.ts');
  const { application, close } = await openService('check', settings, surroundings);
  return {
    source: createLocalDecisions(application),
    close: async () => {
      await application.close();
      await close();
    },
  };
}
