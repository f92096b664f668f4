import { addTo } from '../../domain/text/plain-data.ts';
import { formatReference, type Digest, type ImageReference } from '../../domain/image/image-reference.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import {
  judgeFailure,
  judgeContent,
  judgeDigest,
  judgeStranger,
  ownDigest,
  strangeDigests,
  judgeOlderDigest,
  seenSince,
  type Content,
  type CheckSubject,
  type Verdict,
} from '../../domain/check/verdict.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import { formatPlatform, sameArchitecture, type Platform } from '../../domain/image/platform.ts';
import { ageOf, eligibleOlderDigests, type Sighting, type Now } from '../../domain/check/known-versions.ts';
import { mapConcurrently, remember, createFirstTimes } from '../async/concurrency.ts';
import { justSeen, undefinedIfDeleted, judgeHigherTags, type CandidateSearch } from './newer.ts';
import { requireSignature } from './require-signature.ts';
import type { RemoteImage, Registry } from '../../domain/outside/registry.ts';
import { formatDuration } from '../../domain/text/duration.ts';

export type Question = {
  readonly subject: CheckSubject;
  /** Absent: the platform of the engine or of the running image. */
  readonly platform?: Platform;
  /** The digest to apply in place of the newest one, if there is such. Absent: the newest one is applied. */
  readonly instead?: (newest: Verdict) => Digest | undefined;
  readonly setVerdict: (verdict: Verdict) => void;
};

type AskOptions = Omit<CandidateSearch, 'platformOf'> & {
  /** Number of references that are asked about at once. */
  readonly limit: number;
  /** Asks each registry about one reference first, so that its limit is known before the rest. */
  readonly oneFirst?: boolean | undefined;
};

/**
 * Asks the registries: once per distinct reference for its digest, and once per platform for the manifest and config of
 * a new digest. A failure becomes the verdict of every question about that reference. Searches higher tags after that,
 * if a policy allows them. After an abort the other questions stay unsettled.
 */
