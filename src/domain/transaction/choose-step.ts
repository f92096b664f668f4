import type { UpdatePhase } from '../run/session.ts';
import type { ExecutionMemory, MemberFacts } from './facts.ts';
import { type Decision, type Step, stepKey } from './step.ts';

type Choose = (member: MemberFacts) => Step | false | undefined;

type ChooseFirst = (members: readonly MemberFacts[], choose: Choose) => Decision | undefined;

/**
 * Each chooses the first step that a member needs in one phase. `next` skips a step that was given up. `must` returns
 * `stuck` for it, because no later step is possible without it.
 */
export function choicesIn(
  phase: UpdatePhase,
  { givenUp }: ExecutionMemory,
): { readonly next: ChooseFirst; readonly must: ChooseFirst } {
  const isGivenUp = (step: Step) => givenUp.has(stepKey(step));
  return {
    next: (members, choose) =>
      firstOf(members, (member) => {
        const step = possible(choose(member), member);
        return step === undefined || isGivenUp(step) ? undefined : stepOf(phase, step);
      }),
    must: (members, choose) =>
      firstOf(members, (member) => {
        const step = possible(choose(member), member);
        if (step === undefined) return undefined;
        return isGivenUp(step) ? { kind: 'stuck', step } : stepOf(phase, step);
      }),
  };
}

/** The first step that a member needs, whether or not it was given up. */
export function firstStep(phase: UpdatePhase, members: readonly MemberFacts[], choose: Choose): Decision | undefined {
  return firstOf(members, (member) => {
    const step = possible(choose(member), member);
    return step && stepOf(phase, step);
  });
}

export function firstOf(
  members: readonly MemberFacts[],
  choose: (member: MemberFacts) => Decision | undefined,
): Decision | undefined {
  for (const member of members) {
    const decision = choose(member);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

export function stepOf(phase: UpdatePhase, step: Step): Decision {
  return { kind: 'step', step, phase };
}

/** Drops a change of the policy on an engine that cannot change policies. */
function possible(step: Step | false | undefined, { policyIsFixed }: MemberFacts): Step | undefined {
  return step === false || (step?.kind === 'policy' && policyIsFixed) ? undefined : step;
}
