/** Rules about the processes in a container: hooks, the way to probe it, the reason of an exit. */

import type { CommandOutcome, ContainerCommand, EngineInfo, EngineEvent } from './outside/engine.ts';
import { isAlive, type Container } from './container/container.ts';
import { formatDuration } from './text/duration.ts';
import { maxWaitMs } from './settings/values/label-values.ts';
import {
  effectiveSettings,
  labelsInEffect,
  labelValuesOf,
  type LabelValues,
  type ServiceSettings,
} from './settings/effective-settings.ts';
import type { HookName } from './settings/table/service-options.ts';
import { printable } from './text/printable.ts';
import { hasHostNetwork } from './container/recipe/networks.ts';

type HookSettings = Pick<ServiceSettings, 'lifecycleHooks' | 'lifecycleUserId' | 'lifecycleGroupId'>;

/** Command line of the container's hook; undefined without a hook, or when hooks are disabled. */
export function hookCommand(
  container: Container,
  hook: HookName,
  settings: HookSettings,
): ContainerCommand | undefined {
  if (!settings.lifecycleHooks) return undefined;
  const { Config } = container.settings;
  const labelValues = labelValuesOf(container);
  const hookLabel = labelValues.hooks[hook];
  if (hookLabel === undefined) return undefined;
  return {
    command: ['sh', '-c', hookLabel.command],
    environment: [`WT_CONTAINER=${describeForHook(container, labelValues)}`],
    user: hookLabel.isFromImage ? undefined : userOf(effectiveSettings(settings, labelValues), Config.User ?? ''),
    timeoutMs: (hookLabel.timeoutMs ?? defaultTimeoutMs) || maxWaitMs,
  };
}

/**
 * How a hook ended. Exit code 75 is `EX_TEMPFAIL`, "try again later":
 * https://man.freebsd.org/cgi/man.cgi?query=sysexits
 */
