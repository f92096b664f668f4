import type { Decision, DecisionFault, DecisionRequest } from '../../domain/decision/decisions.ts';
import type { Application } from '../application.ts';
import { chooseEngines } from './member/choose-engines.ts';
import type { ReachedMember } from './member/member.ts';

/** Decisions of all engines. A container name that several engines have must come with an engine. */
export function createFleetDecisions(
  membersNow: () => readonly ReachedMember[],
  /** Resolves after the first search for swarms. */
  searched: () => Promise<void>,
): Application['decisions'] {
  const waiting = (container: string, engine?: string) =>
    chooseEngines(membersNow(), engine === undefined ? [] : [engine]).filter(
      ({ application }) => application.decisions.candidateOf(container) !== undefined,
    );

  return {
    candidateOf(container, engine) {
      const [first, ...others] = waiting(container, engine);
      return others.length > 0 ? undefined : first?.application.decisions.candidateOf(container);
    },
    async list() {
      await searched();
      const lists = await Promise.all(
        membersNow().map(async ({ name, application }) => {
          const decisions = await application.decisions.list();
          return decisions.map((decision): Decision => ({ ...decision, engine: name }));
        }),
      );
      return lists.flat().toSorted((one, other) => one.atMs - other.atMs);
    },
    async take(request) {
      const found = waiting(request.container, request.engine);
      const [member = chooseEngines(membersNow(), engineOf(request))[0], ...others] = found;
      if (member === undefined || others.length > 0) return severalHave(found);
      const taken = await member.application.decisions.take(request);
      return 'fault' in taken ? taken : { ...taken, engine: member.name };
    },
    async withdraw(id) {
      await searched();
      for (const { name, application } of membersNow()) {
        const withdrawn = await application.decisions.withdraw(id);
        if (withdrawn !== undefined) return { ...withdrawn, engine: name };
      }
      return undefined;
    },
  };
}

function engineOf({ engine }: DecisionRequest): readonly string[] {
  return engine === undefined ? [] : [engine];
}

function severalHave(members: readonly ReachedMember[]): DecisionFault {
  const names = members.map(({ name }) => name).join(', ');
  return { kind: 'invalid', fault: `it is on several engines (${names}): name one of them with engine` };
}
