import type { UpdatePhase } from '../run/session.ts';
import type { ExecutionMemory, MemberFacts } from './facts.ts';
import { type Decision, type Step, stepKey } from './step.ts';

/** The first step that a member needs and that was not given up. */
export function firstStep(
  phase: UpdatePhase,
  members: readonly MemberFacts[],
  choose: (member: MemberFacts) => Step | false | undefined,
  memory?: ExecutionMemory,
): Decision | undefined {
  return firstOf(members, (member) => {
    const step = possible(choose(member), member);
    return step === undefined || memory?.givenUp.has(stepKey(step)) ? undefined : stepOf(phase, step);
  });
}

/** Like `firstStep`, for steps that must precede all others. */
export function mustNext(
  phase: UpdatePhase,
  members: readonly MemberFacts[],
  memory: ExecutionMemory,
  choose: (member: MemberFacts) => Step | false | undefined,
): Decision | undefined {
  return firstOf(members, (member) => {
    const step = possible(choose(member), member);
    if (step === undefined) return undefined;
    return memory.givenUp.has(stepKey(step)) ? { kind: 'stuck', step } : stepOf(phase, step);
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
