import type { Watched } from './container.ts';
import { type Decision, readDecision } from './decision.ts';
import { objectOf, objectsOf } from './reading.ts';

/** The decisions in effect. Unknown kinds are left out. */
export function readDecisions(document: unknown): readonly Decision[] {
  return objectsOf(objectOf(document)['decisions']).flatMap((entry) => readDecision(entry) ?? []);
}

/** Adds the decisions about present candidates to the containers. Others no longer apply. */
export function withDecisions(containers: readonly Watched[], decisions: readonly Decision[]): readonly Watched[] {
  if (decisions.length === 0) return containers;
  const byName = new Map(decisions.map((decision) => [decision.container, decision]));
  return containers.map((one) => {
    const decision = byName.get(one.name);
    return decision === undefined || decision.digest !== one.candidateDigest ? one : { ...one, decision };
  });
}
