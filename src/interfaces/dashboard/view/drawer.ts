import type { WatchedContainer, NotesInShort } from '../state/documents/container.ts';
import { explain, failedTimesOf } from '../state/display/explain.ts';
import { describeState, type DescribedState } from '../state/display/describe-state.ts';
import { canUpdate, isLive, type PageContext } from './context.ts';
import { button, byId, forceRepaint, h, repaint, icon, copyButton, type Child } from './parts/node.ts';
import { failedSteps, setPullPercent, steps } from './parts/steps.ts';
import type { ShownOption } from '../state/documents/status.ts';
import type { PastOutcome } from '../state/documents/history.ts';
import { hasNewer, pullReference } from '../state/display/row.ts';
import { when, withNoBreakSpaces, preciseDuration, size, capitalized } from '../state/words.ts';
import { outcomeDisplay } from './parts/outcome.ts';
import { words } from '../../../domain/text/words.ts';
import type { NotesBlock, NotesRelease, NotesSpan } from '../state/documents/notes.ts';

/** Paints the drawer with all data of the container in the address. The table beside it stays usable. */
export function paintDrawer(context: PageContext, wantsFocus = false): void {
  const drawer = byId('drawer');
  const { open, page } = context.address();
  const isClosed = open === '' || page !== 'containers';
  const isOther = drawer.dataset['name'] !== open || drawer.hidden;
  drawer.hidden = isClosed;
  drawer.dataset['name'] = open;
  if (isClosed) return;
  const one = context.containers.named(open);
  const { scrollTop } = drawer;
  if (isOther) forceRepaint(drawer);
  if (one !== undefined) void context.readNotes(one).then((isNew) => isNew && paintDrawer(context));
  const isPainted = one === undefined ? paintMissing(context, open) : paintOne(context, one);
  if (isPainted) drawer.scrollTop = isOther ? 0 : scrollTop;
  if (isOther && wantsFocus) byId('drawer-title').focus({ preventScroll: true });
}

/** Moves only the bar of a pull in the drawer. */
export function movePullInDrawer(context: PageContext, name: string): boolean {
  if (context.address().open !== name) return true;
  const percent = context.containers.updateOf(name)?.percent;
  return percent !== undefined && setPullPercent(byId('drawer'), percent);
}

