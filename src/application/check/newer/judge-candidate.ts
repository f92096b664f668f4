import { judgeFailure, judgeContent } from '../../../domain/check/staleness.ts';
import { ageOf } from '../../../domain/check/sightings.ts';
import { type CheckSubject, unknownVerdict, type Verdict } from '../../../domain/check/verdict.ts';
import type { ImageIndex } from '../../../domain/container/lookup.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import { formatReference } from '../../../domain/image/image-reference.ts';
import type { Platform } from '../../../domain/image/platform.ts';
import { quoted, sentence } from '../../../domain/text/printable.ts';
import type { FindCandidate, FoundCandidate } from './find-candidate.ts';
import { requireSignature } from './require-signature.ts';
import type { CooldownClock } from './cooldown-clock.ts';
import type { TagSightings } from './tag-sightings.ts';

export type CandidateSearch = {
  readonly outside: ReadOnlyOutside;
  readonly images: ImageIndex;
  readonly tags: TagSightings;
  readonly cooldownClock: CooldownClock;
  readonly find: FindCandidate;
  readonly platformOf: (imageId: string) => Promise<Platform>;
  readonly signal: AbortSignal | undefined;
};

/** Judges a container whose policy lets it move to other tags; `own` is the verdict on the digest of its own tag. */
export async function judgeHigherTags(subject: CheckSubject, own: Verdict, search: CandidateSearch): Promise<Verdict> {
  const { tagPolicy: policy } = subject.inForce;
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

function readRules({ inForce: { tagPolicy, tagInclude, tagExclude } }: CheckSubject): Rules {
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
  const platform = await platformOf(subject.imageId);
  const verdicts = new Map<string, Verdict>();
  const judge = async (candidate: FoundCandidate) => {
    const verdict = await judgeFound(subject, candidate, platform, search);
    verdicts.set(candidate.step.tag, verdict);
    if (verdict.hold === 'cooldown') return 'too young';
    return verdict.hold === 'unsigned' ? 'unsigned' : 'take';
  };
  const key = keyOf(subject);
  let top = '';
  const noteHighest = (tag: string) => {
    top = tag;
    tags.noteHighest(key, tag);
  };
  const highest = { highestBefore: tags.highest(key), noteHighest };
  const isDelayed = subject.inForce.cooldownMs > 0;
  const { reference, image } = subject;
  const question = { reference, platform, builtAtMs: image?.createdAtMs, ...rules, judge };
  const answer = await find({ ...question, ...(isDelayed && highest) }, signal);
  if (answer.kind === 'none' && answer.isCut) return unknownVerdict(sentence(answer.because ?? ''), subject);
  if (answer.kind === 'none') return { status: 'none', because: answer.because };
  const { tag } = answer.step;
  // After an update to this tag, the highest one is the same.
  if (isDelayed) tags.noteHighest(keyOf({ ...subject, reference: answer.reference }), tag === top ? '' : top);
  const verdict = verdicts.get(tag);
  if (verdict !== undefined && answer.unsignedTags !== undefined)
    return withRemark(
      verdict,
      `the ${answer.unsignedTags} highest tags are unsigned, and lower ones were not looked at`,
    );
  if (verdict === undefined || verdict.status !== 'fresh') return verdict ?? { status: 'none', because: undefined };
  return { status: 'none', because: `${quoted(tag)} is the same image` };
}

/** Containers with equal keys have the same candidates. */
function keyOf({ reference, inForce: { tagPolicy, tagInclude, tagExclude } }: CheckSubject): string {
  const texts = [tagPolicy, tagInclude, tagExclude].map((rule) => ('text' in rule ? rule.text : rule.kind));
  return JSON.stringify([formatReference(reference), ...texts]);
}

async function judgeFound(
  subject: CheckSubject,
  { reference, digest, image, step, isNew }: FoundCandidate,
  platform: Platform,
  { outside, images, tags, cooldownClock, signal }: CandidateSearch,
): Promise<Verdict> {
  const { cooldownMs } = subject.inForce;
  const now = cooldownClock(reference, cooldownMs);
  const seen = cooldownMs === 0 ? [] : tags.see(formatReference(reference), digest, { now, cooldownMs, isNew });
  const sighting = seen.at(-1) ?? { digest, atMs: now.monotonicMs, sawItCome: false };
  const age = ageOf(sighting, image.createdAtMs, now);
  const content = { latest: image, own: undefined, platform, nowMs: outside.clock.nowMs(), age, isOfHigherTag: true };
  const verdict = judgeContent({ ...subject, reference }, content, images);
  if (verdict.status !== 'stale' && verdict.status !== 'held') return verdict;
  return requireSignature(outside, subject, { ...verdict, candidate: { reference, kind: step.kind } }, signal);
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
  return { ...verdict, reason: `${verdict.reason}; ${remark}` };
}
