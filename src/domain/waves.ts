import type { Digest } from './image/image-reference.ts';
import { formatDuration } from './text/duration.ts';
import { quoted } from './text/printable.ts';
import { boundedPattern } from './text/name-pattern.ts';

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
  const names = engines.slice(0, maxNames).map(({ name }) => quoted(name));
  return engines.length > maxNames ? `${names.join(', ')} and ${engines.length - maxNames} more` : names.join(', ');
}

const maxNames = 3;

/** A container of another engine that runs the same reference. */
export type ProvingContainer = {
  readonly name: string;
  /** Digests of its image for the reference. There are several if the engine knows an index and its manifest. */
  readonly digests: readonly Digest[];
  readonly isRunning: boolean;
  /** False while its HEALTHCHECK has not passed; true without one. */
  readonly isHealthy: boolean;
  /** The start time by its engine's clock; undefined where unknown. */
  readonly startedAtMs: number | undefined;
  /** The build time of its image; undefined where unknown. */
  readonly builtAtMs: number | undefined;
};

/** The facts of an engine about one reference. */
export type ProvingEngine = {
  readonly name: string;
  readonly isReachable: boolean;
  /** By the engine's own clock, at the time of the listing: clocks of engines may differ by hours. */
  readonly nowMs: number;
  /** Containers with the reference. For an unreachable engine: from its last listing; undefined without one. */
  readonly containers: readonly ProvingContainer[] | undefined;
  /** Digests of the reference that were rolled back there. */
  readonly failed: readonly Digest[];
};

type WaveQuestion = {
  /** The digest that the registry has for the tag. */
  readonly newest: Digest;
  /** The newest version has a higher tag. Its name must not be given to another version. */
  readonly isOfHigherTag: boolean;
  /** Digests of the image that the container runs. */
  readonly current: readonly Digest[];
  /** The build time of that image; undefined where unknown. */
  readonly currentBuiltAtMs: number | undefined;
  /** The engines of each earlier wave, in order. */
  readonly earlier: readonly (readonly ProvingEngine[])[];
  /** The other engines of the same wave. */
  readonly beside: readonly ProvingEngine[];
  readonly pauseMs: number;
  /** By our clock, for the time of the release. */
  readonly nowMs: number;
  /** True if a person asked to retry failed versions. */
  readonly retryFailed: boolean;
};

/** The digest that the container may be updated to, possibly its present one, or why it waits and until when. */
type WaveAnswer =
  | { readonly kind: 'may-run'; readonly digest: Digest }
  | { readonly kind: 'waits'; readonly reason: string; readonly eligibleAtMs?: number };

/** A step in the order of engine updates. A share is a percentage of all engines, from the first one. */
export type WaveStep =
  | { readonly kind: 'names'; readonly text: string; readonly matches: (engine: string) => boolean }
  | { readonly kind: 'share'; readonly percent: number };

/**
 * Reads `canary-.*, 25%, 100%`: patterns for whole engine names in the syntax of
 * https://github.com/google/re2/wiki/Syntax, and increasing shares. A comma within braces belongs to the pattern. The
 * fault completes "Cannot read …: ".
 */
export function parseWaves(text: string): readonly WaveStep[] | { readonly fault: string } {
  if (text.length > maxTextLength) return { fault: `it has more than ${maxTextLength} characters` };
  const parts = text
    .split(/,(?![^{]*\})/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return { fault: 'it is empty' };
  const steps: WaveStep[] = [];
  for (const part of parts) {
    const step = /^-?[\d.]+\s*%$/.test(part) ? readShare(part, steps) : readNames(part);
    if ('fault' in step) return step;
    steps.push(step);
  }
  return steps;
}

const maxTextLength = 1000;

type Fault = { readonly fault: string };

function readShare(part: string, before: readonly WaveStep[]): WaveStep | Fault {
  const percent = Number(part.slice(0, -1));
  if (!(percent > 0 && percent <= 100)) return { fault: `${quoted(part)} is not a share above 0% and up to 100%` };
  const largest = Math.max(0, ...before.map((step) => (step.kind === 'share' ? step.percent : 0)));
  if (percent <= largest) return { fault: `${quoted(part)} comes after ${largest}%, so it adds no engine` };
  return { kind: 'share', percent };
}

function readNames(text: string): WaveStep | Fault {
  const pattern = boundedPattern(text);
  if ('fault' in pattern) return { fault: `${quoted(text)}: ${pattern.fault}` };
  return { kind: 'names', text, matches: (engine) => pattern.groupsOf(engine) !== undefined };
}

/**
 * Names of the engines in each wave, in configured order. Each engine is in the first wave that matches it. The same
 * configuration always gives the same waves. Engines that no step matches form the last wave. No wave is empty.
 */
export function assignWaves(steps: readonly WaveStep[], engines: readonly string[]): readonly (readonly string[])[] {
  const assigned = new Set<string>();
  const waves: string[][] = [];
  const add = (wave: readonly string[]): void => {
    if (wave.length === 0) return;
    for (const engine of wave) assigned.add(engine);
    waves.push([...wave]);
  };
  const remaining = (): readonly string[] => engines.filter((engine) => !assigned.has(engine));
  for (const step of steps) {
    if (step.kind === 'names') add(remaining().filter((engine) => step.matches(engine)));
    else add(remaining().slice(0, Math.max(0, Math.ceil((engines.length * step.percent) / 100) - assigned.size)));
  }
  add(remaining());
  return waves;
}

/** Patterns that match no engine, usually because of a typo. */
export function patternsWithoutEngine(steps: readonly WaveStep[], engines: readonly string[]): readonly string[] {
  return steps.flatMap((step) =>
    step.kind === 'names' && !engines.some((engine) => step.matches(engine)) ? [step.text] : [],
  );
}
