import type { ContainerStore } from '../../state/containers/container-store.ts';
import type { Counts } from '../../state/telling/arrange.ts';
import { type Headline, headlineOf, type Part } from '../../state/telling/headline.ts';
import { progressOf } from '../../state/telling/progress.ts';
import { lastRunWords, nextRunWords } from '../../state/telling/runs.ts';
import { startAddress, writeAddress } from '../../state/address.ts';
import { canUpdate, isLive, type PageContext } from '../context.ts';
import { button, byId, type Child, replaceContent, h, repaint, setText } from '../parts/node.ts';
import { icon } from '../parts/icon.ts';
import { paintCounts, paintMarks } from './counts.ts';

/** The summary above the table: overall state, news, last and next run. */
export function paintSummary(context: PageContext, counts: Counts): void {
  const { fleet } = context;
  const nowMs = context.nowMs();
  const headline = headlineOf(fleet, counts, isLive(context) ? undefined : context.readAtMs());
  const title = byId('verdict');
  title.className = headline.tone === 'fine' ? '' : `is-${headline.tone}`;
  const [first] = title.children;
  if (first instanceof SVGElement && title.dataset['tone'] === headline.tone && title.lastElementChild !== null) {
    setText(title.lastElementChild, headline.title);
  } else {
    title.dataset['tone'] = headline.tone;
    replaceContent(
      title,
      icon(signs[headline.tone], headline.tone === 'busy' ? 'turning' : ''),
      h('span', {}, headline.title),
    );
  }
  if (document.title !== headline.tab) document.title = headline.tab;
  repaint(byId('lead'), headline.parts, () => headline.parts.map((part) => partNode(context, part)));
  const last = lastRunWords(fleet.status(), context.runs()[0], nowMs);
  const next = nextRunWords(fleet.status(), nowMs);
  repaint(byId('runs'), [last, next], () => runNodes(last, next));
  paintActions(context, counts.updatable);
  paintMarks(counts);
  paintCounts(context, counts);
  paintRunBar(fleet, headline.tone === 'busy');
}

const signs: Readonly<Record<Headline['tone'], string>> = { fine: 'check', bad: 'fail', busy: 'run', past: 'clock' };

function partNode(context: PageContext, { text, show, tone }: Part): Child {
  if (show === undefined) return text;
  const href = writeAddress({ ...startAddress, show, group: context.address().group });
  return h('a', { class: tone === undefined ? undefined : `is-${tone}`, href }, text);
}

function runNodes(last: string | undefined, next: string): readonly Child[] {
  return [
    last === undefined ? 'No run yet. ' : h('a', { href: '#/history' }, last),
    last === undefined ? '' : '. ',
    next,
  ];
}

function paintActions(context: PageContext, updatable: readonly string[]): void {
  const { fleet, act } = context;
  const names = fleet.all().map(({ name }) => name);
  const canCheck = isLive(context);
  const may = canUpdate(context);
  const hasCheck = context.isOn('check') && names.length > 0;
  const hasUpdate = context.isOn('update') && updatable.length > 0;
  repaint(byId('verdict-actions'), [hasCheck && canCheck, hasCheck, hasUpdate && updatable, may], () => [
    hasCheck && button({ class: 'button', disabled: !canCheck }, () => act.check([]), 'Check now'),
    hasUpdate &&
      button(
        { class: 'button primary', disabled: !may },
        () => act.update(updatable),
        `Update ${updatable.length === 1 ? updatable[0] : `all ${updatable.length}`}…`,
      ),
  ]);
}

/** The progress of a run, as the lower edge of the top bar. */
function paintRunBar(fleet: ContainerStore, isBusy: boolean): void {
  const node = byId('runbar');
  node.hidden = !isBusy;
  if (!isBusy) return;
  const done = progressOf(fleet);
  node.setAttribute('aria-valuenow', String(Math.round(done * 100)));
  if (node.firstElementChild instanceof HTMLElement) node.firstElementChild.style.transform = `scaleX(${done})`;
}
