import type { Digest } from '../reference/digest.ts';
import { formatDuration } from '../text/duration.ts';
import { quoted } from '../text/printable.ts';

/** A container of another engine that runs the same reference. */
export type ProvingContainer = {
  readonly name: string;
  /** Of its image for the reference; several where the engine knows an index and its manifest. */
  readonly digests: readonly Digest[];
  readonly isRunning: boolean;
  /** False while its HEALTHCHECK has not passed; true without one. */
  readonly isHealthy: boolean;
  /** Since when it runs, by its engine's clock; undefined where unknown. */
  readonly startedAtMs: number | undefined;
  /** When its image was built; undefined where unknown. */
  readonly builtAtMs: number | undefined;
};

/** An engine as far as one reference is concerned. */
export type ProvingEngine = {
  readonly name: string;
  readonly isReachable: boolean;
  /** By the engine's own clock, at the time of the listing: clocks of engines may differ by hours. */
  readonly nowMs: number;
  /** Those with the reference. Of an engine that is not reachable: as they were last seen; undefined if never. */
  readonly containers: readonly ProvingContainer[] | undefined;
  /** Digests of the reference that were taken back there. */
  readonly failed: readonly Digest[];
};

export type WaveQuestion = {
  /** The digest that the registry has for the tag. */
  readonly newest: Digest;
  /** Of the image that the container in question runs. */
  readonly current: readonly Digest[];
  /** When that image was built; undefined where unknown. */
  readonly currentBuiltAtMs: number | undefined;
  /** The waves before that of the container's engine, in order. */
  readonly earlier: readonly (readonly ProvingEngine[])[];
  /** The other engines of its own wave. */
  readonly beside: readonly ProvingEngine[];
  readonly pauseMs: number;
  /** By our clock, for the time of the release. */
  readonly nowMs: number;
  /** True if a person asked for versions that failed to be tried again. */
  readonly retryFailed: boolean;
};

/** The digest that the container may be updated to, its own one included, or why it waits and until when. */
export type WaveAnswer =
  | { readonly kind: 'may-run'; readonly digest: Digest }
  | { readonly kind: 'waits'; readonly reason: string; readonly eligibleAtMs?: number };

/**
 * A wave is a rule of staleness: the first wave with a reference follows the registry, a later one gets the digest that
 * all reachable engines before it run for that reference, up and healthy since the pause. All is read from engines, so
 * a restart of the service changes nothing.
 */
export function judgeWave(question: WaveQuestion): WaveAnswer {
  const { newest, current, earlier } = question;
  if (current.includes(newest)) return { kind: 'may-run', digest: newest };
  const unproven = earlier.findIndex(provesNothing);
  if (unproven >= 0) return { kind: 'waits', reason: nobodyReachable(unproven, earlier[unproven] ?? []) };
  const provers = earlier.flat().filter(({ isReachable, containers }) => isReachable && hasAny(containers));
  if (provers.length === 0) return takenBack(newest, question) ?? { kind: 'may-run', digest: newest };
  const digest = commonDigest(provers, newest);
  if (digest === undefined) return waitsForVersion(provers, question);
  if (current.includes(digest)) return takenBack(newest, question) ?? waitsForVersion(provers, question);
  if (digest !== newest && !isNewer(provers, question)) return waitsForVersion(provers, question);
  return takenBack(digest, question) ?? waitsForProof(provers, question) ?? { kind: 'may-run', digest };
}

/** A wave with the reference, or of which that is not known, and with no engine that could prove anything. */
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

function takenBack(digest: Digest, { earlier, beside, retryFailed }: WaveQuestion): WaveAnswer | undefined {
  if (retryFailed) return undefined;
  const where = [...earlier.flat(), ...beside].find(({ failed }) => failed.includes(digest));
  return where && { kind: 'waits', reason: `was taken back on ${quoted(where.name)}` };
}

/** The one digest that all of them run: the newest where they do. */
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
    takenBack(newest, question) ?? { kind: 'waits', reason: `waits for ${namesOf(behind)} to run the same new version` }
  );
}

/** The order of two versions, neither of which the registry has now, is that of their builds: nothing goes back. */
function isNewer(provers: readonly ProvingEngine[], { currentBuiltAtMs = Infinity }: WaveQuestion): boolean {
  const built = provers.flatMap(({ containers = [] }) => containers.map(({ builtAtMs }) => builtAtMs ?? -Infinity));
  return built.every((builtAtMs) => builtAtMs > currentBuiltAtMs);
}

/** The engine that takes longest is named. */
function waitsForProof(provers: readonly ProvingEngine[], { pauseMs, nowMs }: WaveQuestion): WaveAnswer | undefined {
  let last: { readonly name: string; readonly ranMs: number } | undefined;
  for (const { name, nowMs: engineNowMs, containers = [] } of provers) {
    for (const { isRunning, isHealthy, startedAtMs = Infinity, name: container } of containers) {
      const where = `${quoted(container)} on ${quoted(name)}`;
      if (!isRunning) return { kind: 'waits', reason: `waits for ${where}, which does not run` };
      if (!isHealthy) return { kind: 'waits', reason: `waits for ${where}, which is not healthy` };
      // A start in the future is a clock that was set back: it has run for no known time.
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

/** `4 of 10 minutes`, or exact durations where the pause is no whole number of minutes. */
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
