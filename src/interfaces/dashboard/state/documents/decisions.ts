import type { Watched } from './container.ts';
import { type Decision, readDecision } from './decision.ts';
import { objectOf, objectsOf } from './reading.ts';

/** The decisions in force; one of a kind that this page does not know is left out. */
export function readDecisions(document: unknown): readonly Decision[] {
  return objectsOf(objectOf(document)['decisions']).flatMap((entry) => readDecision(entry) ?? []);
}

/** The containers with the decisions about the versions that they wait for; one about another version is over. */
export function withDecisions(containers: readonly Watched[], decisions: readonly Decision[]): readonly Watched[] {
  if (decisions.length === 0) return containers;
  const byName = new Map(decisions.map((decision) => [decision.container, decision]));
  return containers.map((one) => {
    const decision = byName.get(one.name);
    return decision === undefined || decision.digest !== one.candidateDigest ? one : { ...one, decision };
  });
}
