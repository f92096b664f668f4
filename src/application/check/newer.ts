import type { Clock, ReadOnlyOutside, SharedRecords } from '../../domain/outside/outside.ts';
import { inSlices, remember, rememberLists } from '../async/concurrency.ts';
import { maxTags, type Registry, type RemoteImage } from '../../domain/outside/registry.ts';
import { runsOn, formatPlatform, type Platform } from '../../domain/image/platform.ts';
import { formatReference, type Digest, type ImageReference } from '../../domain/image/image-reference.ts';
import { printTime } from '../../domain/text/duration.ts';
import { quoted } from '../../domain/text/printable.ts';
import { sentence } from '../../domain/text/words.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { lineOf } from '../../domain/image/version-tag.ts';
import { chooseTag, type TagChoice, type TagQuestion } from '../../domain/image/choose-tag.ts';
import {
  judgeFailure,
  judgeContent,
  unknownVerdict,
  type CheckSubject,
  type Verdict,
} from '../../domain/check/verdict.ts';
import {
  ageOf,
  withSighting,
  compactSeenTags,
  maxSeenTags,
  toMonotonicClock,
  toWallClock,
  type Now,
  type Sighting,
  type SeenTag,
} from '../../domain/check/known-versions.ts';
import type { ImageIndex } from '../../domain/container/lookup.ts';
import { needsSignature, requireSignature } from './require-signature.ts';
import type { createCooldownClock } from './registry-verdict.ts';
import { putNewest } from '../../domain/text/plain-data.ts';

type CandidateQuestion = Pick<TagQuestion, 'policy' | 'include' | 'exclude'> & {
  readonly reference: ImageReference;
  readonly platform: Platform;
  /** The build time of the running image; absent: unknown. */
  readonly builtAtMs?: number | undefined;
  /** Absent: every candidate is taken. */
  readonly judge?: (candidate: FoundCandidate) => Promise<'take' | 'wait'>;
  /** Whether an image must be signed to be taken. */
  readonly isSignatureNeeded?: boolean;
  /** The highest tag of the last check, empty if there was none. Undefined: there was no check. */
  readonly highestBefore?: string | undefined;
  /** Called with the present one, once the candidates are read: after a failure, new tags stay new. */
  readonly noteHighest?: (tag: string) => void;
};

type FoundCandidate = {
  readonly reference: ImageReference;
  readonly digest: Digest;
  readonly image: RemoteImage;
  readonly step: TagChoice['candidates'][number];
  /** Whether the tag has appeared since the last check. */
  readonly isNew: boolean;
};

/**
 * `unsigned`: so many tags lack a signature, or cannot be used, that lower ones were not looked at. `unreadable`: the
 * highest tag whose content nobody can read.
 */
type Passed = {
  readonly unsigned?: number;
  readonly unreadable?: { readonly tag: string; readonly error: ServiceError };
};

/**
 * The highest accepted tag with an image for the platform, or the highest of all if none is accepted. `because`
 * gives the reason if users need it. `isCut`: the listing was cut, so there may be other tags.
 */
type CandidateAnswer =
  | ({ readonly kind: 'found' } & FoundCandidate & Passed)
  | { readonly kind: 'none'; readonly because?: string; readonly isCut?: true };

/**
 * Throws the registry's `ServiceError` when a listing or a candidate cannot be read. A candidate with broken content is
 * passed over, if a lower one is found.
 */
type FindCandidate = (question: CandidateQuestion, signal?: AbortSignal) => Promise<CandidateAnswer>;

/**
 * Finds tags that containers may move to, for one run. Each repository is listed once, and each tag is resolved once
 * per platform. If a tag was removed since the listing, has no image for the platform, or is too young, the next lower
 * one is tried, at most five times. Where a signature is needed the limits are wider, because a repository may have signed
 * releases below many builds that are not.
 */
