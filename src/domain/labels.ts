import type { HealthProbe } from './health-probe.ts';
import {
  dropInPrefix,
  familyPrefix,
  labelNames,
  type LabelName,
  originalImageLabel,
  ownPrefix,
  watchtowerLabel,
} from './label-names.ts';
import { describeUnheard } from './label-typos.ts';
import * as kinds from './label-values.ts';
import { quoted } from './printable.ts';

/** What a container says about how it wants to be treated; undefined: it says nothing. */
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
export type HookWish = { readonly command: string; readonly timeoutMs: number | undefined };

/** `warnings`: sentences about labels that are not heard, at most 20, safe to print. */
export type LabelReading = { readonly wishes: LabelWishes; readonly warnings: readonly string[] };

export type Labels = Readonly<Record<string, string>>;

/**
 * Reads a container's own labels and the drop-in ones; of two that say the same, the own one wins.
 * Never fails: a value that cannot be read counts as not given, and is warned about like a mistyped
 * name.
 */
export function readLabels(labels: Labels): LabelReading {
  const { wishes, warnings } = readAll(labels);
  return { wishes, warnings: bounded([...warnings, ...warningsAboutNames(labels)]) };
}

/** Those labels, by their whole names and verbatim, that `readLabels` hears: not those another one wins over. */
export function labelsInEffect(labels: Labels): Labels {
  return Object.fromEntries(readAll(labels).heard.map((label) => [label, labels[label] ?? '']));
}

type Reading = LabelReading & { readonly heard: readonly string[] };

function readAll(labels: Labels): Reading {
  return Object.keys(labels).some(mayBeHeard) ? readEach(labels) : silence;
}

/** Most containers carry none of these, and looking for each name on them would be most of a check's work. */
function mayBeHeard(label: string): boolean {
  return label.startsWith(ownPrefix) || label.startsWith(familyPrefix);
}

function readEach(labels: Labels): Reading {
  const warnings: string[] = [];
  const heard: string[] = [];
  const read = <Value>(name: LabelName, kind: kinds.ValueKind<Value>) =>
    readOne({ labels, name, kind, warnings, heard });
  const hook = (name: LabelName & `lifecycle.${string}`, timeoutName: LabelName): HookWish | undefined => {
    const [command, timeoutMs] = [read(name, kinds.command), read(timeoutName, kinds.minutes)];
    return command === undefined ? undefined : { command, timeoutMs };
  };
  const wishes: LabelWishes = {
    enable: read('enable', kinds.truth),
    monitorOnly: read('monitor-only', kinds.truthOrEmpty),
    noPull: read('no-pull', kinds.truthOrEmpty),
    noRestart: read('no-restart', kinds.truthOrEmpty),
    updateAutoRemove: read('update-auto-remove', kinds.truth),
    startFirst: read('start-first', kinds.truth),
    keepOldMs: read('keep-old', kinds.delay),
    dependsOn: read('depends-on', kinds.containerNames),
    scope: read('scope', kinds.scope) || undefined,
    stopSignal: read('stop-signal', kinds.stopSignal),
    stopTimeoutMs: read('stop-timeout', kinds.seconds),
    cooldownMs: read('cooldown-delay', kinds.delay),
    gateWindowMs: read('health-window', kinds.seconds),
    gateTimeoutMs: read('health-timeout', kinds.seconds),
    healthProbe: read('health-probe', kinds.healthProbe),
    hooks: {
      preCheck: hook('lifecycle.pre-check', 'lifecycle.pre-check-timeout'),
      preUpdate: hook('lifecycle.pre-update', 'lifecycle.pre-update-timeout'),
      postUpdate: hook('lifecycle.post-update', 'lifecycle.post-update-timeout'),
      postCheck: hook('lifecycle.post-check', 'lifecycle.post-check-timeout'),
    },
    hookUserId: read('lifecycle.uid', kinds.userId),
    hookGroupId: read('lifecycle.gid', kinds.userId),
    originalImage: valueOf(labels, originalImageLabel)?.trim() || undefined,
    isWatchtower: valueOf(labels, watchtowerLabel) === 'true',
  };
  if (wishes.originalImage !== undefined) heard.push(originalImageLabel);
  return { wishes, warnings, heard };
}

/** Enough for any command; an engine accepts labels of many megabytes. */
const longestValue = 32_768;

const mostWarnings = 20;

type Question<Value> = {
  readonly labels: Labels;
  readonly name: LabelName;
  readonly kind: kinds.ValueKind<Value>;
  readonly warnings: string[];
  readonly heard: string[];
};

function readOne<Value>({ labels, name, kind, warnings, heard }: Question<Value>): Value | undefined {
  const { own, dropIn } = spellings[name];
  for (const label of [own, dropIn]) {
    const text = valueOf(labels, label);
    if (text === undefined || (label === dropIn && text === kind.silentDropIn)) continue;
    const value = text.length > longestValue ? undefined : kind.parse(text.trim());
    if (value !== undefined) {
      heard.push(label);
      return value;
    }
    warnings.push(`Label ${quoted(label)} is ignored: ${quoted(text)} is not ${kind.accepted}`);
  }
  return undefined;
}

type Spelling = { readonly own: string; readonly dropIn: string };

/** Each check looks for every name on every container: putting them together anew would be most of its work. */
const spellings = Object.fromEntries(
  labelNames.map((name): [LabelName, Spelling] => [name, { own: ownPrefix + name, dropIn: dropInPrefix + name }]),
) as Readonly<Record<LabelName, Spelling>>;

function valueOf(labels: Labels, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

/** What is read from a container that carries no label of ours. */
const silence = readEach({});

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
