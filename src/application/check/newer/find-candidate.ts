import type { Clock } from '../../../domain/outside/outside.ts';
import { inSlices } from '../../async/concurrency.ts';
import { mostTags, type Registry, type RemoteImage } from '../../../domain/outside/registry.ts';
import { runsOn, formatPlatform, type Platform } from '../../../domain/image/platform.ts';
import { formatReference, type Digest, type ImageReference } from '../../../domain/image/image-reference.ts';
import { printTime } from '../../../domain/text/duration.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import {
  chooseTag,
  hasPattern,
  lineOf,
  type TagQuestion,
  type TagCandidate,
} from '../../../domain/image/choose-tag.ts';
import { remember, rememberLists } from '../../async/remember.ts';

export type CandidateQuestion = Pick<TagQuestion, 'policy' | 'include' | 'exclude'> & {
  readonly reference: ImageReference;
  readonly platform: Platform;
  /** The build time of the running image; absent: unknown. */
  readonly builtAtMs?: number | undefined;
  /** Absent: every candidate is taken. */
  readonly judge?: (candidate: FoundCandidate) => Promise<'take' | 'too young' | 'unsigned'>;
  /** The highest tag of the last check, empty if there was none. Undefined: there was no check. */
  readonly highestBefore?: string | undefined;
  /** Called with the present one, once the candidates are read: after a failure, new tags stay new. */
  readonly noteHighest?: (tag: string) => void;
};

export type FoundCandidate = {
  readonly reference: ImageReference;
  readonly digest: Digest;
  readonly image: RemoteImage;
  readonly step: TagCandidate;
  /** Whether the tag has appeared since the last check. */
  readonly isNew: boolean;
};

/** `unsignedTags`: so many tags lack a signature that lower ones were not looked at. */
type Limited = { readonly unsignedTags?: number };

/**
 * The highest accepted tag with an image for the platform, or the highest of all if none is accepted. `because`
 * gives the reason if users need it. `isCut`: the listing was cut, so there may be other tags.
 */
export type CandidateAnswer =
  | ({ readonly kind: 'found' } & FoundCandidate & Limited)
  | { readonly kind: 'none'; readonly because?: string; readonly isCut?: true };

/** Throws the registry's `ServiceError` when a listing or a candidate cannot be read. */
export type FindCandidate = (question: CandidateQuestion, signal?: AbortSignal) => Promise<CandidateAnswer>;

/**
 * Finds tags that containers may move to, for one run. Each repository is listed once, and each tag is resolved once
 * per platform. If a tag was removed since the listing, has no image for the platform, or is too young, the next lower
 * one is tried, at most five times. Unsigned tags do not count among these, because a repository may have signed releases
 * below many unsigned builds; they have limits of their own.
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

  return async ({ reference, platform, builtAtMs, judge, highestBefore, noteHighest, ...filters }, signal) => {
    const current = reference.tag;
    if (filters.policy.kind === 'digest' || current === undefined || reference.digest !== undefined)
      return { kind: 'none' };
    const choose = async (tags: string) => {
      const limit = hasPattern(filters) ? { maxMs: maxMatchingMs, tooLong: tooSlowPatterns } : undefined;
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
    let [tries, unsigned] = [0, 0];
    const beganAtMs = clock.monotonicMs();
    let limited: Limited = {};
    for (let place = await nextAfter(-1); ; place = await nextAfter(place)) {
      const step = candidates[place];
      if (step === undefined) break;
      if (unsigned > 0 && (unsigned === maxUnsigned || clock.monotonicMs() - beganAtMs > maxUnsignedMs)) {
        limited = { unsignedTags: unsigned };
        break;
      }
      if ((tries += 1) > mostTries) break;
      const next = { ...reference, tag: step.tag };
      const image = await imageOf(next, platform, signal);
      if (image === undefined) continue;
      if (isOlder(image, builtAtMs)) {
        older.push({ tag: step.tag, createdAtMs: image.createdAtMs, isOfLine: lineOf(current, step.tag) });
        continue;
      }
      const found = { reference: next, digest: image.digest, image, step, isNew: place < newCount };
      const judged = await judge?.(found);
      if (judged === 'unsigned') {
        unsigned += 1;
        tries -= 1;
      } else if (judged !== 'too young') {
        best = found;
        break;
      }
      best ??= found;
    }
    noteHighest?.(candidates[await nextAfter(-1)]?.tag ?? '');
    if (best !== undefined) return { kind: 'found', ...best, ...limited };
    const [first] = older;
    if (first !== undefined) return { kind: 'none', because: olderImage(first, builtAtMs) };
    if (candidates.length > 0) {
      const why = `none of the ${Math.min(mostTries, candidates.length)} highest tags has an image for`;
      return { kind: 'none', because: `${why} ${formatPlatform(platform)}` };
    }
    if (isCut) return { kind: 'none', because: cutList(), isCut };
    return { kind: 'none', ...(because !== undefined && { because }) };
  };
}

/** The place of the next candidate that is in no line of an older one. */
function* nextOutside(
  older: readonly FoundOlder[],
  candidates: readonly TagCandidate[],
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
const mostTries = 5;

/** Each takes some requests, which count towards the rate limits of registries. */
const maxUnsigned = 200;

const maxUnsignedMs = 60_000;

/** A function, because the first number in words costs 7 MiB for as long as the process runs. */
const cutList = () =>
  `no higher tag is among those that the registry lists, ${mostTags.toLocaleString('en')} tags or 2 MB at most`;

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
