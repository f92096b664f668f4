import type { HookAnswer } from '../../domain/transaction/memory/step-outcome.ts';
import { describeError, ServiceError } from '../../domain/errors.ts';
import { hasOwnLimit } from '../../domain/health/hook.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { runHook, titleOf } from './hooks.ts';

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
 * Runs the post-update hook in the successor. Like the health check, it keeps its own timeout when the run is
 * cancelled.
 */
export async function tellAfterUpdate(
  { outside, settings, signal, name }: HookContext & { readonly name: string },
  id: string,
): Promise<HookAnswer> {
  const warn = (why: string): HookAnswer => ({
    kind: 'warned',
    message: `The ${titleOf('postUpdate', { name })} ${why}`,
  });
  let heeded: AbortSignal | undefined;
  try {
    const container = await outside.engine.inspectContainer(id);
    if (container === undefined) return { kind: 'noop' };
    heeded = hasOwnLimit(container, 'postUpdate') ? undefined : signal;
    const end = await runHook(outside, settings, 'postUpdate', container, heeded);
    return end.kind === 'passed' ? { kind: 'done' } : warn(end.reason);
  } catch (error) {
    if (heeded?.aborted) return warn('was not waited for: the run was cancelled');
    if (error instanceof ServiceError) return warn(`could not be run: ${describeError(error)}`);
    throw error;
  }
}