function paintOne(context: PageContext, one: WatchedContainer): boolean {
  const { containers } = context;
  const nowMs = context.nowMs();
  const update = containers.updateOf(one.name);
  const described = describeState(one, update, nowMs);
  const paragraphs = explain(one, described, {
    update,
    nextRunAtMs: containers.status().nextRunAtMs,
    canDecide: context.isOn('decisions'),
    nowMs,
  });
  const mine = context.runs().flatMap((run) => run.containers.filter(({ name }) => name === one.name));
  const users = containers.all().filter(({ dependsOn }) => dependsOn.includes(one.name));
  const content = [
    one,
    update,
    described,
    paragraphs,
    mine,
    users.map(({ name }) => name),
    context.gapOf('runs') === undefined,
    context.notesOf(one) !== undefined,
    context.options().length,
    canUpdate(context),
    isLive(context),
  ];
  return repaint(byId('drawer'), content, () => [
    head(context, one.name, [one.project === '' ? '' : `${one.project} · `, one.image].join('')),
    stateNodes(context, one, described, paragraphs),
    update === undefined && h('div', { class: 'actions' }, actionNodes(context, one, described)),
    logSection(one),
    versionSection(one),
    notesSection(one, context.notesOf(one), nowMs),
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
  described: DescribedState,
  paragraphs: readonly string[],
): Child {
  const update = context.containers.updateOf(one.name);
  const pastMs = update === undefined ? failedTimesOf(one) : undefined;
  return h(
    'div',
    { class: `tell is-${described.tone}` },
    h('span', { class: 'c-mark' }, icon(described.icon, described.turning === true ? 'turning' : '')),
    h('span', { class: `word is-${described.tone}` }, described.word),
    paragraphs.map((text) => h('p', {}, text)),
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

/** The last lines of a new version that failed. */
function logSection({ hold, last, latestVersion }: WatchedContainer): Child {
  if (hold !== 'failed' || last === undefined || last.log === '') return undefined;
  const of = last.to || latestVersion || 'the new version';
  return h(
    'section',
    {},
    h('h3', {}, `Last log lines of ${of}`, copyButton(last.log, 'the log')),
    h('pre', { class: 'log', tabindex: '0', role: 'region', 'aria-label': `Last log lines of ${of}` }, last.log),
  );
}

/** The running version, the newer one, and the command that pulls it. */
function versionSection(one: WatchedContainer): Child {
  const link =
    one.sourceUrl !== '' &&
    h('a', { class: 'link', href: one.sourceUrl, target: '_blank', rel: 'noreferrer noopener' }, 'Source', icon('out'));
  const isNewer = hasNewer(one);
  const newer = [
    h('b', {}, one.latestVersion || 'A newer image'),
    one.change !== undefined && h('span', { class: `badge ${one.change}` }, one.change),
    one.downloadBytes !== undefined && h('span', { class: 'word is-held' }, size(one.downloadBytes)),
  ];
  const reference = pullReference(one);
  const command = `docker pull ${reference}`;
  return h(
    'section',
    {},
    h('h3', {}, 'Version', link),
    line('Runs', [h('span', {}, one.version || '–')], one.digest, 'the digest'),
    isNewer && line('Available', newer, one.latestDigest, 'the new digest'),
    isNewer && one.candidate !== '' && tagLine(one),
    one.composeNote !== '' && line('Compose', [h('span', {}, one.composeNote)], '', ''),
    reference !== '' && pullNode(command),
  );
}

/** Folded: Upkeep pulls images itself, so the command is for those who want to look at one by hand. */
function pullNode(command: string): HTMLElement {
  const shown = command.replace(/(sha256:.{12}).*/, '$1…');
  const node = h(
    'details',
    { class: 'by-hand', open: isPullShown },
    h('summary', {}, 'Pull it by hand'),
    h(
      'div',
      { class: 'code' },
      h('code', { tabindex: '0', role: 'region', 'aria-label': 'Pull command' }, shown),
      copyButton(command, 'the pull command'),
    ),
  );
  node.addEventListener('toggle', () => (isPullShown = node.open));
  return node;
}

/** Stays when the drawer is painted again. */
let isPullShown = false;

/** The tag of an update. The update does not change a compose file. */
function tagLine({ candidate, project, composeNote }: WatchedContainer): HTMLElement {
  const remark =
    project !== '' && composeNote === '' && h('span', { class: 'word is-held' }, 'A compose file keeps its old tag');
  return line('Tag', [h('span', {}, candidate), remark], '', '');
}

function line(term: string, value: readonly Child[], digest: string, what: string): HTMLElement {
  const mono = digest !== '' && h('span', { class: 'digest mono', title: digest }, digest);
  return h(
    'div',
    { class: 'pair' },
    h('span', { class: 'term' }, term),
    h('span', { class: 'val' }, ...value, mono),
    digest === '' ? h('span') : copyButton(digest, what),
  );
}

/** The outcomes of runs for this container, newest first. */
function pastSection(outcomes: readonly PastOutcome[], nowMs: number): Child {
  const link = outcomes.length > 0 && h('a', { class: 'link', href: '#/history' }, 'All runs');
  const none = outcomes.length === 0 && h('p', { class: 'why' }, 'No update of it in the runs that are kept.');
  return h(
    'section',
    {},
    h('h3', {}, 'History', link),
    none,
    outcomes.slice(0, maxPast).map((outcome) => pastRow(outcome, nowMs)),
  );
}

const maxPast = 20;

function pastRow({ outcome, from, to, downtimeMs, dataBytes, reason, atMs }: PastOutcome, nowMs: number): HTMLElement {
  const [sign, tone] = outcomeDisplay[outcome];
  const word = capitalized(words.result(outcome, { from, to }));
  const version =
    to === '' ? '' : outcome === 'updated' ? ` to ${to}` : outcome === 'rolled_back' ? ` (${from || '?'} → ${to})` : '';
  const down = downtimeMs === undefined ? '' : `, down ${preciseDuration(downtimeMs)}`;
  return h(
    'div',
    { class: `past is-${tone}` },
    h('span', { class: 'c-mark' }, icon(sign)),
    h('span', {}, `${word}${version}${down}${dataBytes === undefined ? '' : `, ${size(dataBytes)} of data copied`}`),
    h('span', { class: 'when' }, atMs === undefined ? '' : when(atMs, nowMs)),
    reason !== '' && h('p', { class: 'why' }, withNoBreakSpaces(capitalized(reason))),
  );
}

/** Options of the service about each container that users look up most. */
const usual = ['cooldown-delay', 'stop-timeout', 'health-window', 'health-timeout', 'keep-old', 'monitor-only'];

/** The effective settings of this container: its own labels first, then the options of the service. */
function settingsSection({ settings }: WatchedContainer, options: readonly ShownOption[]): Child {
  const own = new Set(settings.map(({ name }) => name));
  const others = usual.flatMap((name) => (own.has(name) ? [] : options.filter((option) => option.name === name)));
  const rows = [
    ...settings.map((row) => ({ ...row, isOwn: true })),
    ...others.map((row) => ({ ...row, isOwn: false })),
  ];
  if (rows.length === 0) return undefined;
  const lines = rows.map(({ name, value, source, isOwn }) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row', class: isOwn && 'own' }, name),
      h('td', { class: isOwn && 'own' }, value || '–'),
      h('td', {}, source),
    ),
  );
  return h('section', {}, h('h3', {}, 'Settings in effect'), h('table', { class: 'facts' }, h('tbody', {}, lines)));
}

/** Facts of the container itself. */
function factsSection(one: WatchedContainer, users: readonly WatchedContainer[], nowMs: number): Child {
  const health = one.health === 'none' ? 'no health check' : one.health;
  const since = one.startedAtMs === undefined ? '' : when(one.startedAtMs, nowMs);
  const rows = [
    ['State', [one.status, health].filter(Boolean).join(', ')],
    ['Runs since', one.status === 'running' ? since : ''],
    ['Needs', one.dependsOn.join(', ')],
    ['Needed by', users.map(({ name }) => name).join(', ')],
    ['Engine', one.engine],
    ['Container', one.id.slice(0, 12)],
  ] as const;
  const lines = rows.flatMap(([name, value]) =>
    value === '' ? [] : [h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, value))],
  );
  return h('section', {}, h('h3', {}, 'Container'), h('table', { class: 'facts plain' }, h('tbody', {}, lines)));
}

/** The actions available for a container. Actions of groups that are off are hidden. */
function actionNodes(context: PageContext, one: WatchedContainer, described: DescribedState): readonly Child[] {
  const { act } = context;
  const isOff = !canUpdate(context) || one.isAway;
  const canChange = context.isOn('update');
  const { approve, others } = decisionNodes(context, one);
  return [
    approve,
    canChange && hasNewer(one) && updateButton(),
    context.isOn('check') &&
      button({ class: 'button', disabled: !isLive(context) || one.isAway }, () => act.check([one.name]), 'Check'),
    ...others,
    canChange &&
      one.canRollBack &&
      button({ class: 'button', disabled: isOff }, () => act.rollBack(one.name), rollBackWords(one)),
  ];

  function updateButton(): Child {
    if (one.hold === 'failed') {
      const again = `Try ${one.latestVersion || 'it'} again…`;
      return button({ class: 'button', disabled: isOff }, () => act.update([one.name], 'retry'), again);
    }
    if (one.hold === 'window')
      return button({ class: 'button', disabled: isOff }, () => act.update([one.name], 'now'), 'Update now…');
    // Other holds apply to people too, so there is no button.
    if (one.verdict !== 'stale') return undefined;
    const look = described.tone === 'held' ? 'button' : 'button primary';
    return button({ class: look, disabled: isOff }, () => act.update([one.name]), 'Update…');
  }
}

function rollBackWords({ last }: WatchedContainer): string {
  return last?.outcome === 'updated' && last.from !== '' ? `Roll back to ${last.from}…` : 'Roll back…';
}

/** The decisions available for the new version. Empty if the group `decisions` is off. */
function decisionNodes(
  context: PageContext,
  one: WatchedContainer,
): { readonly approve: Child; readonly others: readonly Child[] } {
  const { act } = context;
  const { verdict, hold, decision, candidateDigest, name } = one;
  const isOpen = verdict === 'stale' || (verdict === 'held' && open.has(hold));
  if (!context.isOn('decisions') || candidateDigest === '' || !isOpen) return { approve: undefined, others: [] };
  const make = (label: string, run: (name: string) => void, look = 'button'): Child =>
    button({ class: look, disabled: !isLive(context) || one.isAway }, () => run(name), label);
  return {
    approve: hold === 'approval' && make('Approve…', act.approve, 'button primary'),
    others: [
      hold !== 'skipped' && make(`Skip ${one.latestVersion || 'this version'}`, act.skip),
      snoozable.has(hold) && make('Snooze…', act.snooze),
      decision !== undefined && make(decision.kind === 'approve' ? 'Withdraw approval' : 'Offer again', act.withdraw),
    ],
  };
}

/** Kinds of holds that a decision can change. */
const open: ReadonlySet<string> = new Set(['approval', 'cooldown', 'window', 'skipped', 'snoozed']);

/** Holds that allow a snooze. The empty text means no hold. */
const snoozable: ReadonlySet<string> = new Set(['', 'approval', 'window']);

/**
 * The changes of the newer version: the summary, then each release with its text, the newest one open. The text is a
 * tree of plain data, and becomes elements of these few kinds only.
 */
function notesSection(one: WatchedContainer, releases: readonly NotesRelease[] | undefined, nowMs: number): Child {
  const { notes } = one;
  if (notes === undefined || !hasNewer(one) || notes.state === 'off') return undefined;
  const link = notes.url !== '' && outLink('link', notes.url, ['Release notes', icon('out')]);
  const whole = releases?.map((release, at) => releaseNode(release, at === 0, nowMs));
  return h(
    'section',
    { class: 'notes' },
    h('h3', {}, 'What changes', link),
    notes.state === 'found' ? summaryNodes(notes) : h('p', { class: 'why' }, whyNone(notes)),
    whole,
    notes.more > 0 && h('p', { class: 'why' }, `And ${notes.more} older releases.`),
  );
}

function summaryNodes({ isBreaking, summary, leftOut, releases, more }: NotesInShort): Child {
  const count = releases + more;
  const rest = leftOut > 0 ? `and ${leftOut} more in ${count} ${count === 1 ? 'release' : 'releases'}` : '';
  const lines = summary.map((text, at) => h('li', { class: isBreaking && at === 0 && 'is-breaking' }, text));
  return h('ul', { class: 'points' }, lines, rest !== '' && h('li', { class: 'rest' }, rest));
}

function whyNone({ state, error }: NotesInShort): string {
  if (error !== '') return `The release notes cannot be read: ${error}.`;
  if (state === 'none') return 'It has no release notes.';
  if (state === 'no-source')
    return 'No repository with its release notes is known. The label upkeep.source can name it.';
  return 'The release notes are not read yet.';
}

function releaseNode(
  { tag, title, url, publishedAtMs, breaking, blocks }: NotesRelease,
  isOpen: boolean,
  nowMs: number,
) {
  const name = title === '' || title.includes(tag) ? title || tag : `${tag} ${title}`;
  const summary = h(
    'summary',
    {},
    h('b', {}, name),
    breaking.length > 0 && h('span', { class: 'badge breaking' }, 'breaking'),
    publishedAtMs !== undefined && h('span', { class: 'when' }, when(publishedAtMs, nowMs)),
  );
  const text = blocks.length > 0 ? blocks.map(blockNode) : h('p', { class: 'why' }, 'It has no text of its own.');
  const link = url !== '' && h('p', {}, outLink('', url, ['On its page']));
  return h('details', { class: 'release', open: isOpen }, summary, h('div', { class: 'prose' }, text, link));
}

function blockNode(block: NotesBlock): HTMLElement {
  switch (block.kind) {
    case 'heading':
      return h('h4', {}, block.spans.map(spanNode));
    case 'para':
      return h('p', {}, block.spans.map(spanNode));
    case 'list': {
      const items = block.items.map((item) => h('li', {}, item.map(blockNode)));
      return h(block.isOrdered ? 'ol' : 'ul', {}, items);
    }
    case 'quote':
      return h('blockquote', { class: block.alert !== '' && `is-${block.alert}` }, block.blocks.map(blockNode));
    case 'code':
      return h('pre', { tabindex: '0' }, block.text);
    case 'rule':
      return h('hr');
  }
}

function spanNode(span: NotesSpan): Child {
  switch (span.kind) {
    case 'text':
      return span.text;
    case 'code':
      return h('code', {}, span.text);
    case 'strong':
    case 'em':
      return h(span.kind, {}, span.spans.map(spanNode));
    case 'link':
      return outLink('', span.href, span.spans.map(spanNode));
  }
}

function outLink(name: string, href: string, content: readonly Child[]): HTMLElement {
  return h('a', { class: name !== '' && name, href, target: '_blank', rel: 'noreferrer noopener' }, content);
}
