import { nameIn, objectOf, objectsOf, oneOf, textOf, textsOf, uniqueName } from './reading.ts';

/** One container of the plan from `POST /v1/update?dry_run=true`, in the order of the work. */
export type PlannedStep = {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly action: 'update' | 'restart' | 'skip';
  readonly because: string;
  readonly dependsOn: readonly string[];
  readonly reason: string;
};

/** Undefined if the answer is not a plan. Then an update may have begun. */
export function readPlan(document: unknown): readonly PlannedStep[] | undefined {
  const { dry_run: isDry, plan } = objectOf(document);
  if (isDry !== true || !Array.isArray(plan)) return undefined;
  return objectsOf(plan).map((step) => ({
    name: nameIn(step),
    from: textOf(step['from']),
    to: textOf(step['to']),
    action: oneOf(['update', 'restart', 'skip'], step['action']) ?? 'skip',
    because: textOf(step['because']),
    dependsOn: textsOf(step['depends_on']).map((name) => uniqueName(name, textOf(step['engine']), step['kind'])),
    reason: textOf(step['reason']),
  }));
}