export function createCandidateFinder(
  registry: Pick<Registry, 'listTags' | 'resolve' | 'describe'>,
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
): FindCandidate {
  const listOf = rememberLists(registry.listTags);
  // The questions of the run bound the answers.
  const imageOf = remember(
    (reference: ImageReference, platform: Platform, signal: AbortSignal | undefined) =>
      lookFor(registry, reference, platform, signal),
    (reference, platform) => `${formatReference(reference)} ${formatPlatform(platform)}`,
  );

  return async ({ reference, platform, builtAtMs, judge, isSignatureNeeded = false, ...rest }, signal) => {
    const { highestBefore, noteHighest, ...filters } = rest;
    const current = reference.tag;
    if (filters.policy.kind === 'digest' || current === undefined || reference.digest !== undefined)
      return { kind: 'none' };
    const choose = async (tags: string) => {
      const hasPattern = filters.policy.kind === 'regex' || (filters.include ?? filters.exclude) !== undefined;
      const limit = hasPattern ? { maxMs: maxMatchingMs, tooLong: tooSlowPatterns } : undefined;
      return await inSlices(chooseTag({ current, tags, highestBefore, ...filters }), { clock, limit, signal });
    };
    const alone = await choose('');
    if (alone.because !== undefined) return { kind: 'none', because: alone.because };
    const { tags, isCut } = await listOf(reference, signal);
    const { candidates, newCount, because } = await choose(tags);
    const older: FoundOlder[] = [];
    const nextAfter = async (place: number) =>
      older.length === 0 ? place + 1 : await inSlices(nextOutside(older, candidates, place), { clock, signal });
    let best: FoundCandidate | undefined;
    let passed: Passed = {};
    let tries = 0;
    const beganAtMs = clock.monotonicMs();
    const isAtLimit = () =>
      isSignatureNeeded
        ? tries === maxTriesForSigned || (tries > 0 && clock.monotonicMs() - beganAtMs > maxMsForSigned)
        : tries === maxTries;
    for (let place = await nextAfter(-1); ; place = await nextAfter(place)) {
      const step = candidates[place];
      if (step === undefined) break;
      if (isAtLimit()) {
        if (isSignatureNeeded) passed = { ...passed, unsigned: tries };
        break;
      }
      tries += 1;
      const next = { ...reference, tag: step.tag };
      const passOver = (error: unknown): undefined => {
        if (!(error instanceof ServiceError) || error.code !== 'registry-invalid') throw error;
        passed = { unreadable: { tag: step.tag, error }, ...passed };
      };
      const image = await imageOf(next, platform, signal).catch(passOver);
      if (image === undefined) continue;
      if (isOlder(image, builtAtMs)) {
        // A tag that is not signed says nothing about others.
        const isOfLine = isSignatureNeeded ? () => false : lineOf(current, step.tag);
        older.push({ tag: step.tag, createdAtMs: image.createdAtMs, isOfLine });
        continue;
      }
      const found = { reference: next, digest: image.digest, image, step, isNew: place < newCount };
      const judged = judge === undefined ? 'take' : await judge(found).catch(passOver);
      if (judged === undefined) continue;
      const isTaken = judged === 'take';
      if (isTaken || best === undefined) best = found;
      if (isTaken) break;
    }
    if (best === undefined && passed.unreadable !== undefined) throw passed.unreadable.error;
    noteHighest?.(candidates[await nextAfter(-1)]?.tag ?? '');
    if (best !== undefined) return { kind: 'found', ...best, ...passed };
    const [first] = older;
    if (first !== undefined) return { kind: 'none', because: olderImage(first, builtAtMs) };
    if (candidates.length > 0) {
      const why = `none of the ${tries} highest tags has an image for`;
      return { kind: 'none', because: `${why} ${formatPlatform(platform)}` };
    }
    if (isCut) return { kind: 'none', because: cutList(), isCut };
    return { kind: 'none', ...(because !== undefined && { because }) };
  };
}

/** The place of the next candidate that is in no line of an older one. */
function* nextOutside(
  older: readonly FoundOlder[],
  candidates: TagChoice['candidates'],
  after: number,
): Generator<undefined, number, undefined> {
  for (let place = after + 1; ; place += 1) {
    const candidate = candidates[place];
    if (candidate === undefined || !older.some(({ isOfLine }) => isOfLine(candidate.tag))) return place;
    yield;
  }
}

type FoundOlder = {
  readonly tag: string;
  readonly createdAtMs: number;
  readonly isOfLine: (tag: string) => boolean;
};

