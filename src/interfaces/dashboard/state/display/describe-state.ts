import { words } from '../../../../domain/text/words.ts';
import type { UpdateProgress } from '../containers/container-store.ts';
import type { WatchedContainer } from '../documents/container.ts';
import { when, dayMs, withNoBreakSpaces, preciseDuration, size, duration, capitalized, plural } from '../words.ts';

/** The state of a container in words. `group` decides its row's place, and the counts. */
export type DescribedState = {
  readonly tone: 'fine' | 'done' | 'ready' | 'held' | 'wrong' | 'bad';
  readonly group: Group;
  readonly icon: IconName;
  readonly turning?: boolean;
  readonly word: string;
  readonly why?: string;
  readonly aside?: string;
  readonly action?: RowAction;
};

/** The groups of rows, in their order: a container that an update left down comes before everything else. */
export const groups = ['wrong', 'now', 'ready', 'held', 'unchecked', 'fine'] as const;
export type Group = (typeof groups)[number];

/** The title of a group, which is the label of its counter too. */
export const groupTitles: Readonly<Record<Group, string>> = {
  wrong: 'Needs a look',
  now: 'In progress',
  ready: 'Updates',
  held: 'Held back',
  unchecked: 'Not checked yet',
  fine: 'Up to date',
};

export type RowAction = 'update' | 'approve' | 'check' | 'look';

export type IconName =
  | 'check'
  | 'up'
  | 'ask'
  | 'back'
  | 'fail'
  | 'unknown'
  | 'clock'
  | 'pin'
  | 'eye'
  | 'skip'
  | 'home'
  | 'lock'
  | 'snooze'
  | 'run';

/** The words for every verdict, hold and phase. */
export function describeState(
  one: WatchedContainer,
  update: UpdateProgress | undefined,
  nowMs: number,
): DescribedState {
  if (update !== undefined) return tellUpdate(one, update);
  if (one.unfinished !== undefined) return tellUnfinished(one, one.unfinished);
  switch (one.verdict) {
    case 'unknown':
      if (one.hold === 'no-pull') return held('eye', capitalized(words.hold['no-pull']));
      return {
        tone: 'wrong',
        group: 'wrong',
        icon: 'unknown',
        word: capitalized(words.verdict.unknown),
        why: sentence(one),
        action: 'check',
      };
    case 'stale':
      return ready(one, nowMs);
    case 'held':
      return tellHeld(one, nowMs);
    case 'pinned':
      return held('pin', capitalized(words.verdict.pinned));
    case 'local':
      return held('home', capitalized(words.verdict.local));
    case 'fresh':
      return tellFresh(one, nowMs);
    case undefined:
      return { tone: 'held', group: 'unchecked', icon: 'clock', word: capitalized(words.unchecked) };
  }
}

function tellUpdate(one: WatchedContainer, { phase, percent, tasks }: UpdateProgress): DescribedState {
  const count = tasks === undefined ? '' : `, ${tasks.running} of ${plural(tasks.wanted, 'task')}`;
  switch (phase) {
    case 'waiting':
      return { tone: 'ready', group: 'now', icon: 'clock', word: capitalized(words.phase.waiting) };
    case 'rolling back':
      return {
        tone: 'wrong',
        group: 'now',
        icon: 'run',
        turning: true,
        word: `${capitalized(words.phase['rolling back'])}${count}`,
      };
    default: {
      // The swarm's nodes pull and start the image, without steps in between.
      const copied = phase === 'pulling' || percent === undefined ? '' : ` ${percent}\u00A0%`;
      const word = capitalized(one.isService ? `${words.phase.starting}${count}` : `${words.phase[phase]}${copied}`);
      return { tone: 'ready', group: 'now', icon: 'run', turning: true, word };
    }
  }
}

function tellUnfinished(one: WatchedContainer, state: NonNullable<WatchedContainer['unfinished']>): DescribedState {
  if (one.isLeftDown)
    return {
      tone: 'bad',
      group: 'wrong',
      icon: 'fail',
      word: `Down: ${words.unfinished['repair pending']}`,
      why: sentence(one),
      action: 'look',
    };
  return state === 'in progress'
    ? {
        tone: 'ready',
        group: 'now',
        icon: 'run',
        turning: true,
        word: capitalized(words.unfinished['in progress']),
        why: sentence(one),
      }
    : {
        tone: 'wrong',
        group: 'wrong',
        icon: 'fail',
        word: capitalized(words.unfinished['repair pending']),
        why: sentence(one),
        action: 'look',
      };
}

