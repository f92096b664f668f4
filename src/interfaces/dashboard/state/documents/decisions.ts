import { nameIn, objectOf, objectsOf, oneOf, textOf, timeOf } from './reading.ts';

/** A person's decision about one new version of one container, from `GET /v1/decisions`. */
export type Decision = {
  readonly id: string;
  readonly kind: DecisionKind;
  /** The name of its container, after the name of its engine. */
  readonly container: string;
  /** The new version. */
  readonly digest: string;
  readonly by: string;
  readonly atMs: number | undefined;
  /** Undefined: it ends with its version. */
  readonly untilMs: number | undefined;
};

const decisionKinds = ['approve', 'skip', 'snooze'] as const;
export type DecisionKind = (typeof decisionKinds)[number];

/** One decision; undefined for any other document. */
export function readDecision(document: unknown): Decision | undefined {
  const entry = objectOf(document);
  const kind = oneOf(decisionKinds, entry['decision']);
  if (kind === undefined || textOf(entry['id']) === '') return undefined;
  return {
    id: textOf(entry['id']),
    kind,
    container: nameIn(entry),
    digest: textOf(entry['digest']),
    by: textOf(entry['by']),
    atMs: timeOf(entry['at']),
    untilMs: timeOf(entry['until']),
  };
}

/** The decisions in effect. Unknown kinds are omitted. */
export function readDecisions(document: unknown): readonly Decision[] {
  return objectsOf(objectOf(document)['decisions']).flatMap((entry) => readDecision(entry) ?? []);
}
