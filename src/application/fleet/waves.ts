import type { Clock, Log } from '../../domain/outside/outside.ts';
import { candidateDigest, type CheckedContainer, type JudgeOrder, type PartOfRun } from '../check/checked-container.ts';
import { inOrder, type ReachedMember, type Answer, type EachEngine } from './members.ts';
import type { EngineApplication } from '../application.ts';
import type { SwarmMembers } from './swarm-members.ts';
import { quoted } from '../../domain/text/printable.ts';
import { sentence } from '../../domain/text/words.ts';
import {
  judgeWave,
  assignWaves,
  parseWaves,
  patternsWithoutEngine,
  type ProvingEngine,
  type WaveStep,
} from '../../domain/waves.ts';
import { tryParseImageReference, sameRepository, type Digest } from '../../domain/image/image-reference.ts';
import type { EngineProof, Prove } from '../check/prove.ts';
import { ServiceError } from '../../domain/text/errors.ts';

export type WaveParts = {
  readonly members: readonly ReachedMember[];
  readonly each: EachEngine;
  /** Undefined: all engines are one wave. */
  readonly plan: WavePlan | undefined;
  readonly swarms: Pick<SwarmMembers, 'of'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
};

type WorkInWaves<Result> = WaveOrder & {
  readonly work: (application: EngineApplication, part: PartOfRun) => Promise<Result>;
  /** See `EachOrder`. */
  readonly isNamed: boolean;
};

/**
 * Works on all engines and their swarms at once, each engine with the rule of its wave. For runs that change nothing.
 * The answers are in configured order.
 */
export async function inAllWaves<Result>(
  meant: readonly ReachedMember[],
  parts: WaveParts,
  { work, isNamed, ...order }: WorkInWaves<Result>,
  signal: AbortSignal | undefined,
): Promise<readonly Answer<Result>[]> {
  const { each, swarms } = parts;
  const ofWaves = wavesOf(meant, parts, order, signal).map(async (wave) => {
    const partFor = await wave.prepare();
    const inWave = (member: ReachedMember) => work(member.application, partFor(member));
    return each(wave.members, { work: inWave, isNamed, signal });
  });
  const ofSwarms = swarms.of(meant, signal).then((found) => {
    const inSwarm = ({ application }: ReachedMember) => work(application, order.part);
    return each(found, { work: inSwarm, isNamed, signal });
  });
  return inOrder((await Promise.all([...ofWaves, ofSwarms])).flat(), meant);
}

type WaveOrder = Pick<JudgeOrder, 'applyCooldown'> & {
  readonly part: PartOfRun;
  readonly ignoreWaves?: boolean | undefined;
};

/** Returns the part of an engine in a run, with the rule of its wave. */
export type PartFor = (member: ReachedMember) => PartOfRun;

/** One wave of a run. `prepare` reads the versions that earlier waves have proven. */
type Wave = { readonly members: readonly ReachedMember[]; readonly prepare: () => Promise<PartFor> };

/**
 * The waves of a run in order. Each wave is prepared after the earlier ones have ended. Without waves, all engines are
 * one wave without preparation.
 */
