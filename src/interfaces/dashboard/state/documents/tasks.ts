import { countOf, type Json, numberOf, objectOf } from './reading.ts';

/** The number of tasks of a service that run the version of its update or rollback. */
export type Tasks = { readonly running: number; readonly wanted: number };

/** Undefined if the service sends none. */
export function tasksIn({ tasks }: Json): Tasks | undefined {
  const { running, wanted } = objectOf(tasks);
  return numberOf(wanted) === undefined ? undefined : { running: countOf(running), wanted: countOf(wanted) };
}

/** `2 of 4 tasks`. */
export function tasksWords({ running, wanted }: Tasks): string {
  return `${running} of ${wanted} task${wanted === 1 ? '' : 's'}`;
}