/** A higher version that was built long before the running one is from an old numbering: qBittorrent's `20.04.1`. */
function isOlder(image: RemoteImage, builtAtMs = 0): image is RemoteImage & { readonly createdAtMs: number } {
  return image.createdAtMs !== undefined && image.createdAtMs < builtAtMs - slackMs;
}

/** A correction of an older version often appears after the newest version. */
const slackMs = 30 * 24 * 3600 * 1000;

function olderImage({ tag, createdAtMs }: FoundOlder, builtAtMs = 0): string {
  const [its, own] = [createdAtMs, builtAtMs].map((ms) => printTime(ms).slice(0, 10));
  return `${quoted(tag)} is higher, but its image is older: built on ${its}, the running one on ${own}`;
}

function tooSlowPatterns(): ServiceError {
  return new ServiceError('invalid-input', 'Cannot compare the tags: the patterns of policy or tags take too long', {
    remedy: 'Use simpler patterns in policy, tag-include and tag-exclude',
  });
}

/** 50,000 tags and usual patterns take half a second. */
const maxMatchingMs = 3000;

/** A repository that has dropped a platform has no image for it in any newer tag. */
const maxTries = 5;

/**
 * Each takes some requests, which count towards the rate limits of registries. Fewer than `chooseTag` returns, so that
 * the limit is told.
 */
const maxTriesForSigned = 900;

const maxMsForSigned = 60_000;

/** A function, because the first number in words costs 7 MiB for as long as the process runs. */
const cutList = () =>
  `no higher tag is among those that the registry lists, ${maxTags.toLocaleString('en')} tags or 2 MB at most`;

async function lookFor(
  registry: Pick<Registry, 'resolve' | 'describe'>,
  reference: ImageReference,
  platform: Platform,
  signal: AbortSignal | undefined,
): Promise<RemoteImage | undefined> {
  const image = await registry
    .resolve(reference, signal)
    .then((digest) => registry.describe({ reference, digest, platform }, signal))
    .catch(undefinedIfDeleted);
  return image?.platform !== undefined && runsOn(image.platform, platform) ? image : undefined;
}

/** The registry may have deleted a tag since its listing, or a manifest that its tag no longer points at. */
export function undefinedIfDeleted(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'registry-not-found') return undefined;
  throw error;
}

export type CandidateSearch = {
  readonly outside: ReadOnlyOutside;
  readonly images: ImageIndex;
  readonly tags: TagSightings;
  readonly cooldownClock: ReturnType<typeof createCooldownClock>;
  readonly find: FindCandidate;
  readonly platformOf: (subject: CheckSubject) => Promise<Platform>;
  readonly signal?: AbortSignal | undefined;
};

/** Judges a container whose policy lets it move to other tags; `own` is the verdict on the digest of its own tag. */
export async function judgeHigherTags(subject: CheckSubject, own: Verdict, search: CandidateSearch): Promise<Verdict> {
  const { tagPolicy: policy } = subject.effective;
  if (policy.kind === 'digest') return own;
  if (subject.isNamedByLabel)
    return withRemark(own, 'a label names its image, so that only the digest of that tag is followed');
  try {
    return combine(own, await judgeBest(subject, readRules(subject), search), subject);
  } catch (error) {
    return combine(own, judgeFailure(subject, error), subject);
  }
}

type Rules = Pick<Parameters<FindCandidate>[0], 'policy' | 'include' | 'exclude'>;

function readRules({ effective: { tagPolicy, tagInclude, tagExclude } }: CheckSubject): Rules {
  return {
    // `faultOfLabels` ends a check before.
    policy: tagPolicy.kind === 'unreadable' ? { kind: 'digest' } : tagPolicy,
    ...(tagInclude.kind === 'pattern' && { include: tagInclude.isIn }),
    ...(tagExclude.kind === 'pattern' && { exclude: tagExclude.isIn }),
  };
}

/** The verdict on the best candidate, or the reason why there is none. */
type Best = Verdict | { readonly status: 'none'; readonly because: string | undefined };

/**
 * The highest candidate that may be applied now. If a tag is too young or unsigned, the next lower one is judged. If a
 * tag has failed in this container or is only monitored, lower ones are not judged.
 */