export async function askRegistries(questions: readonly Question[], options: AskOptions): Promise<void> {
  const { outside, images, tags, cooldownClock, limit, oneFirst = false, signal } = options;
  const { engine, registry, clock, log } = outside;
  const groups = new Map<string, Question[]>();
  for (const question of questions) addTo(groups, formatReference(question.subject.reference), question);
  const references = [...groups.values()].flatMap(([first]) => first?.subject.reference ?? []);
  await registry.prepare?.(references, signal).catch((error: unknown) => {
    log.debug('The references of a check could not be announced', { error });
  });
  const engineInfo = remember(
    () => engine.info(signal),
    () => '',
  );
  /** A container's platform is its engine's. An image of another architecture keeps its own, as its successor must. */
  const platformOf = remember(
    async ({ imageId, platform: own }: PlatformSubject): Promise<Platform> => {
      const seen = own ?? outside.picture?.image(imageId);
      const [{ platform }, image] = await Promise.all([engineInfo(), seen ?? engine.inspectImage(imageId, signal)]);
      if (image === undefined || sameArchitecture(image, platform)) return platform;
      return { os: image.os, architecture: image.architecture, variant: image.variant };
    },
    ({ imageId, platform }) => `${imageId} ${platform === undefined ? '' : formatPlatform(platform)}`,
  );
  const firsts = oneFirst ? references.toReversed() : [];
  const isFirst = new Set(new Map(firsts.map((one) => [one.registry, formatReference(one)])).values());
  await mapConcurrently(
    groupsWhere((name) => isFirst.has(name)),
    limit,
    askAboutOne,
  );
  await mapConcurrently(
    groupsWhere((name) => !isFirst.has(name)),
    limit,
    askAboutOne,
  );

  function groupsWhere(isMeant: (name: string) => boolean): readonly (readonly Question[])[] {
    return [...groups].flatMap(([name, group]) => (isMeant(name) ? [group] : []));
  }

  async function askAboutOne(group: readonly Question[]): Promise<void> {
    const [first] = group;
    if (first === undefined || signal?.aborted) return;
    const { reference } = first.subject;
    // The questions of one check bound the answers.
    const describe = remember(
      (digest: Digest, platform: Platform) => registry.describe({ reference, digest, platform }, signal),
      (digest, platform) => `${digest} ${formatPlatform(platform)}`,
    );
    for (const [question, own] of await judgeOwnTag(reference, group, describe)) {
      const verdict = await conclude(question, own, describe);
      if (verdict !== undefined) question.setVerdict(verdict);
    }
  }

  /** The verdicts on the digest of the containers' own tag. Some are missing after an abort. */
  async function judgeOwnTag(reference: ImageReference, group: readonly Question[], describe: Describer) {
    const verdicts = new Map<Question, Verdict>();
    let digest: Digest;
    try {
      digest = await registry.resolve(reference, signal);
    } catch (error) {
      if (!signal?.aborted) for (const question of group) verdicts.set(question, judgeFailure(question.subject, error));
      return verdicts;
    }
    const nowMs = clock.nowMs();
    const cooldownMs = Math.max(...group.map(({ subject }) => subject.effective.cooldownMs));
    const now = cooldownClock(reference, cooldownMs);
    const seen = cooldownMs === 0 ? [] : tags.see(formatReference(reference), digest, { now, cooldownMs });
    const sighting = seen.at(-1) ?? justSeen(digest, now);
    for (const question of group) {
      const { subject, platform: wanted } = question;
      const known = judgeDigest(subject, digest);
      if (known !== undefined) {
        verdicts.set(question, known);
        continue;
      }
      let platform: Platform | undefined;
      try {
        platform = wanted ?? (await platformOf(subject));
        const latest = await describe(digest, platform);
        const age = ageOf(sighting, latest.createdAtMs, now);
        const verdict = await judgeWhole(subject, { latest, own: undefined, platform, nowMs, age }, describe);
        verdicts.set(question, await judgeMovingTag(subject, verdict, { now, seen, platform, describe }));
      } catch (error) {
        if (signal?.aborted) return verdicts;
        verdicts.set(question, judgeFailure(subject, error, platform));
      }
    }
    return verdicts;
  }

  /** Completes a verdict by signatures, higher tags, and the version of earlier waves. Undefined after an abort. */
  async function conclude(
    { subject, platform, instead }: Question,
    own: Verdict,
    describe: Describer,
  ): Promise<Verdict | undefined> {
    const orFailure = (error: unknown) => judgeFailure(subject, error);
    // A higher tag of a stranger is a stranger's too.
    if (own.status === 'local') return own;
    const signed = await requireSignature(outside, subject, own, signal).catch(orFailure);
    if (own.status === 'unknown' && subject.effective.tagPolicy.kind !== 'digest') {
      // Its own tag is not in the registry, so nothing has shown yet that its image is.
      const refused = await refuseStranger(subject, describe).catch(orFailure);
      if (refused !== undefined) return refused;
    }
    // A service of a swarm stays with its tag.
    const isOfService = platform !== undefined;
    const newest = isOfService ? signed : await judgeHigherTags(subject, signed, { ...options, platformOf });
    const digest = instead?.(newest);
    const verdict =
      digest === undefined ? newest : await judgeProven(subject, newest, digest, describe).catch(orFailure);
    return signal?.aborted ? undefined : verdict;
  }

  /** Reads the running image's layers only if they can decide the verdict. */
  async function judgeWhole(subject: CheckSubject, content: Content, describe: Describer): Promise<Verdict> {
    const verdict = judgeContent(subject, content, images);
    if (verdict.status !== 'fresh' && (await isStranger(subject, content.platform, describe)))
      return judgeStranger(subject);
    const digest = ownDigest(subject);
    if (verdict.latestDigest === undefined || verdict.status === 'fresh' || digest === undefined) return verdict;
    try {
      return judgeContent(subject, { ...content, own: await describe(digest, content.platform) }, images);
    } catch (error) {
      if (error instanceof ServiceError && isNoAnswer(error, subject)) return verdict;
      throw error;
    }
  }

  async function refuseStranger(subject: CheckSubject, describe: Describer): Promise<Verdict | undefined> {
    if (strangeDigests(subject, images).length === 0) return undefined;
    const platform = await platformOf(subject);
    return (await isStranger(subject, platform, describe)) ? judgeStranger(subject) : undefined;
  }

  /** Whether nothing shows that the image is from its repository, and that does not know it. Asked only about a newer image. */
  async function isStranger(subject: CheckSubject, platform: Platform, describe: Describer): Promise<boolean> {
    const digests = strangeDigests(subject, images).slice(0, maxStrange);
    for (const digest of digests) {
      try {
        await describe(digest, platform);
        return false;
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'registry-not-found') throw error;
      }
    }
    return digests.length > 0;
  }

  /**
   * Finds an older version of the tag that is past its cooldown. Without it, a tag that moves often would hold a
   * container back for ever.
   */
  async function judgeMovingTag(
    subject: CheckSubject,
    held: Verdict,
    { now, seen, platform, describe }: MovingTag,
  ): Promise<Verdict> {
    if (held.eligibleAtMs === undefined) return held;
    const since = seenSince(subject, seen);
    const due = eligibleOlderDigests(since ?? seen, subject.effective.cooldownMs, now.monotonicMs).slice(0, maxTries);
    const isOrderKnown = since !== undefined || due.length === 0;
    const own = isOrderKnown ? undefined : await engine.inspectImage(subject.imageId, signal);
    const order = isOrderKnown ? 'known' : { ownCreatedAtMs: own?.createdAtMs };
    for (const sighting of due) {
      const latest = await describe(sighting.digest, platform).catch(undefinedIfDeleted);
      if (latest === undefined) continue;
      const age = ageOf(sighting, latest.createdAtMs, now);
      const content = { latest, own: undefined, platform, nowMs: clock.nowMs(), age };
      const instead = judgeOlderDigest(subject, held, content, images, order);
      if (instead !== undefined) return instead;
    }
    return held;
  }

  /**
   * The verdict with the version that earlier waves run in place of the newest one. A failure in this container, a
   * missing signature, or a cooldown that is longer than that of earlier waves, holds it back too. Throws the registry's
   * `ServiceError`.
   */
  async function judgeProven(
    subject: CheckSubject,
    newest: Verdict,
    digest: Digest,
    describe: Describer,
  ): Promise<Verdict> {
    const { reference, effective } = subject;
    const platform = await platformOf(subject);
    const now = cooldownClock(reference, effective.cooldownMs);
    const latest = await describe(digest, platform).catch(undefinedIfDeleted);
    if (latest === undefined) return heldByWave(newest, 'but the registry no longer has the version of earlier waves');
    const sighting = tags.of(formatReference(reference)).findLast((one) => one.digest === digest);
    const age = ageOf(sighting ?? justSeen(digest, now), latest.createdAtMs, now);
    const content = { latest, own: undefined, platform, nowMs: clock.nowMs(), age };
    // If the newest version is past its cooldown, an earlier one is, too.
    const cooldownMs = newest.insteadDigest === undefined ? 0 : effective.cooldownMs;
    const judged = judgeContent({ ...subject, effective: { ...effective, cooldownMs } }, content, images);
    const { status, reason, hold, eligibleAtMs, failedVersion } = judged;
    if (status === 'held') return { ...newest, status, reason, eligibleAtMs, failedVersion, ...(hold && { hold }) };
    if (status === 'fresh') return heldByWave(newest, 'and earlier waves run the same version as this container');
    if (status !== 'stale') return heldByWave(newest, `but the version of earlier waves cannot be used: ${reason}`);
    const { verified: _, ...rest } = newest;
    return requireSignature(outside, subject, { ...rest, insteadDigest: digest, instead: latest }, signal);
  }
}

