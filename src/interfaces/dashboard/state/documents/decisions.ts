import type { Watched } from './container.ts';
import { objectOf, objectsOf, oneOf, textOf, timeOf } from './reading.ts';

/** What a person has decided about one new version of one container: an entry of `GET /v1/decisions`. */
export type Decision = {
  readonly id: string;
  readonly kind: DecisionKind;
  readonly container: string;
  /** The new version that it is about. */
  readonly digest: string;
  readonly by: string;
  readonly atMs: number | undefined;
  /** Undefined: it ends with its version. */
  readonly untilMs: number | undefined;
};

export const decisionKinds = ['approve', 'skip', 'snooze'] as const;
export type DecisionKind = (typeof decisionKinds)[number];

/** The decisions in force; one of a kind that this page does not know is left out. */
export function readDecisions(document: unknown): readonly Decision[] {
  return objectsOf(objectOf(document)['decisions']).flatMap((entry) => readDecision(entry) ?? []);
}

/** One decision; undefined where the document is none. */
export function readDecision(document: unknown): Decision | undefined {
  const entry = objectOf(document);
  const kind = oneOf(decisionKinds, entry['decision']);
  if (kind === undefined || textOf(entry['id']) === '') return undefined;
  return {
    id: textOf(entry['id']),
    kind,
    container: textOf(entry['container']),
    digest: textOf(entry['digest']),
    by: textOf(entry['by']),
    atMs: timeOf(entry['at']),
    untilMs: timeOf(entry['until']),
  };
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
