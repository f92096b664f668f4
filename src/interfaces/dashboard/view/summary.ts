import type { ContainerStore } from '../state/containers/container-store.ts';
import { countWords, markKinds, type Counts } from '../state/display/arrange.ts';
import { headlineOf, progressOf, type Headline, type Part } from '../state/display/headline.ts';
import { lastRunWords, nextRunWords } from '../state/display/runs.ts';
import { startAddress, writeAddress, shownKinds } from '../state/address.ts';
import { canUpdate, isLive, type PageContext } from './context.ts';
import { button, byId, replaceContent, h, repaint, setText, icon, svg, type Child } from './parts/node.ts';
import { groupTitles } from '../state/display/describe-state.ts';
import type { EngineAway, MissingPermissions } from '../state/documents/status.ts';
import { clock, withNoBreakSpaces, capitalized, withPeriod } from '../state/words.ts';
import type { ConnectionState } from '../transport/connection.ts';

/** The summary above the table: overall state, news, last and next run. */
export function paintSummary(context: PageContext, counts: Counts): void {
  const { containers } = context;
  const nowMs = context.nowMs();
  const headline = headlineOf(containers, counts, isLive(context) ? undefined : context.readAtMs());
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
  const newest = context.runs()[0] ?? (context.isOn('history') ? 'unread' : undefined);
  const last = lastRunWords(containers.status(), newest, nowMs);
  const next = nextRunWords(containers.status(), nowMs);
  repaint(byId('runs'), [last, next], () => runNodes(last, next));
  paintActions(context, counts.updatable);
  paintMarks(counts);
  paintCounts(context, counts);
  paintRunBar(containers, headline.tone === 'busy');
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
  const { containers, act } = context;
  const names = containers.all().map(({ name }) => name);
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
function paintRunBar(containers: ContainerStore, isBusy: boolean): void {
  const node = byId('runbar');
  node.hidden = !isBusy;
  if (!isBusy) return;
  const done = progressOf(containers);
  node.setAttribute('aria-valuenow', String(Math.round(done * 100)));
  if (node.firstElementChild instanceof HTMLElement) node.firstElementChild.style.transform = `scaleX(${done})`;
}

const buttons = new Map<string, HTMLButtonElement>();

/** The counts are buttons of filters. The buttons are made once, so that the focus stays. */
function paintCounts(context: PageContext, counts: Counts): void {
  const { show } = context.address();
  for (const kind of shownKinds) {
    const node = buttons.get(kind) ?? makeButton(context, kind);
    const [number] = node.children;
    if (number !== undefined) setText(number, String(counts[kind]));
    node.hidden = (kind === 'unchecked' || kind === 'now') && counts[kind] === 0 && show !== kind;
    node.classList.toggle('none', counts[kind] === 0);
    node.classList.toggle('bad', kind === 'wrong' && counts.bad > 0);
  }
  pressCounts(context);
}

/** Shows which filter is on. */
export function pressCounts(context: PageContext): void {
  const { show } = context.address();
  for (const [kind, node] of buttons) node.setAttribute('aria-pressed', String(show === kind));
}

function makeButton(context: PageContext, kind: (typeof shownKinds)[number]): HTMLButtonElement {
  const choose = (): void => context.go({ show: context.address().show === kind ? 'all' : kind });
  const node = button(
    { class: 'count', 'data-kind': kind },
    choose,
    h('b'),
    h('span', {}, kind === 'all' ? 'Watched' : groupTitles[kind]),
  );
  buttons.set(kind, node);
  byId('counts').append(node);
  return node;
}

/** One mark for each container, in the order of the groups. */
function paintMarks(counts: Counts): void {
  const node = byId('fleet');
  const { marks, all } = counts;
  node.hidden = all === 0;
  const label = countWords(counts);
  repaint(node, [marks, label], () => {
    const gap = all > maxGaps ? 0 : all > maxGaps / 2 ? 0.2 : 0.08;
    const strip = svg('svg', {
      viewBox: `0 0 ${Math.max(1, all)} 1`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': label,
    });
    for (const kind of markKinds) {
      const d = marks.map((mark, place) => (mark === kind ? `M${place} 0h${1 - gap}v1h-${1 - gap}z` : '')).join('');
      if (d !== '') strip.append(svg('path', { class: kind, d }));
    }
    return [strip];
  });
}

/** With more containers there are no gaps between the marks. */
const maxGaps = 120;

/** The connection state in the top bar, and the banner above outdated data. */
export function paintConnectionState(
  context: PageContext,
  { awayWhy, hint }: { readonly awayWhy: string; readonly hint: string },
): void {
  const state = context.link();
  const live = byId('live');
  live.dataset['state'] = state;
  live.title = hint;
  setText(live, withNoBreakSpaces(linkWords[state]));
  document.body.classList.toggle('stale-data', !isLive(context));
  const banner = byId('banner');
  const error = context.engineError();
  const isOffline = state === 'offline';
  const unreachable = error === undefined ? context.enginesAway() : [];
  const missing = error === undefined ? context.containers.status().missing : undefined;
  banner.hidden = !isOffline && error === undefined && unreachable.length === 0 && missing === undefined;
  banner.classList.toggle('bad', !isOffline && (error !== undefined || missing?.preventsUpdates === true));
  const readAt = context.readAtMs();
  repaint(banner, [isOffline, error, unreachable, missing, readAt, awayWhy], () => {
    if (isOffline) {
      const from =
        readAt === 0
          ? ''
          : ` What you see is from ${clock(readAt)}. An update that was under way goes on without this page.`;
      return [
        h('span', {}, h('strong', {}, awayWhy), from),
        context.isIntercepted()
          ? button({ class: 'text-button' }, () => location.reload(), 'Reload')
          : button({ class: 'text-button' }, context.act.tryNow, 'Try now'),
      ];
    }
    if (error === undefined)
      return [
        ...(unreachable.length === 0 ? [] : [unreachableNode(unreachable)]),
        ...(missing === undefined ? [] : [missingNode(missing)]),
      ];
    const words = withPeriod(capitalized(error));
    return [
      h(
        'span',
        {},
        h('strong', {}, words),
        ' Nothing is checked or updated until it answers. Containers go on running.',
      ),
    ];
  });
}

/** The text in the top bar; empty before the first answer. */
const linkWords: Readonly<Record<ConnectionState, string>> = {
  connecting: '',
  live: 'Live',
  polling: 'Every 10s',
  reconnecting: 'Reconnecting',
  offline: 'Offline',
};

/** The banner about calls that a proxy in front of the engine forbids. */
function missingNode({ message, remedy }: MissingPermissions): Child {
  return h('span', {}, h('strong', {}, withPeriod(message)), ` ${withPeriod(remedy)}`);
}

/** The banner about unreachable engines. */
function unreachableNode(engines: readonly EngineAway[]): Child {
  const [first] = engines;
  const what =
    engines.length === 1 ? `${first?.name} cannot be reached` : `${engines.length} engines cannot be reached`;
  const why = engines.map(({ name, error }) => (engines.length === 1 ? error : `${name}: ${error}`)).join('; ');
  return h(
    'span',
    {},
    h('strong', {}, withPeriod(`${what}: ${why}`)),
    ` ${engines.length === 1 ? 'Its' : 'Their'} containers go on running; the page shows their last known state.`,
  );
}
