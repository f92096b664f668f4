import { type Labels } from '../container/label-names.ts';
import type { Container } from '../container/container.ts';
import { formatDuration } from '../text/duration.ts';
import type { HealthProbe } from './health-probe.ts';
import {
  dropInPrefix,
  familyPrefix,
  journalPrefix,
  labelNames,
  type LabelName,
  originalImageLabel,
  ownPrefix,
  watchtowerLabel,
} from '../container/label-names.ts';
import { ownLabels } from '../container/label-origin.ts';
import { describeUnheard } from './label-typos.ts';
import * as kinds from './label-values.ts';
import { quoted } from '../text/printable.ts';

/** The container's wishes from its labels; undefined: not said. */
export type LabelWishes = {
  readonly enable: boolean | undefined;
  readonly monitorOnly: boolean | undefined;
  readonly noPull: boolean | undefined;
  readonly noRestart: boolean | undefined;
  readonly updateAutoRemove: boolean | undefined;
  readonly startFirst: boolean | undefined;
  /** 0: it is not kept, whatever the setting. */
  readonly keepOldMs: number | undefined;
  /** Container names. When given, even empty, they replace every other source of dependencies. */
  readonly dependsOn: readonly string[] | undefined;
  /** Undefined for unscoped, also where the label says `none`. */
  readonly scope: string | undefined;
  /** As the engine takes it. */
  readonly stopSignal: string | undefined;
  readonly stopTimeoutMs: number | undefined;
  /** 0: no cooldown, whatever the setting. */
  readonly cooldownMs: number | undefined;
  readonly gateWindowMs: number | undefined;
  readonly gateTimeoutMs: number | undefined;
  readonly healthProbe: HealthProbe | undefined;
  /** Names of targets that hear of it; empty: nobody does. */
  readonly notify: readonly string[] | undefined;
  readonly hooks: Readonly<Record<HookName, HookWish | undefined>>;
  readonly hookUserId: number | undefined;
  readonly hookGroupId: number | undefined;
  /** The reference to use instead of `Config.Image`; not parsed. */
  readonly originalImage: string | undefined;
  /** The container says that it is an updater of the Watchtower family. */
  readonly isWatchtower: boolean;
};

export type HookName = 'preCheck' | 'preUpdate' | 'postUpdate' | 'postCheck';

/** `timeoutMs` undefined: the default; 0: no limit of its own. */
export type HookWish = {
  readonly command: string;
  readonly timeoutMs: number | undefined;
  /** The command comes from the image's labels; its author may not choose the user that runs it. */
  readonly isFromImage?: true;
};

/** `warnings`: sentences about labels that are not heard, at most 20, safe to print. */
export type LabelReading = { readonly wishes: LabelWishes; readonly warnings: readonly string[] };

/**
 * Reads the `upkeep.*` labels of a container and the drop-in ones. Of two that say the same, the one that the
 * container was given itself wins over one of its image, then the `upkeep.*` one. Of the image's, only those count
 * by which its author disposes of nothing but the image's own container; where the image is not known (undefined),
 * every label may be its own. Never fails: a value that cannot be read counts as not given, and is warned about like
 * a mistyped name.
 */
export function readLabels(labels: Labels, imageLabels: Labels | undefined): LabelReading {
  const { wishes, warnings, unheard } = readAll(labels, imageLabels);
  const all = [...warnings, ...warningAboutOrigin(unheard, imageLabels), ...warningsAboutNames(labels)];
  return { wishes, warnings: bounded(all) };
}

/** The wishes of an inspected container. */
export function wishesOf({ settings, imageLabels }: Pick<Container, 'settings' | 'imageLabels'>): LabelWishes {
  return readAll(settings.Config.Labels ?? {}, imageLabels).wishes;
}

/**
 * Whether its owner has excluded a container from updates by a label that is its own. One of the image keeps an update
 * from beginning too, but the image of a successor may carry it first.
 */
export function isExcluded({ settings, imageLabels }: Pick<Container, 'settings' | 'imageLabels'>): boolean {
  return readAll(ownLabels(settings.Config.Labels ?? {}, imageLabels ?? {}), {}).wishes.enable === false;
}

/** Labels that `readLabels` uses, with full names and verbatim values; overridden ones are left out. */
export function labelsInEffect(labels: Labels, imageLabels: Labels | undefined): Labels {
  return Object.fromEntries(readAll(labels, imageLabels).heard.map((label) => [label, labels[label] ?? '']));
}

