import { words } from '../../../../domain/text/words.ts';
import type { StepsShown } from '../../state/display/row.ts';
import { capitalized, preciseDuration } from '../../state/words.ts';
import { h } from './node.ts';

const stepNames = [
  ['pulling', 'pull'],
  ['preparing', 'create'],
  ['stopping', 'stop'],
  ['starting', 'start'],
  ['checking health', 'health'],
] as const;

/** The five steps of an update as bars, with the duration of each completed one. */
export function steps(
  { phase, percent = 0, failedIn }: StepsShown,
  timesMs?: Readonly<Record<string, number>>,
): HTMLOListElement {
  const isBack = phase === 'rolling back' || phase === 'restoring data';
  const reached = isBack ? failedIn : phase;
  // Data are copied while the container is stopped, which has no bar of its own.
  const step = reached === 'saving data' ? 'stopping' : reached;
  const at = phase === 'committing' ? stepNames.length : stepNames.findIndex(([key]) => key === step);
  const backMs = isBack ? timesMs?.['rolling_back'] : undefined;
  const pulled = phase === 'pulling' || percent > 0 ? ` ${percent} %` : '';
  const label = isBack
    ? `${capitalized(words.phase[phase])}${pulled}`
    : `Step ${Math.min(at + 1, stepNames.length)} of ${stepNames.length}: ${capitalized(words.phase[phase])}${pulled}`;
  const items = stepNames.map(([key, word], place) => {
    const isNow = place === at && !isBack && timesMs === undefined;
    const isPull = isNow && key === 'pulling';
    const ms = timesMs?.[key.replace(' ', '_')];
    const kind = place < at ? 'done' : isBack && place === at ? 'bad' : isNow ? `now${isPull ? ' part' : ''}` : '';
    return h(
      'li',
      { class: kind },
      isPull && scaled(percent),
      h('span', {}, isPull ? `${word} ${percent}\u00A0%` : word),
      ms !== undefined && h('span', { class: 'ms' }, preciseDuration(ms)),
    );
  });
  if (backMs !== undefined)
    items.push(h('li', { class: 'done' }, h('span', {}, 'back'), h('span', { class: 'ms' }, preciseDuration(backMs))));
  return h(
    'ol',
    { class: `steps${isBack ? ' back' : ''}${backMs === undefined ? '' : ' six'}`, 'aria-label': label },
    items,
  );
}

/** The steps of an update that was rolled back, by their times. The last one that took time has failed. */
export function failedSteps(timesMs: Readonly<Record<string, number>>): HTMLOListElement {
  const failed = stepNames.filter(([phase]) => timesMs[phase.replace(' ', '_')] !== undefined).at(-1);
  return steps({ phase: 'rolling back', percent: undefined, failedIn: failed?.[0] ?? 'pulling' }, timesMs);
}

/** Moves the bar of a visible pull. False if there is none. */
export function setPullPercent(row: Element, percent: number): boolean {
  const part = row.querySelector('.steps .part');
  if (!(part?.firstElementChild instanceof HTMLElement) || part.lastElementChild === null) return false;
  part.firstElementChild.style.transform = `scaleX(${percent / 100})`;
  part.lastElementChild.textContent = `pull ${percent}\u00A0%`;
  return true;
}

function scaled(percent: number): HTMLElement {
  const bar = h('i');
  bar.style.transform = `scaleX(${percent / 100})`;
  return bar;
}