export function wavesOf(
  meant: readonly ReachedMember[],
  { members, each, plan, clock, log }: WaveParts,
  { part, applyCooldown, ignoreWaves = false }: WaveOrder,
  signal: AbortSignal | undefined,
): readonly Wave[] {
  if (plan !== undefined && ignoreWaves) log.warn('Waves are ignored in this run', { runId: part.runId });
  if (plan === undefined || ignoreWaves) return [{ members: meant, prepare: () => Promise.resolve(() => part) }];
  const inWave = (index: number, among: readonly ReachedMember[]) =>
    among.filter(({ name }) => plan.waveOf(name) === index);
  return plan.waves.flatMap((_, index): Wave[] => {
    const chosen = inWave(index, meant);
    if (chosen.length === 0) return [];
    return [
      {
        members: chosen,
        async prepare() {
          const asked = members.filter(({ name }) => plan.waveOf(name) <= index);
          // A single engine in the first wave waits for no other.
          if (asked.length === 1) return () => part;
          const known = await readProofs(asked, { each, order: { ...part, applyCooldown }, signal });
          const enginesIn = (wave: number): readonly KnownEngine[] =>
            inWave(wave, members).flatMap(({ name }) => known.get(name) ?? []);
          const earlier = plan.waves.slice(0, index).map((_each, wave) => enginesIn(wave));
          return ({ name }) => ({
            ...part,
            hold: (checked: CheckedContainer, retryFailed: boolean) =>
              holdForWave(checked, {
                earlier,
                retryFailed,
                pauseMs: plan.pauseMs,
                nowMs: clock.nowMs(),
                own: known.get(name),
                beside: enginesIn(index).filter((one) => one.name !== name),
              }),
          });
        },
      },
    ];
  });
}

type WaveFacts = {
  /** The engines of each earlier wave, in order. */
  readonly earlier: readonly (readonly KnownEngine[])[];
  /** The container's engine. Undefined if it could not be reached. */
  readonly own: KnownEngine | undefined;
  /** The other engines of the same wave. */
  readonly beside: readonly KnownEngine[];
  readonly pauseMs: number;
  readonly nowMs: number;
  readonly retryFailed: boolean;
};

/**
 * The verdict on a container of a later wave. Its newer version waits for the engines of earlier waves, or is replaced
 * by the version that they have proven.
 */
function holdForWave(checked: CheckedContainer, facts: WaveFacts): CheckedContainer {
  const newest = candidateDigest(checked);
  if (checked.status !== 'stale' || newest === undefined || checked.pullDigest === undefined) return checked;
  const concerns = concerning(checked);
  const about = (engine: KnownEngine): ProvingEngine => proving(engine, newest, concerns);
  const answer = judgeWave({
    newest,
    isOfHigherTag: !hasOwnTag(checked),
    current: checked.digest === undefined ? [] : [checked.digest],
    currentBuiltAtMs: facts.own?.proof?.containers.find(({ name }) => name === checked.name)?.builtAtMs,
    earlier: facts.earlier.map((wave) => wave.map(about)),
    beside: facts.beside.map(about),
    pauseMs: facts.pauseMs,
    nowMs: facts.nowMs,
    retryFailed: facts.retryFailed,
  });
  if (answer.kind === 'may-run') return answer.digest === newest ? checked : { ...checked, pullDigest: answer.digest };
  return {
    ...checked,
    status: 'held',
    hold: 'wave',
    reason: sentence(answer.reason),
    eligibleAtMs: answer.eligibleAtMs,
  };
}

type Concerned = Pick<EngineProof['containers'][number], 'reference' | 'newest'>;

/**
 * Matches the same reference. For an update to another tag it also matches containers of the repository that have
 * moved, or may move, to that tag. Others, such as `postgres:16` for `postgres:15`, prove nothing about it.
 */
function concerning(checked: CheckedContainer): (one: Concerned) => boolean {
  const own = tryParseImageReference(checked.image);
  return ({ reference, newest }) => {
    if (reference === checked.image) return true;
    if (hasOwnTag(checked) || own === undefined) return false;
    const other = tryParseImageReference(reference);
    // One that has moved may have a still higher tag before it.
    const hasMoved = reference === checked.candidate;
    const mayMove = newest === undefined || newest === checked.candidate;
    return (hasMoved || mayMove) && other !== undefined && sameRepository(own, other);
  };
}

function hasOwnTag({ candidateKind = 'digest' }: CheckedContainer): boolean {
  return candidateKind === 'digest';
}