/** `unheard`: labels that would count if they were the container's own. */
type Reading = LabelReading & { readonly heard: readonly string[]; readonly unheard: readonly string[] };

function readAll(labels: Labels, imageLabels: Labels | undefined): Reading {
  return Object.keys(labels).some(mayBeHeard) ? readEach(labels, imageLabels) : silence;
}

/** Most containers carry none of these, and looking for each name on them would be most of a check's work. */
function mayBeHeard(label: string): boolean {
  return label.startsWith(ownPrefix) || label.startsWith(familyPrefix);
}

function readEach(labels: Labels, imageLabels: Labels | undefined): Reading {
  const own = ownLabels(labels, imageLabels);
  const warnings: string[] = [];
  const heard: string[] = [];
  const unheard: string[] = unheardJournal(labels, own);
  const isOwn = (label: string, name: LabelName) =>
    Object.hasOwn(own, label) || (name === 'scope' && imageLabels === undefined);
  const find = <Value>(name: LabelName, kind: kinds.ValueKind<Value>) =>
    readOne({ labels, isOwn, name, kind, warnings, heard, unheard });
  const read = <Value>(name: LabelName, kind: kinds.ValueKind<Value>) => find(name, kind)?.value;
  const hook = (name: LabelName & `lifecycle.${string}`, timeoutName: LabelName): HookWish | undefined => {
    const [command, timeoutMs] = [find(name, kinds.command), read(timeoutName, kinds.hookWait)];
    if (command === undefined) return undefined;
    return { command: command.value, timeoutMs, ...(command.isFromImage && { isFromImage: true }) };
  };
  const wishes: LabelWishes = {
    enable: read('enable', kinds.truth),
    monitorOnly: read('monitor-only', kinds.truthOrEmpty),
    noPull: read('no-pull', kinds.truthOrEmpty),
    noRestart: read('no-restart', kinds.truthOrEmpty),
    updateAutoRemove: read('update-auto-remove', kinds.truth),
    startFirst: read('start-first', kinds.truth),
    keepOldMs: read('keep-old', kinds.keepTime),
    dependsOn: read('depends-on', kinds.containerNames),
    scope: read('scope', kinds.scope) || undefined,
    stopSignal: read('stop-signal', kinds.stopSignal),
    stopTimeoutMs: read('stop-timeout', kinds.wait),
    cooldownMs: read('cooldown-delay', kinds.cooldown),
    gateWindowMs: read('health-window', kinds.wait),
    gateTimeoutMs: read('health-timeout', kinds.wait),
    healthProbe: read('health-probe', kinds.healthProbe),
    notify: read('notify', kinds.recipients),
    hooks: {
      preCheck: hook('lifecycle.pre-check', 'lifecycle.pre-check-timeout'),
      preUpdate: hook('lifecycle.pre-update', 'lifecycle.pre-update-timeout'),
      postUpdate: hook('lifecycle.post-update', 'lifecycle.post-update-timeout'),
      postCheck: hook('lifecycle.post-check', 'lifecycle.post-check-timeout'),
    },
    hookUserId: read('lifecycle.uid', kinds.userId),
    hookGroupId: read('lifecycle.gid', kinds.userId),
    originalImage: valueOf(own, originalImageLabel)?.trim() || undefined,
    isWatchtower: valueOf(labels, watchtowerLabel) === 'true',
  };
  if (wishes.originalImage !== undefined) heard.push(originalImageLabel);
  else if (valueOf(labels, originalImageLabel)?.trim()) unheard.push(originalImageLabel);
  return { wishes, warnings, heard, unheard };
}

/**
 * Effect of a label that comes from the image only. An image's author may say how its own container is
 * treated. A label that gives rights, names other containers or replaces the owner's options is ignored.
 */
const fromImage: Readonly<Record<LabelName, 'counts' | 'ignored'>> = {
  enable: 'counts',
  'monitor-only': 'counts',
  'no-pull': 'counts',
  'no-restart': 'ignored',
  'update-auto-remove': 'ignored',
  'start-first': 'ignored',
  'keep-old': 'counts',
  'depends-on': 'ignored',
  scope: 'ignored',
  'stop-signal': 'counts',
  'stop-timeout': 'counts',
  'cooldown-delay': 'counts',
  'health-window': 'counts',
  'health-timeout': 'counts',
  'health-probe': 'ignored',
  notify: 'ignored',
  'lifecycle.pre-check': 'counts',
  'lifecycle.pre-update': 'counts',
  'lifecycle.post-update': 'counts',
  'lifecycle.post-check': 'counts',
  'lifecycle.pre-check-timeout': 'counts',
  'lifecycle.pre-update-timeout': 'counts',
  'lifecycle.post-update-timeout': 'counts',
  'lifecycle.post-check-timeout': 'counts',
  'lifecycle.uid': 'ignored',
  'lifecycle.gid': 'ignored',
};

