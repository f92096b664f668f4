import type { TaskProgress } from '../../../domain/swarm/swarm-service.ts';

/** `2 of 4 tasks`. */
export function sayTasks({ running, wanted }: TaskProgress): string {
  return `${running} of ${wanted} task${wanted === 1 ? '' : 's'}`;
}
