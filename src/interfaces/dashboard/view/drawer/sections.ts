import type { ShownOption } from '../../state/documents/configuration.ts';
import type { WatchedContainer } from '../../state/documents/container.ts';
import type { PastOutcome } from '../../state/documents/history.ts';
import { hasNewer, pullReference } from '../../state/telling/versions.ts';
import { when } from '../../state/words/moments.ts';
import { withNoBreakSpaces, preciseDuration, size } from '../../state/words/numbers.ts';
import { capitalized } from '../../state/words/sentences.ts';
import { copyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { type Child, h } from '../parts/node.ts';
import { outcomeDisplay } from '../parts/outcome.ts';

/** The last lines of a new version that failed. */
export function logSection({ hold, last, latestVersion }: WatchedContainer): Child {
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
export function versionSection(one: WatchedContainer): Child {
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
export function pastSection(outcomes: readonly PastOutcome[], nowMs: number): Child {
  const link = outcomes.length > 0 && h('a', { class: 'link', href: '#/history' }, 'All runs');
  const none = outcomes.length === 0 && h('p', { class: 'why' }, 'No update of it in the runs that are kept.');
  return h(
    'section',
    {},
    h('h3', {}, 'History', link),
    none,
    outcomes.slice(0, mostPast).map((outcome) => pastRow(outcome, nowMs)),
  );
}

const mostPast = 20;

function pastRow({ outcome, from, to, downtimeMs, reason, atMs }: PastOutcome, nowMs: number): HTMLElement {
  const [sign, tone, word] = outcomeDisplay[outcome];
  const version =
    /^(?:updated|went_back)$/.test(outcome) && to !== ''
      ? ` to ${to}`
      : outcome === 'rolled_back' && to !== ''
        ? ` from ${to}`
        : '';
  const back = outcome === 'rolled_back' && from !== '' ? ` to ${from}` : '';
  const down = downtimeMs === undefined ? '' : `, down ${preciseDuration(downtimeMs)}`;
  return h(
    'div',
    { class: `past is-${tone}` },
    h('span', { class: 'c-mark' }, icon(sign)),
    h('span', {}, `${word}${version}${back}${down}`),
    h('span', { class: 'when' }, atMs === undefined ? '' : when(atMs, nowMs)),
    reason !== '' && h('p', { class: 'why' }, withNoBreakSpaces(capitalized(reason))),
  );
}

/** Options of the service about each container that users look up most. */
const usual = ['cooldown-delay', 'stop-timeout', 'health-window', 'health-timeout', 'keep-old', 'monitor-only'];

/** The effective settings of this container: its own labels first, then the options of the service. */
export function settingsSection({ settings }: WatchedContainer, options: readonly ShownOption[]): Child {
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
export function factsSection(one: WatchedContainer, users: readonly WatchedContainer[], nowMs: number): Child {
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