/** Containers that no run updates count only with a version in question. */
function proving(engine: KnownEngine, newest: Digest, concerns: (one: Concerned) => boolean): ProvingEngine {
  const { name, proof, lastListed } = engine;
  if (proof !== undefined) {
    const concerned = proof.containers.filter(concerns);
    const versions = new Set([newest, ...concerned.flatMap(({ isUpdated, digests }) => (isUpdated ? digests : []))]);
    const containers = concerned.filter(
      ({ isUpdated, digests }) => isUpdated || digests.some((digest) => versions.has(digest)),
    );
    const failed = containers.flatMap((one) => one.failed ?? []);
    return { name, isReachable: true, nowMs: proof.nowMs, containers, failed };
  }
  const listed = lastListed?.filter((reference) => concerns({ reference, newest: undefined }));
  return { name, isReachable: false, nowMs: 0, containers: listed?.map(unknownContainer), failed: [] };
}

/** A container of an unreachable engine: only its existence is known. */
function unknownContainer(name: string): EngineProof['containers'][number] {
  return {
    name,
    reference: name,
    newest: undefined,
    isUpdated: true,
    digests: [],
    isRunning: false,
    isHealthy: false,
    startedAtMs: undefined,
    builtAtMs: undefined,
    failed: undefined,
  };
}

/** The known facts about an engine. */
type KnownEngine = {
  readonly name: string;
  /** Undefined while the engine is unreachable. */
  readonly proof: EngineProof | undefined;
  /** References of the containers in its last listing. Undefined if it has never been listed. */
  readonly lastListed: readonly string[] | undefined;
};

/** Reads which versions the engines have proven. Never throws. */
async function readProofs(
  members: readonly ReachedMember[],
  {
    each,
    order,
    signal,
  }: { readonly each: EachEngine; readonly order: Parameters<Prove>[0]; readonly signal: AbortSignal | undefined },
): Promise<ReadonlyMap<string, KnownEngine>> {
  const work = ({ application }: ReachedMember) => application.prove(order, signal);
  const answers = await each(members, { work, isNamed: false, signal });
  return new Map(
    answers.map(({ member: { name, application }, result }): [string, KnownEngine] => {
      const { known, containers } = application.inventory();
      const lastListed = known ? containers.map(({ image }) => image) : undefined;
      return [name, { name, proof: result, lastListed }];
    }),
  );
}

/** The engines in waves. */
type WavePlan = {
  /** The index of the wave, from 0, by the name of an engine. */
  readonly waveOf: (engine: string) => number;
  readonly waves: readonly (readonly string[])[];
  readonly pauseMs: number;
};

export type WaveOptions = { readonly steps: readonly WaveStep[]; readonly pauseMs: number };

/** Undefined if all engines are one wave. */
export function planWaves(engines: readonly string[], options: WaveOptions | undefined): WavePlan | undefined {
  if (options === undefined) return undefined;
  const waves = assignWaves(options.steps, engines);
  const indexes = new Map(waves.flatMap((wave, index) => wave.map((engine): [string, number] => [engine, index])));
  return { waves, pauseMs: options.pauseMs, waveOf: (engine) => indexes.get(engine) ?? 0 };
}

/** Reads `--waves`. Throws `invalid-input`. */
export function readSteps(text: string): WaveOptions['steps'] {
  const steps = parseWaves(text);
  if (!('fault' in steps)) return steps;
  throw new ServiceError('invalid-input', `Cannot use --waves ${quoted(text)}: ${steps.fault}`, {
    remedy: 'Give patterns of engine names and increasing shares of all engines, such as canary-.*, 25%, 100%',
  });
}

/** Reads `--waves` for the given engine names. Throws `invalid-input`. Warns of patterns that match no engine. */
export function readWaves(
  { text, pauseMs }: { readonly text: string; readonly pauseMs: number },
  engines: readonly string[],
  log: Log,
): WaveOptions {
  const steps = readSteps(text);
  for (const pattern of patternsWithoutEngine(steps, engines))
    log.warn(`--waves: no engine has a name like ${quoted(pattern)}`);
  return { steps, pauseMs };
}
