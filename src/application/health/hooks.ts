import type { Labels } from '../../domain/container/label-names.ts';
import type { Container } from '../../domain/container/container.ts';
import { describeError, ServiceError } from '../../domain/errors.ts';
import {
  hookCommand,
  type HookResult,
  hookTitles,
  judgeHook,
  outputLines,
  hasOwnLimit,
} from '../../domain/health/hook.ts';
import { readLabels } from '../../domain/settings/labels.ts';
import type { HookName } from '../../domain/settings/table/container-labels.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import type { HookAnswer } from '../../domain/transaction/memory/step-outcome.ts';

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
  const outcome = await engine.runCommand(container.id, command, signal);
  if ('output' in outcome)
    for (const line of outputLines(outcome.output)) log.info('Output of a lifecycle hook', { ...about, line });
  const end = judgeHook(outcome, command);
  if (end.kind === 'passed') log.debug('A lifecycle hook ended with code 0', about);
  // The outcome of the update reports a failed pre-update hook.
  else if (hook !== 'preUpdate') log.warn(`The ${titleOf(hook, container)} ${end.reason}`);
  return end;
}

/** Name of the hook, as the subject of a reason: `pre-check hook of "web"`. */
function titleOf(hook: HookName, { name }: Pick<Container, 'name'>): string {
  return `${hookTitles[hook]} hook of ${quoted(name)}`;
}

type HookBearer = Pick<WatchedContainer, 'container' | 'wishes'>;

/** Runs the hooks before a run. Their results do not affect the run. */
export async function runPreCheckHooks(
  outside: Outside,
  settings: ServiceSettings,
  watched: readonly HookBearer[],
  signal?: AbortSignal,
): Promise<void> {
  if (settings.lifecycleHooks) await runCheckHooks(outside, settings, 'preCheck', watched, signal);
  else logDisabledHooks(outside, watched);
}

/** Runs the hooks after a run, in the containers that then have these names. */
export async function runPostCheckHooks(
  outside: Outside,
  settings: ServiceSettings,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  if (!settings.lifecycleHooks || names.length === 0) return;
  const wanted = new Set(names);
  try {
    const containers = (await outside.engine.listContainers({}, signal)).filter(({ name }) => wanted.has(name));
    // Hooks in the image's labels count too.
    const wishesIn = (labels: Labels) => readLabels(labels, undefined).wishes;
    const bearers = containers.map((container) => ({ container, wishes: wishesIn(container.labels) }));
    await runCheckHooks(outside, settings, 'postCheck', bearers, signal);
  } catch (error) {
    if (signal?.aborted) return;
    if (!(error instanceof ServiceError)) throw error;
    outside.log.warn(`The post-check hooks could not be run: ${describeError(error)}`);
  }
}

async function runCheckHooks(
  outside: Outside,
  settings: ServiceSettings,
  hook: 'preCheck' | 'postCheck',
  bearers: readonly HookBearer[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const hooked = bearers.filter(({ wishes }) => wishes.hooks[hook] !== undefined);
  await mapConcurrently(hooked, hooksAtOnce, async ({ container: { id, name } }) => {
    if (signal?.aborted) return;
    try {
      const container = await outside.engine.inspectContainer(id, signal);
      if (container !== undefined) await runHook(outside, settings, hook, container, signal);
    } catch (error) {
      if (signal?.aborted) return;
      if (!(error instanceof ServiceError)) throw error;
      outside.log.warn(`The ${titleOf(hook, { name })} could not be run: ${describeError(error)}`);
    }
  });
}

/** A hook that hangs must not block all others, and the engine gets few requests at once. */
const hooksAtOnce = 4;

/** Logs which hooks are disabled. */
function logDisabledHooks({ log }: Outside, bearers: readonly HookBearer[]): void {
  for (const { container, wishes } of bearers) {
    if (Object.values(wishes.hooks).every((wish) => wish === undefined)) continue;
    const about = { container: container.name };
    log.debug('The lifecycle hooks of a container are not run without --enable-lifecycle-hooks', about);
  }
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
 * Runs the post-update hook in the successor. A hook with its own timeout is not cancelled with the run.
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
  try {
    const container = await outside.engine.inspectContainer(id);
    if (container === undefined) return { kind: 'noop' };
    hookSignal = hasOwnLimit(container, 'postUpdate') ? undefined : signal;
    const end = await runHook(outside, settings, 'postUpdate', container, hookSignal);
    return end.kind === 'passed' ? { kind: 'done' } : warn(end.reason);
  } catch (error) {
    if (hookSignal?.aborted) return warn('was not waited for: the run was cancelled');
    if (error instanceof ServiceError) return warn(`could not be run: ${describeError(error)}`);
    throw error;
  }
}