function tellHeld(one: WatchedContainer, nowMs: number): DescribedState {
  switch (one.hold) {
    case 'went-back':
      return held(
        'back',
        capitalized(words.hold['went-back']) + (one.version === '' ? ' on request' : ` to ${one.version}`),
      );
    case 'failed':
      return tellFailed(one);
    case 'interrupted':
      return tellUnfinished(one, 'repair pending');
    case 'approval':
      return approval(one, nowMs);
    case 'notes':
      return { ...held('clock', capitalized(words.hold.notes)), why: sentence(one) };
    case 'cooldown':
      return held('clock', `${capitalized(words.hold.cooldown)}${untilWords(one, nowMs)}`);
    case 'window':
      return one.eligibleAtMs === undefined
        ? { ...held('clock', 'Its window never opens'), why: sentence(one) }
        : held('clock', `${capitalized(words.hold.window)} ${when(one.eligibleAtMs, nowMs)}`);
    case 'wave':
      return { ...held('clock', capitalized(words.hold.wave)), why: sentence(one) };
    case 'skipped':
      return held('skip', `${one.latestVersion || 'This version'} is ${words.hold.skipped}${untilWords(one, nowMs)}`);
    case 'snoozed':
      return held('snooze', `${capitalized(words.hold.snoozed)}${untilWords(one, nowMs)}`);
    case 'unreadable':
      return { ...held('lock', capitalized(words.hold.unreadable)), why: sentence(one) };
    case 'unsigned':
      return { ...held('lock', capitalized(words.hold.unsigned)), why: sentence(one) };
    case 'monitor-only':
      return held('eye', capitalized(words.hold['monitor-only']));
    case 'own-way':
      return { ...held('eye', capitalized(words.hold['own-way'])), why: sentence(one) };
    case 'failed-elsewhere':
      return { ...held('clock', capitalized(words.hold['failed-elsewhere'])), why: sentence(one) };
    case 'not-replaceable':
      return { ...held('eye', capitalized(words.hold['not-replaceable'])), why: sentence(one) };
    case 'no-pull':
      return held('eye', capitalized(words.hold['no-pull']));
    default:
      return { ...held('clock', capitalized(words.verdict.held)), why: sentence(one) };
  }
}

function untilWords({ eligibleAtMs }: WatchedContainer, nowMs: number): string {
  return eligibleAtMs === undefined ? '' : ` until ${when(eligibleAtMs, nowMs)}`;
}

function tellFailed(one: WatchedContainer): DescribedState {
  const { last, status } = one;
  const isDown = status !== '' && status !== 'running';
  if (last?.outcome === 'failed') {
    const word = isDown ? `Down: ${words.outcome.failed}` : capitalized(words.outcome.failed);
    return {
      tone: 'bad',
      group: 'wrong',
      icon: 'fail',
      word,
      why: withNoBreakSpaces(capitalized(last.reason)),
      action: 'look',
    };
  }
  const word = capitalized(words.backOn(last?.from));
  const why = last === undefined || last.reason === '' ? sentence(one) : withNoBreakSpaces(capitalized(last.reason));
  return isDown
    ? { tone: 'bad', group: 'wrong', icon: 'fail', word: `Down: ${words.backOn(last?.from)}`, why, action: 'look' }
    : { tone: 'wrong', group: 'wrong', icon: 'back', word, why, action: 'look' };
}

function tellFresh({ last }: WatchedContainer, nowMs: number): DescribedState {
  const agoMs = last?.outcome === 'updated' && last.atMs !== undefined ? nowMs - last.atMs : Infinity;
  if (last?.atMs === undefined || agoMs > dayMs)
    return { tone: 'fine', group: 'fine', icon: 'check', word: capitalized(words.verdict.fresh) };
  const isNew = agoMs < justNowMs;
  const down = last.downtimeMs === undefined ? '' : `, down ${preciseDuration(last.downtimeMs)}`;
  const word = `${capitalized(words.outcome.updated)} ${isNew ? 'just now' : when(last.atMs, nowMs)}${down}`;
  return { tone: isNew ? 'done' : 'fine', group: 'fine', icon: 'check', word };
}

const justNowMs = 600_000;

function ready(one: WatchedContainer, nowMs: number): DescribedState {
  return {
    tone: 'ready',
    group: 'ready',
    icon: 'up',
    word: capitalized(words.verdict.stale),
    ...asideOf(one, nowMs),
    action: 'update',
  };
}

function approval(one: WatchedContainer, nowMs: number): DescribedState {
  const aside = asideOf(one, nowMs);
  return {
    tone: 'ready',
    group: 'ready',
    icon: 'ask',
    word: capitalized(words.hold.approval) + (one.holdBecause === 'breaking' ? ': breaking changes' : ''),
    ...aside,
    action: 'approve',
  };
}

function asideOf({ releasedAtMs, downloadBytes }: WatchedContainer, nowMs: number): Pick<DescribedState, 'aside'> {
  const age =
    releasedAtMs === undefined || releasedAtMs > nowMs ? '' : `released ${duration(nowMs - releasedAtMs)} ago`;
  const bytes = downloadBytes === undefined ? '' : size(downloadBytes);
  const aside = [age, bytes].filter(Boolean).join(', ');
  return aside === '' ? {} : { aside };
}

function held(icon: IconName, word: string): DescribedState {
  return { tone: 'held', group: 'held', icon, word };
}

function sentence({ reason }: WatchedContainer): string {
  return withNoBreakSpaces(capitalized(reason));
}
