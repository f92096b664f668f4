import type { Fleet } from '../../state/fleet/fleet.ts';
import { progressOf } from '../../state/telling/progress.ts';
import { byId } from '../parts/node.ts';

/** The progress of a run, as the lower edge of the top bar. */
export function paintRunBar(fleet: Fleet): void {
  const node = byId('runbar');
  node.hidden = !fleet.isRunning() || fleet.inRun().length === 0;
  if (node.hidden) return;
  const done = progressOf(fleet);
  node.setAttribute('aria-valuenow', String(Math.round(done * 100)));
  if (node.firstElementChild instanceof HTMLElement) node.firstElementChild.style.transform = `scaleX(${done})`;
}