async function judgeBest(subject: CheckSubject, rules: Rules, search: CandidateSearch): Promise<Best> {
  const { find, platformOf, tags, signal } = search;
  const platform = await platformOf(subject);
  const verdicts = new Map<string, Verdict>();
  const judge = async (candidate: FoundCandidate) => {
    const verdict = await judgeFound(subject, candidate, platform, search);
    verdicts.set(candidate.step.tag, verdict);
    return verdict.hold === 'cooldown' || verdict.hold === 'unsigned' ? 'wait' : 'take';
  };
  const key = keyOf(subject);
  let top = '';
  const noteHighest = (tag: string) => {
    top = tag;
    tags.noteHighest(key, tag);
  };
  const highest = { highestBefore: tags.highest(key), noteHighest };
  const isDelayed = subject.effective.cooldownMs > 0;
  const { reference, image } = subject;
  const isSignatureNeeded = needsSignature(subject.effective, search.outside.verificationKeys);
  const question = { reference, platform, builtAtMs: image?.createdAtMs, ...rules, judge, isSignatureNeeded };
  const answer = await find({ ...question, ...(isDelayed && highest) }, signal);
  if (answer.kind === 'none' && answer.isCut) return unknownVerdict(sentence(answer.because ?? ''), subject);
  if (answer.kind === 'none') return { status: 'none', because: answer.because };
  const { tag } = answer.step;
  // After an update to this tag, the highest one is the same.
  if (isDelayed) tags.noteHighest(keyOf({ ...subject, reference: answer.reference }), tag === top ? '' : top);
  const verdict = verdicts.get(tag);
  const remarks = remarksOf(answer);
  if (verdict !== undefined && verdict.status !== 'fresh') return withRemarks(verdict, remarks);
  const same = verdict === undefined ? [] : [`${quoted(tag)} is the same image`];
  const because = [...same, ...remarks].join('; ');
  return { status: 'none', because: because === '' ? undefined : because };
}

function remarksOf({ unsigned, unreadable }: Passed): readonly string[] {
  return [
    ...(unsigned === undefined
      ? []
      : [`the ${unsigned} highest tags are unsigned or cannot be used, and lower ones were not looked at`]),
    ...(unreadable === undefined
      ? []
      : [`${quoted(unreadable.tag)} is higher, but was passed over: ${describeError(unreadable.error)}`]),
  ];
}

/** Containers with equal keys have the same candidates. */
function keyOf({ reference, effective: { tagPolicy, tagInclude, tagExclude } }: CheckSubject): string {
  const texts = [tagPolicy, tagInclude, tagExclude].map((rule) => ('text' in rule ? rule.text : rule.kind));
  return JSON.stringify([formatReference(reference), ...texts]);
}

async function judgeFound(
  subject: CheckSubject,
  { reference, digest, image, step, isNew }: FoundCandidate,
  platform: Platform,
  { outside, images, tags, cooldownClock, signal }: CandidateSearch,
): Promise<Verdict> {
  const { cooldownMs } = subject.effective;
  const now = cooldownClock(reference, cooldownMs);
  const seen = cooldownMs === 0 ? [] : tags.see(formatReference(reference), digest, { now, cooldownMs, isNew });
  const sighting = seen.at(-1) ?? justSeen(digest, now);
  const age = ageOf(sighting, image.createdAtMs, now);
  const content = { latest: image, own: undefined, platform, nowMs: outside.clock.nowMs(), age, isOfHigherTag: true };
  const verdict = judgeContent({ ...subject, reference }, content, images);
  if (verdict.status !== 'stale' && verdict.status !== 'held') return verdict;
  return requireSignature(outside, subject, { ...verdict, candidate: { reference, kind: step.kind } }, signal);
}

/** The sighting of a digest that nobody has noted before. */
export function justSeen(digest: Digest, { monotonicMs }: Now): Sighting {
  return { digest, atMs: monotonicMs, sawItCome: false };
}

/** Order of preference: a higher tag that may be applied, the own tag, a version that waits, an unknown one. */
function combine(own: Verdict, best: Best, subject: CheckSubject): Verdict {
  if (best.status === 'none') return best.because === undefined ? own : withRemark(own, best.because);
  const both = [own, best].flatMap(({ failedVersion }) => failedVersion ?? []);
  if (best.status === 'stale' || (best.status === 'held' && own.status !== 'stale')) return keeping(best, both);
  if (best.status === 'held') return { ...keeping(own, both), hidesHigher: true };
  if (own.status !== 'stale' && own.status !== 'held') return best;
  const remarked = withRemark(own, `the higher tags are not known: ${best.reason}`);
  return { ...keeping(remarked, subject.failedVersions), hidesHigher: true };
}

