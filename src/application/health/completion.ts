import { isAlive } from '../../domain/container/container.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { calledOff, type GateOptions, type GateVerdict, vanished } from './health.ts';
import { stopAndHealthPolicyOf } from './stop-and-health-policy.ts';

/** The gate of a job that other containers wait for. It passes when the job has exited with code 0. */
export async function passCompletion(
  outside: Outside,
  settings: ServiceSettings,
  id: string,
  { signal }: GateOptions = {},
): Promise<GateVerdict> {
  const { engine } = outside;
  const first = await engine.inspectContainer(id);
  if (first === undefined) return vanished;
  const limitMs = stopAndHealthPolicyOf(first, settings).gateTimeoutMs ?? longestWorkMs;
  const wasSeenWell = isAlive(first.state.status);
  try {
    await engine.waitUntilStopped(id, limitMs, signal);
  } catch (error) {
    if (signal?.aborted) return { ...calledOff, wasSeenWell };
    throw error;
  }
  const { state } = (await engine.inspectContainer(id)) ?? {};
  if (state === undefined) return vanished;
  const failed = (reason: string): GateVerdict => ({ kind: 'failed', reason, ownFault: true, wasSeenWell });
  if (isAlive(state.status)) return failed(`its work was not done within ${formatDuration(limitMs)}`);
  return state.exitCode === 0 ? { kind: 'passed' } : failed(`its work ended with code ${state.exitCode}`);
}

/**
 * Used without a health timeout. A database migration needs many minutes; a job without progress must not block for a
 * day.
 */
const longestWorkMs = 1_800_000;