export type HookResult =
  | { readonly kind: 'passed' }
  | { readonly kind: 'deferred'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

/** `reason` follows "the pre-update hook of "web"". */
export function judgeHook(outcome: CommandOutcome, { timeoutMs }: ContainerCommand): HookResult {
  switch (outcome.kind) {
    case 'ended':
      return judgeExitCode(outcome.exitCode);
    case 'timed-out':
      return failed(`did not end within ${formatDuration(timeoutMs)}; it cannot be stopped and may still run`);
    case 'refused':
      return failed(`could not be run: ${isForbidden(outcome.status) ? forbidden : outcome.message}`);
    case 'unknown':
      return failed(`may or may not have been run: ${outcome.message}`);
  }
}

/** Output lines of a hook, safe to print: the last 200 lines that are not blank, each cut at 1,000 characters. */
export function outputLines(output: string): readonly string[] {
  const lines = output.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  const shown = lines.slice(-maxLines).map((line) => printable(line, maxLineLength));
  return lines.length > maxLines ? ['(earlier lines are omitted)', ...shown] : shown;
}

const defaultTimeoutMs = 60_000;

const maxLines = 200;
const maxLineLength = 1000;

function failed(reason: string): HookResult {
  return { kind: 'failed', reason };
}

/** Status codes of a proxy in front of the engine that refuses a call. */
const isForbidden = (status: number): boolean => status === 401 || status === 403;
const forbidden = 'the engine, or a proxy in front of it, forbids commands in containers';

function judgeExitCode(exitCode: number): HookResult {
  if (exitCode === 0) return { kind: 'passed' };
  if (exitCode === 75) return { kind: 'deferred', reason: 'asks to wait (exit code 75)' };
  const cannotRun = exitCode === 126 || exitCode === 127;
  const why = ': the command, or the shell "sh", is missing or cannot be run';
  return failed(`ended with code ${exitCode}${cannotRun ? why : ''}`);
}

/** Characters, of up to three bytes each; Linux takes at most 128 kB: https://man7.org/linux/man-pages/man2/execve.2.html */
const maxDescriptionLength = 40_000;

/** The fields are those of the Watchtower family. The container's environment is not included. */
function describeForHook(container: Container, { stopSignal }: LabelValues): string {
  const { id, name, imageLabels } = container;
  const { Config } = container.settings;
  const signal = stopSignal ?? (Config.StopSignal || 'SIGTERM');
  const description = { name, id, image_name: Config.Image, stop_signal: signal };
  const whole = JSON.stringify({ ...description, labels: labelsInEffect(Config.Labels ?? {}, imageLabels) });
  return whole.length <= maxDescriptionLength ? whole : JSON.stringify({ ...description, labels: {} });
}

/** A group alone would run the hook as root. */
function userOf({ lifecycleUserId: user, lifecycleGroupId: group }: HookSettings, ownUser: string): string | undefined {
  if (group === undefined) return user?.toString();
  return `${user ?? (ownUser.split(':')[0] || '0')}:${group}`;
}

/** The position from which a container is probed. */
type ProbeOrigin = {
  /** The container whose network this process uses. Undefined outside of the engine's containers. */
  readonly own: Container | undefined;
  /** This process runs in a container of another engine. */
  readonly isElsewhere: boolean;
  readonly reach: EngineInfo['containerReach'];
  /** Drivers of networks, by name. */
  readonly drivers: ReadonlyMap<string, string>;
};

/** Address for a container's probe. `why` is a clause about the obstacle, `remedy` the advice. */
export type ProbeRoute =
  | { readonly kind: 'loopback' }
  /** The first address that one of these networks gave it. */
  | { readonly kind: 'networks'; readonly names: readonly string[] }
  | { readonly kind: 'none'; readonly why: string; readonly remedy: string };

/** Finds an address of `holder`, the container whose network is probed. */
export function probeRoute(holder: Container, { own, isElsewhere, reach, drivers }: ProbeOrigin): ProbeRoute {
  if (own?.id === holder.id) return { kind: 'loopback' };
  if (own === undefined && isElsewhere) return none('Upkeep runs in a container of another engine', useExec);
  if (own === undefined && reach !== 'direct') return none(obstacles[reach], useExec);
  const isOnHost = own === undefined || hasHostNetwork(own);
  if (hasHostNetwork(holder)) {
    return isOnHost ? { kind: 'loopback' } : none('it uses the network of the host, and Upkeep does not', useExec);
  }
  const names = Object.keys(holder.settings.Networks).filter((name) => name !== 'none');
  const near = names.filter((name) => isShared(own, name) || (isOnHost && drivers.get(name) === 'bridge'));
  if (near.length > 0) return { kind: 'networks', names: near };
  if (names.length === 0) return none('it has no network', useExec);
  return isOnHost
    ? none('the host has no address in any of its networks', useExec)
    : none('Upkeep is in none of its networks', `connect Upkeep to one of them, or ${useExec}`);
}

/** The container's address in the first of these networks that has given it one. Undefined before its start. */
export function addressIn(holder: Container, names: readonly string[]): string | undefined {
  for (const name of names) {
    const { IPAddress, GlobalIPv6Address } = holder.settings.Networks[name] ?? {};
    for (const address of [IPAddress, GlobalIPv6Address])
      if (typeof address === 'string' && address !== '') return address;
  }
  return undefined;
}

const useExec = 'use a probe that begins with exec:, which runs in the container';

const obstacles = {
  remote: 'the engine is on another host',
  rootless: 'the engine is rootless, and its networks are not those of this host',
  'virtual-machine': 'the engine is in a virtual machine, and its networks are not those of this host',
} as const satisfies Record<Exclude<EngineInfo['containerReach'], 'direct'>, string>;

function isShared(own: Container | undefined, network: string): boolean {
  return own !== undefined && Object.hasOwn(own.settings.Networks, network);
}

function none(why: string, remedy: string): ProbeRoute {
  return { kind: 'none', why, remedy };
}

/** The first exit of a container's process that the engine reports. */
export type ProcessExit = {
  /** By the engine's clock, with a fraction. */
  readonly atMs: number;
  /** Undefined when the engine does not report it. */
  readonly exitCode: number | undefined;
  readonly outOfMemory: boolean;
  /** The engine's message; empty without one. */
  readonly error: string;
  /** Someone had requested it: a stop, a kill, a forced removal. */
  readonly wasRequested: boolean;
};

/**
 * The exit of a process, from an inspection and the events since its start. Undefined while it runs, or if the engine
 * does not report it. For a removed container only the events count.
 */
export function exitOf(
  id: string,
  container: Container | undefined,
  events: readonly EngineEvent[],
): ProcessExit | undefined {
  const reported = endInEvents(id, events);
  if (container === undefined) return reported;
  const { status, startedAt, finishedAt, exitCode, error, oomKilled } = container.state;
  const isOver = startedAt !== '' && !isAlive(status);
  if (!isOver || container.restartCount > 0) return reported;
  const wasRequested = reported?.wasRequested === true;
  return { atMs: preciseMs(finishedAt), exitCode, outOfMemory: oomKilled, error, wasRequested };
}

function endInEvents(id: string, events: readonly EngineEvent[]): ProcessExit | undefined {
  const own = events.flatMap((event) => (event.kind === 'container' && event.id === id ? [event] : []));
  const at = own.findIndex(({ action }) => action === 'die');
  const end = own[at];
  if (end === undefined) return undefined;
  const before = own.slice(0, at);
  // The engine reports `stop` when the stop is complete. A stop of a stopped container is not reported.
  const wasRequested =
    before.some(({ action, attributes }) => action === 'kill' && ends(attributes['signal'])) ||
    own.slice(at).some(({ action }) => action === 'stop');
  const code = Number(end.attributes['exitCode'] ?? end.attributes['containerExitCode']);
  return {
    atMs: end.timeMs,
    exitCode: Number.isInteger(code) ? code : undefined,
    outOfMemory: before.some(({ action }) => action === 'oom'),
    error: '',
    wasRequested,
  };
}

/** A signal for a reload or a report does not request an exit, though the process may exit later. */
function ends(signal: string | undefined): boolean {
  return signal === undefined || endingSignals.includes(signal);
}

/** SIGINT, SIGQUIT, SIGKILL, SIGTERM and SIGRTMIN+3: https://man7.org/linux/man-pages/man7/signal.7.html */
const endingSignals: readonly string[] = ['2', '3', '9', '15', '37'];

/** `2026-01-02T03:04:05.123456789Z` with all digits, because two processes can exit within a millisecond. */
function preciseMs(timestamp: string): number {
  const [whole = '', fraction = ''] = timestamp.split('.');
  const digits = /^\d+/.exec(fraction)?.[0] ?? '';
  const zone = fraction.slice(digits.length);
  return (
    Date.parse(whole.endsWith('Z') || zone === '' ? whole : `${whole}${zone}`) + Number(`0.${digits || '0'}`) * 1000
  );
}
