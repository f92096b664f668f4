import type { UpdatePhase } from '../run/session.ts';
import { stepOf } from './choose-step.ts';
import type { TransactionFacts } from './facts.ts';
import { type Decision, type Step, stepKey } from './step.ts';

/**
 * Creates a missing or half-connected auto-remove replica again: a prune is meant for unused containers,
 * not for one about to start.
 */
export function remake({ members, course }: TransactionFacts, phase: UpdatePhase): Decision | undefined {
  const steps = members.flatMap(({ old, standsIn, lacksStandIn, missingOfStandIn }, member): Step[] => {
    if (old === undefined) return lacksStandIn ? [{ kind: 'standIn', member }] : [];
    const [networkId] = missingOfStandIn;
    return standsIn && networkId !== undefined ? [{ kind: 'connect', id: old.id, networkId, member }] : [];
  });
  const step = steps.find((each) => !course.givenUp.has(stepKey(each)));
  return step && stepOf(phase, step);
}
