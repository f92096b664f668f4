import type { UpdatePhase } from '../run/session.ts';
import { stepOf } from './choose-step.ts';
import type { TransactionFacts } from './facts.ts';
import { type Decision, type Step, stepKey } from './step.ts';

/** A prune is meant for unused containers. A container that was about to start is created again unchanged. */
export function remake({ members, memory }: TransactionFacts, phase: UpdatePhase): Decision | undefined {
  const steps = members.flatMap(
    ({ old, standsIn, lacksAutoRemoveReplica, missingOfAutoRemoveReplica }, member): Step[] => {
      if (old === undefined) return lacksAutoRemoveReplica ? [{ kind: 'autoRemoveReplica', member }] : [];
      const [networkId] = missingOfAutoRemoveReplica;
      return standsIn && networkId !== undefined ? [{ kind: 'connect', id: old.id, networkId, member }] : [];
    },
  );
  const step = steps.find((each) => !memory.givenUp.has(stepKey(each)));
  return step && stepOf(phase, step);
}
