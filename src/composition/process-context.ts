import type { Clock, Log, Outside } from '../domain/outside/outside.ts';
import type { Interrupt, createUpdateTracker, Terminal } from '../interfaces/cli/terminal/terminal.ts';
import type { Configuration } from '../config/read/load.ts';
import { setMaxListeners } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { codeOf, ServiceError } from '../domain/text/errors.ts';
import { readClientSecret, readTokens, type TokenSource } from '../domain/settings/http-settings.ts';
import type { Settings, StateSettings } from '../config/read/process-settings.ts';
import type { VerificationKey } from '../domain/image/signature.ts';

/** Facts about the program from the build. */
export type Program = {
  readonly version: string;
  /** The files of the documentation page. */
  readonly assetsFolder: string;
  readonly dashboardFolder: string;
};

export type ProcessContext = {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly log: Log;
  readonly program: Program;
  /** Standard error has log lines for programs only, because the log of the service is not for a terminal. */
  readonly isLogOnly: boolean;
  /** See `Outside`. */
  readonly ending?: AbortSignal;
};

export async function openProcessContext(
  { command, settings }: Pick<Command, 'command' | 'settings'>,
  program: Program,
): Promise<ProcessContext> {
  const { setProcessTimeZone } = await import('../config/table/times.ts');
  setProcessTimeZone(settings.service.timeZone);
  const { createTerminal } = await import('../interfaces/cli/terminal/terminal.ts');
  const { createSystemClock } = await import('../adapters/process/clock.ts');
  const { createLog } = await import('../adapters/process/log.ts');
  const terminal = createTerminal(process.stdout, process.stderr);
  const clock = createSystemClock();
  const { format } = settings.log;
  const isForPeople = format === 'pretty' || (format === 'auto' && terminal.err.isTerminal);
  const log = createLog({
    ...settings.log,
    colour: settings.log.colour && terminal.err.isTerminal,
    stream: { write: terminal.err.write, isTTY: terminal.err.isTerminal },
    secrets: [
      settings.registry.repoPass,
      ...tokensOf(settings.http.token),
      ...tokensOf(settings.http.eventsToken),
      knownClientSecret(settings.http.oidc?.clientSecret),
      settings.remote.token,
      ...settings.notifications.urls.map((url) => url.replace(/^[^:/]*=/, '')),
      ...settings.notifications.legacySecrets,
    ].filter((secret) => secret !== undefined),
    nowMs: clock.nowMs,
  });
  const isLogOnly = command === 'run' && !settings.run.healthCheck && !isForPeople;
  return { terminal, clock, log, program, isLogOnly };
}

type ProcessInterrupt = Interrupt & { readonly underWay: ReturnType<typeof createUpdateTracker> };

export async function hearSignals(
  { terminal, clock, log, isLogOnly }: ProcessContext,
  hasSafePoints: boolean,
): Promise<ProcessInterrupt> {
  const { createInterrupt, createUpdateTracker } = await import('../interfaces/cli/terminal/terminal.ts');
  const underWay = createUpdateTracker();
  const say = (line: string, level: 'info' | 'warn' = 'info') =>
    isLogOnly ? log[level](line) : terminal.err.write(`${line}\n`);
  const interrupt = createInterrupt({
    hasSafePoints,
    say,
    monotonicMs: clock.monotonicMs,
    underWay: underWay.names,
    quit: (code, lastWords) => {
      if (lastWords !== '') say(lastWords, 'warn');
      process.exit(code);
    },
  });
  // Every engine of a run listens.
  setMaxListeners(0, interrupt.signal, interrupt.ending);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.onSignal(name));
  return { ...interrupt, underWay };
}

export type Command = Configuration & { readonly kind: 'command' };

/** All tokens of a source; empty if there is none. */
export function tokensOf(source: TokenSource | undefined): readonly string[] {
  if (source === undefined) return [];
  if (source.kind === 'value') return [source.value];
  try {
    const read = readTokens(readRegular(source.path));
    return read.kind === 'refused' ? [] : read.tokens.map(({ token }) => token);
  } catch {
    // The first start makes it later, and says what is wrong with it.
    return [];
  }
}

/** A pipe would block the process until somebody writes into it. */
function readRegular(path: string): string {
  if (!statSync(path).isFile()) throw new Error('it is not a file');
  return readFileSync(path, 'utf8');
}

/**
 * The secret of this client at the issuer, read at each use. Undefined: a public client. Throws if its file cannot be
 * used: without the secret the issuer would be asked as a public client.
 */
export function clientSecretOf(source: TokenSource | undefined): string | undefined {
  if (source?.kind !== 'file') return source?.value;
  let text: string;
  try {
    text = readRegular(source.path);
  } catch (cause) {
    const why = codeOf(cause) === 'ENOENT' ? 'there is no such file' : 'it cannot be read';
    throw new ServiceError('service-invalid', `Cannot use the file of --oidc-client-secret: ${why}`, { cause });
  }
  const read = readClientSecret(text);
  if (read.kind === 'secret') return read.secret;
  throw new ServiceError('service-invalid', `Cannot use the file of --oidc-client-secret: ${read.why}`);
}

/** For the log, which has nothing to hide while the file cannot be used. */
function knownClientSecret(source: TokenSource | undefined): string | undefined {
  try {
    return clientSecretOf(source);
  } catch {
    return undefined;
  }
}

/** The identity of this process and its view of the machine, the same for all its engines. */
export async function identityOf(
  { journalKeyFile, folder }: Partial<StateSettings>,
  { log }: Pick<Outside, 'log'>,
): Promise<Pick<Outside, 'instance' | 'newId' | 'seal' | 'freeBytes'>> {
  const { createInstance, freeBytes, ownContainerId } = await import('../adapters/process/instance.ts');
  const { openSeal } = await import('../adapters/process/seal.ts');
  const instance = createInstance({ containerId: ownContainerId() });
  const { containerId } = instance;
  const seal = openSeal({ keyFile: journalKeyFile, folder });
  if (seal !== undefined) {
    const { warnOfOthers } = await import('../adapters/files/state-folder.ts');
    warnOfOthers({ folder, keyFile: journalKeyFile }, containerId !== undefined, log);
  }
  return {
    instance,
    newId: () => crypto.randomUUID(),
    freeBytes: (data) => freeBytes(data, containerId),
    ...(seal && { seal }),
  };
}

/** The public keys of --verify-key. */
export async function readKeys({ registry: { verifyKeys } }: Settings): Promise<readonly VerificationKey[]> {
  if (verifyKeys.length === 0) return [];
  const { readVerificationKeys } = await import('../adapters/process/verification-keys.ts');
  return readVerificationKeys(verifyKeys);
}
