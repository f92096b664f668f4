import type { PartOfRun } from '../../check/part-of-run.ts';
import type { EngineProof } from '../../engine/proof.ts';
import type { ReachedMember } from '../member/member.ts';
import type { EachEngine } from './each-engine.ts';

/** The known facts about an engine. */
export type KnownEngine = {
  readonly name: string;
  /** Undefined while it is away. */
  readonly proof: EngineProof | undefined;
  /** References of the containers in its last listing. Undefined if it has never been listed. */
  readonly lastListed: readonly string[] | undefined;
};

/** Reads which versions the engines have proven. Never throws. */
export async function readProofs(
  members: readonly ReachedMember[],
  {
    each,
    part,
    signal,
  }: { readonly each: EachEngine; readonly part: PartOfRun; readonly signal: AbortSignal | undefined },
): Promise<ReadonlyMap<string, KnownEngine>> {
  const work = ({ application }: ReachedMember) => application.prove(part, signal);
  const answers = await each(members, { work, isNamed: false, signal });
  return new Map(
    answers.map(({ member: { name, application }, result }): [string, KnownEngine] => {
      const { known, containers } = application.inventory();
      const lastListed = known ? containers.map(({ image }) => image) : undefined;
      return [name, { name, proof: result, lastListed }];
    }),
  );
}
