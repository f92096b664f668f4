import { loadConfiguration } from '../../../src/config/read/load.ts';
import type { Settings } from '../../../src/config/read/process-settings.ts';
import type { Log, LogFields } from '../../../src/domain/outside/outside.ts';
import { createScheduler } from '../../../src/application/async/scheduler.ts';
import type { CommandContext } from '../../../src/interfaces/cli/context/context.ts';
import { createFakeApplication, type FakeAnswers, type FakeApplication } from './fake-application.ts';
import { createFakeClock, type FakeClock } from '../clock/fake-clock.ts';
import { createFakeTerminal, type FakeTerminal, type FakeTerminalOptions } from './fake-terminal.ts';

type Environment = Readonly<Record<string, string>>;

/** A command with all its dependencies as fakes; the settings come from a real command line. */
export type CommandScene = {
  readonly context: CommandContext;
  readonly application: FakeApplication;
  readonly clock: FakeClock;
  readonly fake: FakeTerminal;
  readonly logged: readonly (readonly [level: string, message: string, fields: LogFields | undefined])[];
  readonly interrupt: AbortController;
};

export function createCommandScene(
  argv: readonly string[],
  answers: FakeAnswers = {},
  { environment = {}, ...options }: FakeTerminalOptions & { readonly environment?: Environment } = {},
): CommandScene {
  const fakeApplication = createFakeApplication(answers);
  const clock = createFakeClock();
  const fake = createFakeTerminal(options);
  const interrupt = new AbortController();
  const logged: (readonly [string, string, LogFields | undefined])[] = [];
  const writer = (level: string) => (message: string, fields?: LogFields) => void logged.push([level, message, fields]);
  const log: Log = { debug: writer('debug'), info: writer('info'), warn: writer('warn'), error: writer('error') };
  const { terminal } = fake;
  const { keepUpdating } = createScheduler({ clock, log, update: fakeApplication.update });
  const application = { ...fakeApplication, keepUpdating };
  const isAttended = options.isTerminal === true;
  const settings = settingsFor(argv, environment);
  const context = { application, settings, terminal, isAttended, clock, log, signal: interrupt.signal };
  return { context, application, clock, fake, logged, interrupt };
}

export function settingsFor(argv: readonly string[], environment: Environment = {}): Settings {
  const configuration = loadConfiguration(argv, environment);
  if (configuration.kind !== 'command') throw new Error(`no command: ${JSON.stringify(configuration)}`);
  return configuration.settings;
}
