import type { StepOf } from '../../../domain/transaction/member.ts';
import {
  endedAndGone,
  passGate,
  vanished,
  calledOff,
  stopAndHealthPolicyOf,
  type GateVerdict,
  type GateOptions,
} from '../../health/health.ts';
import { outcomeOfEnd, firstToEnd } from '../facts/first-to-end.ts';
import { memberOf, type Performed, type StepContext } from './step-context.ts';
import { isAlive } from '../../../domain/container/container.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../../domain/settings/effective-settings.ts';

/**
 * Waits for the health of all successors at once, and then for the way through a door. One failure ends the wait, because all of them are rolled back. The
 * end of the process ends it too, after a few seconds in which a short wait ends by itself.
 */
export async function passGates(
  { outside, settings, transaction, whyDoorClosed }: StepContext,
  { ids }: StepOf<'gate'>,
): Promise<Performed> {
  const callOff = new AbortController();
  const seenWell = new Set<string>();
  let failure: { readonly id: string; readonly verdict: FailedGate } | undefined;
  let isLeft = false;
  const leave = async () => {
    await outside.clock.sleep(lastWaitMs, callOff.signal).catch(() => undefined);
    isLeft = !callOff.signal.aborted;
    callOff.abort();
  };
  const { ending } = outside;
  if (ending?.aborted) void leave();
  else ending?.addEventListener('abort', () => void leave(), { signal: callOff.signal });
  await Promise.all(
    ids.map(async (id) => {
      const member = memberOf(id, transaction);
      const ignoresHealthcheck = member?.wasUnhealthy === true;
      if (ignoresHealthcheck)
        outside.log.warn('An update does not wait for a HEALTHCHECK: the container was unhealthy before', {
          container: member.name,
        });
      const pass = member?.desiredEndState === 'completed' ? passCompletion : passGate;
      const verdict = await pass(outside, settings, id, {
        restartsBefore: 0,
        ignoresHealthcheck,
        mayEnd: member?.desiredEndState === 'started',
        signal: callOff.signal,
        onPassed: (container) => {
          const untilMs = outside.clock.monotonicMs() + servesForMs;
          if (ids.length === 1) transaction.readBefore.set(id, { container, untilMs });
        },
      });
      if (verdict.kind === 'passed' || verdict.wasSeenWell) seenWell.add(id);
      if (verdict.kind !== 'failed' || isLeft) return;
      failure ??= { id, verdict };
      callOff.abort();
    }),
  ).finally(() => callOff.abort());
  if (failure === undefined && !isLeft) {
    const [id] = ids;
    const reason = await whyDoorClosed?.();
    return reason === undefined || id === undefined
      ? { kind: 'done' }
      : outcomeOfEnd({ id, ownFault: true, reason }, seenWell.has(id));
  }
  if (failure === undefined) return { kind: 'left' };
  return await blame({ outside, transaction }, failure, seenWell);
}

/** `docker stop` kills a process after 10 s, and the end of a run needs some of them. */
const lastWaitMs = 4000;

/** The last inspection of a window may be used for the facts of the commit for this long. */
const servesForMs = 250;

type FailedGate = Extract<GateVerdict, { readonly kind: 'failed' }>;

async function blame(
  { outside, transaction }: Pick<StepContext, 'outside' | 'transaction'>,
  { id, verdict }: { readonly id: string; readonly verdict: FailedGate },
  seenWell: ReadonlySet<string>,
): Promise<Performed> {
  const first = await firstToEnd(outside, transaction);
  const autoRemoves = memberOf(id, transaction)?.autoRemoves === true;
  const isSame = first?.id === id && !first.isGone && !autoRemoves && first.ownFault === verdict.ownFault;
  if (first !== undefined && !isSame) return outcomeOfEnd(first, seenWell.has(first.id));
  const isEnded = verdict === vanished && autoRemoves;
  const { ownFault, reason, wasSeenWell } = isEnded ? { ...endedAndGone, wasSeenWell: false } : verdict;
  return outcomeOfEnd({ id, ownFault, reason }, wasSeenWell);
}

/** The gate of a job that other containers wait for. It passes when the job has exited with code 0. */
async function passCompletion(
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
