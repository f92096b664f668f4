import { nearest } from './edit-distance.ts';
import {
  dropInPrefix,
  journalPrefix,
  labelNames,
  originalImageLabel,
  ownPrefix,
  watchtowerInternals,
  watchtowerLabel,
  type LabelName,
} from './label-names.ts';
import {
  command,
  delay,
  minutes,
  names,
  scope,
  seconds,
  stopSignal,
  truth,
  truthOrEmpty,
  userId,
  type ValueKind,
} from './label-values.ts';
import { quoted } from './printable.ts';

/** What a container says about how it wants to be treated; undefined: it says nothing. */
export type LabelWishes = {
  readonly enable: boolean | undefined;
  readonly monitorOnly: boolean | undefined;
  readonly noPull: boolean | undefined;
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
export type ReadLabels = { readonly wishes: LabelWishes; readonly warnings: readonly string[] };

export type Labels = Readonly<Record<string, string>>;

/**
 * Reads a container's own and drop-in labels. Never fails: a value that cannot be read counts as
 * not given and is warned about, as is every other label under the two prefixes, because a typo in
 * `enable` must not pass in silence.
 */
export function readLabels(labels: Labels): ReadLabels {
  const warnings: string[] = [];
  const read = <Value>(name: LabelName, kind: ValueKind<Value>) => readOne(labels, name, kind, warnings);
  const hook = (name: LabelName, timeoutName: LabelName): HookWish | undefined => {
    const [line, timeoutMs] = [read(name, command), read(timeoutName, minutes)];
    return line === undefined ? undefined : { command: line, timeoutMs };
  };
  const wishes: LabelWishes = {
    enable: read('enable', truth),
    monitorOnly: read('monitor-only', truthOrEmpty),
    noPull: read('no-pull', truthOrEmpty),
    dependsOn: read('depends-on', names),
    scope: read('scope', scope) || undefined,
    stopSignal: read('stop-signal', stopSignal),
    stopTimeoutMs: read('stop-timeout', seconds),
    cooldownMs: read('cooldown-delay', delay),
    gateWindowMs: read('gate-window', seconds),
    gateTimeoutMs: read('gate-timeout', seconds),
    hooks: {
      preCheck: hook('lifecycle.pre-check', 'lifecycle.pre-check-timeout'),
      preUpdate: hook('lifecycle.pre-update', 'lifecycle.pre-update-timeout'),
      postUpdate: hook('lifecycle.post-update', 'lifecycle.post-update-timeout'),
      postCheck: hook('lifecycle.post-check', 'lifecycle.post-check-timeout'),
    },
    hookUserId: read('lifecycle.uid', userId),
    hookGroupId: read('lifecycle.gid', userId),
    originalImage: valueOf(labels, originalImageLabel)?.slice(0, longestValue) || undefined,
    isWatchtower: truth.parse((valueOf(labels, watchtowerLabel) ?? '').slice(0, 10)) === true,
  };
  warnAboutUnknown(labels, warnings);
  return { wishes, warnings: bounded(warnings) };
}

/** Enough for any command; an engine accepts labels of many megabytes. */
const longestValue = 32_768;

const mostWarnings = 20;

const known: ReadonlySet<string> = new Set(labelNames);

function readOne<Value>(
  labels: Labels,
  name: LabelName,
  kind: ValueKind<Value>,
  warnings: string[],
): Value | undefined {
  for (const prefix of [ownPrefix, dropInPrefix]) {
    const text = valueOf(labels, prefix + name);
    if (text === undefined) continue;
    const value = text.length > longestValue ? undefined : kind.parse(text.trim());
    if (value !== undefined) return value;
    warnings.push(`Label ${quoted(prefix + name)} is ignored: ${quoted(text)} is not ${kind.accepted}`);
  }
  return undefined;
}

function valueOf(labels: Labels, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined;
}

function warnAboutUnknown(labels: Labels, warnings: string[]): void {
  for (const label of Object.keys(labels)) {
    if (warnings.length > mostWarnings) return;
    const prefix = [ownPrefix, dropInPrefix].find((each) => label.startsWith(each));
    if (prefix === undefined || label.startsWith(journalPrefix)) continue;
    const name = label.slice(prefix.length);
    if (known.has(name) || (prefix === dropInPrefix && watchtowerInternals.includes(name))) continue;
    const meant = nearest(name, labelNames);
    warnings.push(
      `Label ${quoted(label)} is not known${meant === undefined ? '' : `; did you mean ${quoted(prefix + meant)}?`}`,
    );
  }
}

function bounded(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= mostWarnings) return warnings;
  return [...warnings.slice(0, mostWarnings - 1), 'More labels are ignored or not known'];
}
