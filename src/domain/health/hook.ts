import type { CommandOutcome, ContainerCommand } from '../outside/engine.ts';
import type { Container } from '../container/container.ts';
import { formatDuration } from '../text/duration.ts';
import { longestWaitMs } from '../settings/values/label-values.ts';
import {
  effectiveSettings,
  labelsInEffect,
  labelValuesOf,
  type LabelValues,
  type ServiceSettings,
} from '../settings/effective-settings.ts';
import type { HookName } from '../settings/table/service-options.ts';
import { printable } from '../text/printable.ts';

type HookSettings = Pick<ServiceSettings, 'lifecycleHooks' | 'lifecycleUserId' | 'lifecycleGroupId'>;

/** Names of the hooks: the ends of their labels. */
export const hookTitles: Readonly<Record<HookName, string>> = {
  preCheck: 'pre-check',
  preUpdate: 'pre-update',
  postUpdate: 'post-update',
  postCheck: 'post-check',
};

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
    timeoutMs: (hookLabel.timeoutMs ?? defaultTimeoutMs) || longestWaitMs,
  };
}

/** False if the container sets no limit for its hook. */
export function hasOwnLimit(container: Container, hook: HookName): boolean {
  return labelValuesOf(container).hooks[hook]?.timeoutMs !== 0;
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
  const shown = lines.slice(-mostLines).map((line) => printable(line, longestLine));
  return lines.length > mostLines ? ['(earlier lines are omitted)', ...shown] : shown;
}

const defaultTimeoutMs = 60_000;

const mostLines = 200;
const longestLine = 1000;

function failed(reason: string): HookResult {
  return { kind: 'failed', reason };
}

/** Status codes of a proxy in front of the engine that refuses a call. */
const isForbidden = (status: number): boolean => status === 401 || status === 403;
const forbidden = 'the engine, or a proxy before it, forbids commands in containers';

function judgeExitCode(exitCode: number): HookResult {
  if (exitCode === 0) return { kind: 'passed' };
  if (exitCode === 75) return { kind: 'deferred', reason: 'asks to wait (exit code 75)' };
  const cannotRun = exitCode === 126 || exitCode === 127;
  const why = ': the command, or the shell "sh", is missing or cannot be run';
  return failed(`ended with code ${exitCode}${cannotRun ? why : ''}`);
}

/** Characters, of up to three bytes each; Linux takes at most 128 kB: https://man7.org/linux/man-pages/man2/execve.2.html */
const longestDescription = 40_000;

/** The fields are those of the Watchtower family. The container's environment is not included. */
function describeForHook(container: Container, { stopSignal }: LabelValues): string {
  const { id, name, imageLabels } = container;
  const { Config } = container.settings;
  const signal = stopSignal ?? (Config.StopSignal || 'SIGTERM');
  const description = { name, id, image_name: Config.Image, stop_signal: signal };
  const whole = JSON.stringify({ ...description, labels: labelsInEffect(Config.Labels ?? {}, imageLabels) });
  return whole.length <= longestDescription ? whole : JSON.stringify({ ...description, labels: {} });
}

/** A group alone would run the hook as root. */
function userOf({ lifecycleUserId: user, lifecycleGroupId: group }: HookSettings, ownUser: string): string | undefined {
  if (group === undefined) return user?.toString();
  return `${user ?? (ownUser.split(':')[0] || '0')}:${group}`;
}