/** One label stands for all of a journal. */
function unheardJournal(labels: Labels, own: Labels): string[] {
  const isUnheard = (label: string) => label.startsWith(journalPrefix) && !Object.hasOwn(own, label);
  return Object.keys(labels).filter(isUnheard).slice(0, 1);
}

function warningAboutOrigin(unheard: readonly string[], imageLabels: Labels | undefined): readonly string[] {
  if (unheard.length === 0) return [];
  const names = unheard.map((label) => quoted(label.startsWith(journalPrefix) ? `${journalPrefix}*` : label));
  const why =
    imageLabels === undefined ? 'may come from the image, which is gone from the engine' : 'come from the image';
  return [
    `Labels are ignored because they ${why}, and count only where the container itself is given them: ${names.join(', ')}`,
  ];
}

/** Enough for any command; an engine accepts labels of many megabytes. */
const longestValue = 32_768;

const mostWarnings = 20;

type Question<Value> = {
  readonly labels: Labels;
  readonly isOwn: (label: string, name: LabelName) => boolean;
  readonly name: LabelName;
  readonly kind: kinds.ValueKind<Value>;
  readonly warnings: string[];
  readonly heard: string[];
  readonly unheard: string[];
};

type Found<Value> = { readonly value: Value; readonly isFromImage: boolean };

function readOne<Value>(question: Question<Value>): Found<Value> | undefined {
  const { labels, isOwn, name, kind, warnings, heard, unheard } = question;
  const { own, dropIn } = spellings[name];
  const given = [own, dropIn].filter((label) => {
    const text = valueOf(labels, label);
    return text !== undefined && !(label === dropIn && text === kind.silentDropIn);
  });
  const inherited = given.filter((label) => !isOwn(label, name));
  if (fromImage[name] === 'ignored') unheard.push(...inherited);
  const candidates = given.filter((label) => isOwn(label, name));
  if (fromImage[name] === 'counts') candidates.push(...inherited);
  for (const label of candidates) {
    const text = labels[label] ?? '';
    const value = text.length > longestValue ? undefined : kind.parse(text.trim());
    if (value !== undefined) {
      heard.push(label);
      return { value: capped(value, { label, text, kind, warnings }), isFromImage: !isOwn(label, name) };
    }
    warnings.push(`Label ${quoted(label)} is ignored: ${quoted(text)} is not ${kind.accepted}`);
  }
  return undefined;
}

type Said<Value> = Pick<Question<Value>, 'kind' | 'warnings'> & { readonly label: string; readonly text: string };

function capped<Value>(value: Value, { label, text, kind, warnings }: Said<Value>): Value {
  const { atMostMs } = kind;
  if (atMostMs === undefined || typeof value !== 'number' || value <= atMostMs) return value;
  const most = formatDuration(atMostMs);
  warnings.push(`Label ${quoted(label)} counts as ${most}, the longest there is: ${quoted(text)} is more`);
  return kind.parse(most) ?? value;
}

type Spelling = { readonly own: string; readonly dropIn: string };

/** Each check looks for every name on every container: putting them together anew would be most of its work. */
const spellings = Object.fromEntries(
  labelNames.map((name): [LabelName, Spelling] => [name, { own: ownPrefix + name, dropIn: dropInPrefix + name }]),
) as Readonly<Record<LabelName, Spelling>>;

function valueOf(labels: Labels, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

/** Wishes of a container without our labels. */
const silence = readEach({}, {});

function warningsAboutNames(labels: Labels): readonly string[] {
  const warnings: string[] = [];
  for (const label of Object.keys(labels)) {
    if (warnings.length > mostWarnings) break;
    const warning = describeUnheard(label);
    if (warning !== undefined) warnings.push(warning);
  }
  return warnings;
}

function bounded(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= mostWarnings) return warnings;
  return [...warnings.slice(0, mostWarnings - 1), 'More labels than these are ignored or not known'];
}