/** Keeps a failed version in memory while it is the newest of its tag, or the highest tag. */
function keeping(verdict: Verdict, failures: Verdict['otherFailures']): Verdict {
  return failures === undefined || failures.length === 0 ? verdict : { ...verdict, otherFailures: failures };
}

function withRemark(verdict: Verdict, remark: string): Verdict {
  return withRemarks(verdict, [remark]);
}

function withRemarks(verdict: Verdict, remarks: readonly string[]): Verdict {
  return { ...verdict, reason: [verdict.reason, ...remarks].join('; ') };
}

/** Digests seen behind each tag since this process began, or with a store since earlier processes. */
export type TagSightings = {
  /** Reads the sightings of earlier processes, once. Does nothing without a store. Never throws. */
  readonly load: () => Promise<void>;
  /** Notes the current digest; returns all digests of the tag, oldest first. */
  readonly see: (
    reference: string,
    digest: Digest,
    at: {
      readonly now: ReturnType<CandidateSearch['cooldownClock']>;
      readonly cooldownMs: number;
      readonly isNew?: boolean;
    },
  ) => readonly Sighting[];
  /** The sightings of a tag, oldest first. */
  readonly of: (reference: string) => readonly Sighting[];
  /** The highest candidate by a key as last noted, empty if there was none. Undefined: it was never noted. */
  readonly highest: (key: string) => string | undefined;
  readonly noteHighest: (key: string, tag: string) => void;
  /** Begins to write the sightings since the last call. */
  readonly keep: () => void;
  /** Resolves when every write has ended, successfully or not. */
  readonly flush: () => Promise<unknown>;
};

type KeptTags = { readonly clock: Clock; readonly store: SharedRecords<SeenTag> | undefined };

/** Beyond 10,000 tags, the tag that was read longest ago is dropped. */
export function createTagSightings({ clock, store }: KeptTags): TagSightings {
  const tags = new Map<string, Omit<SeenTag, 'reference'>>();
  /** As stored, by reference. Their age is known once their registry has told the time. */
  const stored = new Map<string, SeenTag>();
  const highest = new Map<string, string>();
  /** The clocks at the sighting, by reference: those for the file. */
  const moved = new Map<string, Now>();
  let loading: Promise<void> | undefined;
  let written: Promise<unknown> = Promise.resolve();

  async function load(): Promise<void> {
    const records = (await store?.read()) ?? [];
    for (const record of compactSeenTags(records)) stored.set(record.reference, record);
  }

  function find(reference: string, at: Now): Omit<SeenTag, 'reference'> | undefined {
    const known = tags.get(reference);
    const record = known === undefined ? stored.get(reference) : undefined;
    return record === undefined ? known : toMonotonicClock(record, at);
  }

  return {
    load: () => (loading ??= load()),
    see(reference, digest, { now: at, cooldownMs, isNew = false }) {
      const { monotonicMs } = at;
      const known = find(reference, at) ?? { maxMs: 0, seen: [] };
      stored.delete(reference);
      const maxMs = Math.max(known.maxMs, cooldownMs);
      const seen = withSighting(known.seen, digest, { monotonicMs, maxMs, isNew });
      putNewest(tags, reference, { maxMs, seen }, maxSeenTags);
      if (known.seen.at(-1)?.digest !== digest) moved.set(reference, { nowMs: at.storeMs, monotonicMs });
      return seen;
    },
    of: (reference) => find(reference, { nowMs: 0, monotonicMs: clock.monotonicMs() })?.seen ?? [],
    highest: (key) => highest.get(key),
    noteHighest: (key, tag) => putNewest(highest, key, tag, maxSeenTags),
    keep() {
      const records = [...moved].flatMap(([reference, at]) => {
        const known = tags.get(reference);
        return (known && toWallClock({ reference, ...known }, at)) ?? [];
      });
      if (store !== undefined && records.length > 0) written = Promise.all([written, store.append(records)]);
      moved.clear();
    },
    flush: () => written,
  };
}
