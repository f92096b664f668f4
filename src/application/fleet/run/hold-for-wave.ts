import { sentence } from '../../../domain/text/printable.ts';
import { judgeWave, type ProvingEngine } from '../../../domain/waves.ts';
import { tryParseImageReference, sameRepository, type Digest } from '../../../domain/image/image-reference.ts';
import { candidateDigest, type CheckedContainer } from '../../check/checked-container.ts';
import type { ProvenContainer, EngineProof, Prove } from '../../check/prove.ts';
import type { ReachedMember } from '../member/member.ts';
import type { EachEngine } from './each-engine.ts';

export type WaveFacts = {
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
export function holdForWave(checked: CheckedContainer, facts: WaveFacts): CheckedContainer {
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

type Concerned = Pick<ProvenContainer, 'reference' | 'newest'>;

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
function unknownContainer(name: string): ProvenContainer {
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
export type KnownEngine = {
  readonly name: string;
  /** Undefined while the engine is unreachable. */
  readonly proof: EngineProof | undefined;
  /** References of the containers in its last listing. Undefined if it has never been listed. */
  readonly lastListed: readonly string[] | undefined;
};

/** Reads which versions the engines have proven. Never throws. */
export async function readProofs(
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
