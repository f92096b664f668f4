import type { Digest } from '../image/image-reference.ts';
import { formatDuration } from '../text/duration.ts';
import { quoted } from '../text/printable.ts';
import type { ProvingContainer, ProvingEngine, WaveAnswer, WaveQuestion } from './wave-facts.ts';

/**
 * The first wave with a reference follows the registry. A later wave gets the digest that all reachable engines of
 * earlier waves run for that reference, up and healthy for the length of the pause. All facts are read from engines, so
 * a restart of the service changes nothing.
 */
export function judgeWave(question: WaveQuestion): WaveAnswer {
  const { newest, current, earlier } = question;
  if (current.includes(newest)) return { kind: 'may-run', digest: newest };
  const unproven = earlier.findIndex(provesNothing);
  if (unproven >= 0) return { kind: 'waits', reason: nobodyReachable(unproven, earlier[unproven] ?? []) };
  const provers = earlier.flat().filter(({ isReachable, containers }) => isReachable && hasAny(containers));
  if (provers.length === 0) return rolledBack(newest, question) ?? { kind: 'may-run', digest: newest };
  const digest = commonDigest(provers, newest);
  if (digest === undefined) return waitsForVersion(provers, question);
  if (current.includes(digest)) return rolledBack(newest, question) ?? waitsForVersion(provers, question);
  if (digest !== newest && (question.isOfHigherTag || !isNewer(provers, question)))
    return waitsForVersion(provers, question);
  return rolledBack(digest, question) ?? waitsForProof(provers, question) ?? { kind: 'may-run', digest };
}

/** True for a wave that has the reference, or may have it, on unreachable engines only. */
function provesNothing(wave: readonly ProvingEngine[]): boolean {
  const concerned = wave.filter(({ containers }) => containers === undefined || hasAny(containers));
  return concerned.length > 0 && concerned.every(({ isReachable }) => !isReachable);
}

function hasAny(containers: readonly ProvingContainer[] | undefined): boolean {
  return containers !== undefined && containers.length > 0;
}

function nobodyReachable(index: number, wave: readonly ProvingEngine[]): string {
  return `wave ${index + 1} proves nothing, because ${namesOf(wave)} cannot be reached`;
}

function rolledBack(digest: Digest, { earlier, beside, retryFailed }: WaveQuestion): WaveAnswer | undefined {
  if (retryFailed) return undefined;
  const where = [...earlier.flat(), ...beside].find(({ failed }) => failed.includes(digest));
  return where && { kind: 'waits', reason: `was rolled back on ${quoted(where.name)}` };
}

/** A digest that all of them run, preferably the newest. */
function commonDigest(provers: readonly ProvingEngine[], newest: Digest): Digest | undefined {
  const all = provers.flatMap(({ containers = [] }) => containers);
  const [first, ...others] = all;
  const common = (first?.digests ?? []).filter((digest) => others.every(({ digests }) => digests.includes(digest)));
  return common.includes(newest) ? newest : common[0];
}

function waitsForVersion(provers: readonly ProvingEngine[], question: WaveQuestion): WaveAnswer {
  const { newest } = question;
  const behind = provers.filter(({ containers = [] }) => containers.some(({ digests }) => !digests.includes(newest)));
  return (
    rolledBack(newest, question) ?? {
      kind: 'waits',
      reason: `waits for ${namesOf(behind)} to run the same new version`,
    }
  );
}

/** Orders two versions that the registry no longer has by their build times, so that nothing is downgraded. */
function isNewer(provers: readonly ProvingEngine[], { currentBuiltAtMs = Infinity }: WaveQuestion): boolean {
  const built = provers.flatMap(({ containers = [] }) => containers.map(({ builtAtMs }) => builtAtMs ?? -Infinity));
  return built.every((builtAtMs) => builtAtMs > currentBuiltAtMs);
}

/** Names the engine that takes longest. */
function waitsForProof(provers: readonly ProvingEngine[], { pauseMs, nowMs }: WaveQuestion): WaveAnswer | undefined {
  let last: { readonly name: string; readonly ranMs: number } | undefined;
  for (const { name, nowMs: engineNowMs, containers = [] } of provers) {
    for (const { isRunning, isHealthy, startedAtMs = Infinity, name: container } of containers) {
      const where = `${quoted(container)} on ${quoted(name)}`;
      if (!isRunning) return { kind: 'waits', reason: `waits for ${where}, which does not run` };
      if (!isHealthy) return { kind: 'waits', reason: `waits for ${where}, which is not healthy` };
      // A start in the future means that the clock was set back, so the running time is unknown.
      const ranMs = Math.max(0, engineNowMs - startedAtMs);
      if (ranMs < pauseMs && (last === undefined || ranMs < last.ranMs)) last = { name, ranMs };
    }
  }
  if (last === undefined) return undefined;
  return {
    kind: 'waits',
    reason: `waits for ${quoted(last.name)}, which has run it for ${progress(last.ranMs, pauseMs)}`,
    eligibleAtMs: nowMs + pauseMs - last.ranMs,
  };
}

/** `4 of 10 minutes`, or exact durations if the pause is not a whole number of minutes. */
function progress(ranMs: number, pauseMs: number): string {
  if (pauseMs % 60_000 !== 0) return `${formatDuration(Math.floor(ranMs / 1000) * 1000)} of ${formatDuration(pauseMs)}`;
  const minutes = pauseMs / 60_000;
  return `${Math.floor(ranMs / 60_000)} of ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
}

function namesOf(engines: readonly ProvingEngine[]): string {
  const names = engines.slice(0, mostNames).map(({ name }) => quoted(name));
  return engines.length > mostNames ? `${names.join(', ')} and ${engines.length - mostNames} more` : names.join(', ');
}

const mostNames = 3;
