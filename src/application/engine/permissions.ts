import { ServiceError } from '../../domain/text/errors.ts';
import { sentence } from '../../domain/text/words.ts';
import type { EngineReader } from '../../domain/outside/engine.ts';
import type { Log } from '../../domain/outside/outside.ts';
import {
  describeForbidden,
  howToPermit,
  type MissingPermissions,
  missingPermissions,
  type PermissionName,
  preventing,
} from '../../domain/outside/permission.ts';

/**
 * The same engine, which keeps its last answer about forbidden calls, and logs each different one once: with all
 * missing permissions, and how to give them. `missing` makes no call, unless some are missing.
 */
export function watchPermissions<Each extends Pick<EngineReader, 'forbiddenCalls'>>(
  engine: Each,
  log: Pick<Log, 'info' | 'warn' | 'error'>,
): {
  readonly engine: Each;
  readonly missing: () => MissingPermissions | undefined;
  /** Whether containers may not be removed, by the last answer. */
  readonly hindersRemovals: () => boolean;
} {
  let known: readonly PermissionName[] = [];

  function note(forbidden: readonly PermissionName[]): void {
    if (String(forbidden) === String(known)) return;
    known = forbidden;
    const missing = missingPermissions(forbidden);
    if (missing === undefined) log.info('The proxy in front of the engine permits all calls of an update now');
    else log[missing.preventsUpdates ? 'error' : 'warn'](missing.message, { remedy: missing.remedy });
  }

  async function forbiddenCalls(signal?: AbortSignal): Promise<readonly PermissionName[]> {
    const forbidden = await engine.forbiddenCalls(signal);
    note(forbidden);
    return forbidden;
  }

  return {
    engine: { ...engine, forbiddenCalls },
    hindersRemovals: () => known.includes('remove'),
    missing() {
      // A reader of the answers waits for their end.
      if (known.length > 0) void forbiddenCalls().catch(() => undefined);
      return missingPermissions(known);
    },
  };
}

type Asked = { readonly engine: Pick<EngineReader, 'forbiddenCalls'> };

/** `pulls`: whether it pulls an image. `also`: what it needs in addition to every update. */
export type Needs = { readonly pulls: boolean; readonly also?: readonly PermissionName[] };

/**
 * Throws `engine-denied` with all missing permissions if an update could not be completed or undone. Returns the
 * forbidden calls that it works without.
 */
export async function requirePermissions(
  { engine }: Asked,
  doing: string,
  { pulls, also = [] }: Needs,
  signal?: AbortSignal,
): Promise<readonly PermissionName[]> {
  const forbidden = await engine.forbiddenCalls(signal);
  const prevented = preventing(forbidden, { pulls });
  const missing = forbidden.filter((name) => prevented.includes(name) || also.includes(name));
  if (missing.length === 0) return forbidden;
  throw new ServiceError('engine-denied', `Cannot ${doing}: ${describeForbidden(missing)}`, {
    remedy: howToPermit(forbidden),
  });
}

/**
 * Why nothing may be stopped: a call is forbidden without which neither the old nor the new container could start
 * again. Undefined if all are permitted, or if the engine cannot be asked now: the stop itself then shows that.
 */
export async function whyNotStop({ engine }: Asked): Promise<string | undefined> {
  const forbidden = await engine.forbiddenCalls().catch(() => []);
  const missing = forbidden.filter((name) => permissionsToSwap.includes(name));
  return missing.length === 0 ? undefined : `${describeForbidden(missing)}. ${howToPermit(forbidden)}`;
}

/**
 * Runs a use case. Where the engine denies a call, its error names everything else that is forbidden too, so that one
 * change of a proxy's settings is enough.
 */
export async function namingForbidden<Result>({ engine }: Asked, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'engine-denied') throw error;
    const forbidden = await engine.forbiddenCalls().catch(() => []);
    if (forbidden.length === 0) throw error;
    const others = `${sentence(describeForbidden(forbidden))}. ${howToPermit(forbidden)}`;
    throw new ServiceError(error.code, error.message, { remedy: others, cause: error });
  }
}

/** Why no update can begin, with all missing permissions. Undefined if one can, or if the engine cannot be asked. */
export async function whyNotPossible({ engine }: Asked, signal?: AbortSignal): Promise<string | undefined> {
  const forbidden = await engine.forbiddenCalls(signal).catch(() => []);
  const missing = missingPermissions(forbidden);
  return missing?.preventsUpdates ? `${missing.message}. ${missing.remedy}` : undefined;
}

/** The calls without which a stopped container might not start again. */
const permissionsToSwap: readonly PermissionName[] = ['rename', 'policy', 'stop', 'start'];
