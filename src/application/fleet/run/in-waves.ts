import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { CheckedContainer, JudgeOrder, PartOfRun } from '../../check/checked-container.ts';
import type { ReachedMember } from '../member/member.ts';
import { holdForWave, type KnownEngine, readProofs } from './hold-for-wave.ts';
import type { WavePlan } from './wave-plan.ts';
import type { Answer, EachEngine } from './each-engine.ts';
import { inOrder } from './merge.ts';
import type { EngineApplication } from '../../application.ts';
import type { SwarmMembers } from '../swarm/swarm-members.ts';

export type WaveParts = {
  readonly members: readonly ReachedMember[];
  readonly each: EachEngine;
  /** Undefined: all engines are one wave. */
  readonly plan: WavePlan | undefined;
  readonly swarms: Pick<SwarmMembers, 'of'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
};

export type WorkInWaves<Result> = WaveOrder & {
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

export type WaveOrder = Pick<JudgeOrder, 'applyCooldown'> & {
  readonly part: PartOfRun;
  readonly ignoreWaves?: boolean | undefined;
};

/** Returns the part of an engine in a run, with the rule of its wave. */
export type PartFor = (member: ReachedMember) => PartOfRun;

/** One wave of a run. `prepare` reads the versions that earlier waves have proven. */
export type Wave = { readonly members: readonly ReachedMember[]; readonly prepare: () => Promise<PartFor> };

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
