import type { Container } from '../../domain/container/container.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { hookCommand, type HookResult, judgeHook, outputLines } from '../../domain/processes.ts';
import type { HookName } from '../../domain/settings/table/service-options.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { type ServiceSettings, labelValuesOf } from '../../domain/settings/effective-settings.ts';
import type { HookAnswer } from '../../domain/transaction/memory.ts';
import { endsSoon } from '../async/concurrency.ts';

/**
 * Runs the container's hook inside it and logs the output. Without a hook the result is `passed`. The command line is
 * never logged, because it may contain a password. Throws the signal's reason after an abort.
 */
export async function runHook(
  { engine, log }: Outside,
  settings: ServiceSettings,
  hook: HookName,
  container: Container,
  signal?: AbortSignal,
): Promise<HookResult> {
  const command = hookCommand(container, hook, settings);
  if (command === undefined || container.state.status !== 'running') return { kind: 'passed' };
  const about = { container: container.name, hook: hookTitles[hook] };
  log.debug('Running a lifecycle hook', about);
  const isTooLong = command.command.at(-1) === '';
  const outcome = isTooLong ? tooLong : await engine.runCommand(container.id, command, signal);
  if ('output' in outcome)
    for (const line of outputLines(outcome.output)) log.info('Output of a lifecycle hook', { ...about, line });
  const end = judgeHook(outcome, command);
  if (end.kind === 'passed') log.debug('A lifecycle hook ended with code 0', about);
  // The outcome of the update reports a failed pre-update hook.
  else if (hook !== 'preUpdate') log.warn(`The ${titleOf(hook, container)} ${end.reason}`);
  return end;
}

const tooLong = { kind: 'refused', status: 0, message: 'its label is too long' } as const;

/** Name of the hook, as the subject of a reason: `pre-check hook of "web"`. */
export function titleOf(hook: HookName, { name }: Pick<Container, 'name'>): string {
  return `${hookTitles[hook]} hook of ${quoted(name)}`;
}

type HookContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly signal?: AbortSignal | undefined;
};

/** Runs the pre-update hook in the old container. Throws a `ServiceError` if no command could be run. */
export async function askBeforeUpdate({ outside, settings, signal }: HookContext, id: string): Promise<HookAnswer> {
  const container = await outside.engine.inspectContainer(id);
  if (container === undefined) return { kind: 'noop' };
  try {
    const end = await runHook(outside, settings, 'preUpdate', container, signal);
    if (end.kind === 'passed') return { kind: 'done' };
    const message = `the ${titleOf('preUpdate', container)} ${end.reason}`;
    return { kind: 'declined', message, deferred: end.kind === 'deferred' };
  } catch (error) {
    if (!signal?.aborted) throw error;
    return { kind: 'declined', message: 'the run was cancelled', deferred: true };
  }
}

/**
 * Runs the post-update hook in the successor. A hook with its own timeout is not cancelled with the run, but it is left
 * soon after the process is asked to end.
 */
export async function tellAfterUpdate(
  { outside, settings, signal }: HookContext,
  id: string,
  name: string,
): Promise<HookAnswer> {
  const warn = (why: string): HookAnswer => ({
    kind: 'warned',
    message: `The ${titleOf('postUpdate', { name })} ${why}`,
  });
  let hookSignal: AbortSignal | undefined;
  const soon = endsSoon(outside);
  try {
    const container = await outside.engine.inspectContainer(id);
    if (container === undefined) return { kind: 'noop' };
    hookSignal = hasOwnLimit(container, 'postUpdate') ? soon.signal : signal;
    const end = await runHook(outside, settings, 'postUpdate', container, hookSignal);
    return end.kind === 'passed' ? { kind: 'done' } : warn(end.reason);
  } catch (error) {
    if (hookSignal?.aborted) return warn('was not waited for: the run was cancelled');
    if (error instanceof ServiceError) return warn(`could not be run: ${describeError(error)}`);
    throw error;
  } finally {
    soon.stop();
  }
}

/** Names of the hooks: the ends of their labels. */
const hookTitles: Readonly<Record<HookName, string>> = {
  preCheck: 'pre-check',
  preUpdate: 'pre-update',
  postUpdate: 'post-update',
  postCheck: 'post-check',
};

/** False if the container sets no limit for its hook. */
function hasOwnLimit(container: Container, hook: HookName): boolean {
  return labelValuesOf(container).hooks[hook]?.timeoutMs !== 0;
}
