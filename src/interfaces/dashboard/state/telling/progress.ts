import type { ContainerStore } from '../containers/container-store.ts';
import type { UpdateProgress } from '../containers/update-progress.ts';

/** The completed share of a run, from 0 to 1. Counts phases, because their durations are unknown. */
export function progressOf(fleet: ContainerStore): number {
  const names = fleet.inRun();
  const done = names.map((name) => shareOf(fleet.updateOf(name)));
  return names.length === 0 ? 0 : done.reduce((sum, share) => sum + share, 0) / names.length;
}

function shareOf(update: UpdateProgress | undefined): number {
  if (update === undefined) return 1;
  if (update.phase === 'starting' && update.tasks !== undefined)
    return 0.1 + (0.85 * update.tasks.running) / Math.max(1, update.tasks.wanted);
  return update.phase === 'pulling' ? (0.4 * (update.percent ?? 0)) / 100 : weights[update.phase];
}

const weights: Readonly<Record<UpdateProgress['phase'], number>> = {
  waiting: 0,
  pulling: 0.1,
  preparing: 0.45,
  stopping: 0.5,
  starting: 0.6,
  'checking health': 0.75,
  committing: 0.95,
  'rolling back': 0.9,
};
