import type { Labels } from '../../domain/container/label-names.ts';
import { describeError, ServiceError } from '../../domain/errors.ts';
import { readLabels } from '../../domain/settings/labels.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { mapConcurrently } from '../async/concurrency.ts';
import { runHook, titleOf } from './hooks.ts';

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
