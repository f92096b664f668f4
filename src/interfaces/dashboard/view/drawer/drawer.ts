import type { WatchedContainer } from '../../state/documents/container.ts';
import { explain, failedTimesOf } from '../../state/telling/explain.ts';
import { describeState, type DescribedState } from '../../state/telling/describe-state.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { button, byId, type Child, forceRepaint, h, repaint } from '../parts/node.ts';
import { icon } from '../parts/icon.ts';
import { failedSteps, setPullPercent, steps } from '../parts/steps.ts';
import { actionNodes } from './actions.ts';
import { factsSection, logSection, pastSection, settingsSection, versionSection } from './sections.ts';

/** Paints the drawer with all data of the container in the address. The table beside it stays usable. */
export function paintDrawer(context: PageContext, wantsFocus = false): void {
  const drawer = byId('drawer');
  const { open, page } = context.address();
  const isClosed = open === '' || page !== 'containers';
  const isOther = drawer.dataset['name'] !== open || drawer.hidden;
  drawer.hidden = isClosed;
  drawer.dataset['name'] = open;
  if (isClosed) return;
  const one = context.fleet.named(open);
  const { scrollTop } = drawer;
  if (isOther) forceRepaint(drawer);
  const isPainted = one === undefined ? paintMissing(context, open) : paintOne(context, one);
  if (isPainted) drawer.scrollTop = isOther ? 0 : scrollTop;
  if (isOther && wantsFocus) byId('drawer-title').focus({ preventScroll: true });
}

/** Moves only the bar of a pull in the drawer. */
export function movePullInDrawer(context: PageContext, name: string): boolean {
  if (context.address().open !== name) return true;
  const percent = context.fleet.updateOf(name)?.percent;
  return percent !== undefined && setPullPercent(byId('drawer'), percent);
}

function paintOne(context: PageContext, one: WatchedContainer): boolean {
  const { fleet } = context;
  const nowMs = context.nowMs();
  const update = fleet.updateOf(one.name);
  const told = describeState(one, update, nowMs);
  const words = explain(one, told, {
    update,
    nextRunAtMs: fleet.status().nextRunAtMs,
    canDecide: context.isOn('decisions'),
    nowMs,
  });
  const mine = context.runs().flatMap((run) => run.containers.filter(({ name }) => name === one.name));
  const users = fleet.all().filter(({ dependsOn }) => dependsOn.includes(one.name));
  const content = [
    one,
    update,
    told,
    words,
    mine,
    users.map(({ name }) => name),
    context.gapOf('runs') === undefined,
    context.options().length,
    canUpdate(context),
    isLive(context),
  ];
  return repaint(byId('drawer'), content, () => [
    head(context, one.name, [one.project === '' ? '' : `${one.project} · `, one.image].join('')),
    stateNodes(context, one, told, words),
    update === undefined && h('div', { class: 'actions' }, actionNodes(context, one, told)),
    logSection(one),
    versionSection(one),
    (mine.length > 0 || context.gapOf('runs') === undefined) && pastSection(mine, nowMs),
    settingsSection(one, context.options()),
    factsSection(one, users, nowMs),
  ]);
}

function paintMissing(context: PageContext, name: string): boolean {
  return repaint(byId('drawer'), name, () => [
    head(context, name, ''),
    h('p', { class: 'why' }, 'No container of this name is watched. It may have been removed or renamed.'),
  ]);
}

function head(context: PageContext, name: string, sub: string): Child {
  const close = button({ class: 'icon-button', 'aria-label': 'Close' }, () => closeDrawer(context), icon('close'));
  const title = h('h2', { id: 'drawer-title', tabindex: '-1' }, name);
  return h('div', { class: 'drawer-head' }, h('div', {}, title, sub !== '' && h('p', { class: 'sub' }, sub)), close);
}

function stateNodes(
  context: PageContext,
  one: WatchedContainer,
  told: DescribedState,
  words: readonly string[],
): Child {
  const update = context.fleet.updateOf(one.name);
  const pastMs = update === undefined ? failedTimesOf(one) : undefined;
  return h(
    'div',
    { class: `tell is-${told.tone}` },
    h('span', { class: 'c-mark' }, icon(told.icon, told.turning === true ? 'turning' : '')),
    h('span', { class: `word is-${told.tone}` }, told.word),
    words.map((text) => h('p', {}, text)),
    update !== undefined && update.phase !== 'waiting' && !one.isService && steps(update),
    pastMs !== undefined && failedSteps(pastMs),
  );
}

/** The focus returns to the row. */
export function closeDrawer(context: PageContext): void {
  const { open } = context.address();
  context.go({ open: '' });
  const row = [...document.querySelectorAll<HTMLElement>('tr.row')].find(({ dataset }) => dataset['name'] === open);
  row?.querySelector<HTMLElement>('.c-name a')?.focus({ preventScroll: true });
}