type PlatformSubject = Pick<CheckSubject, 'imageId' | 'platform'>;

/** The manifest and config of a digest, asked for once. */
type Describer = (digest: Digest, platform: Platform) => Promise<RemoteImage>;

type MovingTag = {
  /** Digests of the tag, oldest first; the last is the current one. */
  readonly seen: readonly Sighting[];
  /** See `createCooldownClock`. */
  readonly now: Now;
  readonly platform: Platform;
  readonly describe: Describer;
};

const maxStrange = 3;

/** A registry that has deleted the last few versions has deleted older ones too. */
const maxTries = 3;

/**
 * The registry may have deleted the manifest that its tag pointed at before. If the engine does not have the image, the
 * id may be a config's id, and docker-registry answers a request for it with 500.
 */
function isNoAnswer({ code }: ServiceError, { image }: CheckSubject): boolean {
  return code === 'registry-not-found' || image === undefined;
}

function heldByWave(newest: Verdict, why: string): Verdict {
  return { ...newest, status: 'held', hold: 'wave', reason: `${newest.reason}, ${why}` };
}

/**
 * Both clocks for the age of a version, after an answer of its registry. Without a cooldown, those of this machine.
 * `storeMs`: the time of a sighting for its file, by the later clock. The clock of a later process may be right again,
 * and a time that is too late only lengthens a cooldown.
 */
type CooldownClock = (reference: ImageReference, cooldownMs: number) => Now & { readonly storeMs: number };

/**
 * A wall clock that is ahead must end no cooldown: machines without a hardware clock begin with any date. So the time
 * is at most that of the registry, which the check asks anyway. Without it, ages count from the start of this process:
 * the wall clock is then before every date.
 */
export function createCooldownClock(world: {
  readonly registry: Pick<Registry, 'timeAt'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}): CooldownClock {
  const { registry, clock, log } = world;
  const isFirst = createFirstTimes(maxWarned);

  return (reference, cooldownMs) => {
    const [nowMs, monotonicMs] = [clock.nowMs(), clock.monotonicMs()];
    if (cooldownMs === 0) return { nowMs, monotonicMs, storeMs: nowMs };
    const told = registry.timeAt(reference);
    const of = { registry: reference.registry };
    if (told === undefined) {
      if (isFirst(`${reference.registry} silent`))
        log.warn('A registry sends no time, so cooldowns of its images count from the start of this process', of);
      return { nowMs: 0, monotonicMs, storeMs: nowMs };
    }
    const aheadMs = nowMs - told;
    if (aheadMs > toleranceMs && isFirst(`${reference.registry} ahead`))
      log.warn('The clock of this machine is ahead of the registry: cooldowns count by the clock of the registry', {
        ...of,
        ahead: formatDuration(Math.round(aheadMs / 1000) * 1000),
      });
    return { nowMs: aheadMs > toleranceMs ? told : nowMs, monotonicMs, storeMs: Math.max(nowMs, told) };
  };
}

/** Clocks that are synchronised differ by less than a second, and those of hand-set machines by minutes. */
const toleranceMs = 5 * 60_000;

const maxWarned = 1000;
