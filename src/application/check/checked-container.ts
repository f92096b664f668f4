import type { Hold, DecidedCandidate, Approval, CandidateKind } from '../../domain/decision/decisions.ts';
import type { WindowSetting } from '../../domain/settings/values/versions.ts';
import type { VerifiedImage, Registry } from '../../domain/outside/registry.ts';
import type { ComposeQuestion, ComposeState } from '../../domain/compose/compose-state.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import {
  familiarReference,
  parseDigest,
  tryParseImageReference,
  withTagOf,
  type Digest,
} from '../../domain/image/image-reference.ts';
import { isContainer, type Cooldown, type EntryKind } from '../../domain/run/session.ts';
import type { FailedVersion } from '../../domain/check/known-versions.ts';
import type { Staleness, Verdict } from '../../domain/check/verdict.ts';
import type { ReadReference } from './select-containers.ts';
import { labelsInEffect } from '../../domain/settings/effective-settings.ts';
import { projectOf } from '../../domain/compose/compose-project.ts';
import { versionOf, versionsBetween, type ImageVersions } from '../../domain/image/labels.ts';
import { defined } from '../../domain/text/plain-data.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import type { CheckedFacts } from '../../domain/run/event.ts';
import {
  type ImageLabelsOf,
  readComposeIdentity,
  versionFactsOf,
  type ImageIndex,
} from '../../domain/container/lookup.ts';
import { type ForgeKind, notesSourceOf, sourceOf, type SourceFacts } from '../../domain/image/image-source.ts';
import { type NotesSubject, notesSubjectOf, type NotesSummary } from '../../domain/notes/notes.ts';
import type { SharedUse } from '../async/concurrency.ts';

export type CheckedContainer = ImageVersions & {
  readonly id: string;
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference that it was created from, in its short form. */
  readonly image: string;
  /** The reference that it was created from, verbatim. */
  readonly reference: string;
  /** The reference that its successor is created from: the same, or with the tag of a candidate. */
  readonly successorReference: string;
  readonly imageId: string;
  /** The registry digest of its image; undefined for a local build. */
  readonly digest: Digest | undefined;
  readonly status: Staleness;
  /** A sentence without a final period that gives the reason. */
  readonly reason: string;
  /** Also true for `held`: a newer version exists but is not applied. */
  readonly updateAvailable: boolean;
  readonly latestDigest: Digest | undefined;
  /** The id of the newer image if the engine already has it. */
  readonly latestImageId: string | undefined;
  /**
   * With `stale` and `held`: the name of the newer image in short form. For `digest` it is the container's own
   * reference.
   */
  readonly candidate?: string;
  /** The difference from the container's own tag. `digest` means the same tag with other content. */
  readonly candidateKind?: CandidateKind;
  /** Digest that an update pulls; undefined when it pulls nothing (`no-pull` uses the engine's image). */
  readonly pullDigest: Digest | undefined;
  /** The image that an update must run, because its signature was checked. Absent: no signature is needed. */
  readonly verified?: VerifiedImage;
  /** End of the cooldown, milliseconds since the epoch; undefined without a cooldown. */
  readonly eligibleAtMs: number | undefined;
  /** The cooldown of the newest version, over or not. Undefined: it has none. */
  readonly cooldown?: Cooldown;
  /** Present when the check failed; then the status is `unknown`. */
  readonly error: string | undefined;
  /** A failure of the newest version in this container, also when the version is to be tried again. */
  readonly failedVersion: FailedVersion | undefined;
  /** Failures of other newer versions that still count. */
  readonly otherFailures?: readonly FailedVersion[];
  /** The verdict is about the own tag, while a higher tag waits or is not known. */
  readonly hidesHigher?: true;
  /** The kind of reason of `held` and `unknown`. */
  readonly hold?: Hold | undefined;
  /** When the registry may be asked again, milliseconds since the epoch; absent if the registry gave no time. */
  readonly retryAtMs?: number;
  /** Its label makes it the canary. */
  readonly isCanary?: true;
  /** Present if services of a swarm are watched. */
  readonly kind?: EntryKind;
  /** How its reference stands in its compose files; absent if nobody has asked, or it is in none. */
  readonly compose?: ComposeState;
  /** With `stale` and `held`: where the release notes of the newer version are. */
  readonly notesAt?: NotesSubject;
  /** A short form of them, as far as they are known. */
  readonly notes?: NotesSummary;
  /** With the hold `approval`: what the notes have to do with it. */
  readonly holdBecause?: 'breaking' | 'unread';
  /** Present if a person may decide about the newer version, or a window holds it back. */
  readonly unrestrained?: UnheldVerdict;
};

/** The reference of a container, as people write it. */
export function imageIn(read: ReadReference | undefined, listed: string): string {
  return read?.kind === 'known' ? familiarReference(read.reference) : (read?.text ?? listed);
}

/**
 * Rules that can hold a newer version back after the verdict. `window` is undefined when a person has asked for the
 * update now.
 */
export type HoldSettings = { readonly approval: Approval; readonly window: WindowSetting | undefined };

/** The verdict on the newer version without these rules, so that it can be judged again. */
export type UnheldVerdict = HoldSettings & Pick<CheckedContainer, 'status' | 'reason' | 'hold' | 'eligibleAtMs'>;

/** Combines the verdict on a container with its other facts. */
export function describeChecked(
  { id, name, image: listed, imageId }: ContainerSummary,
  { kind, isCanary, read, verdict, noPull, images, nowMs, notes }: DescribeFacts,
): CheckedContainer {
  const { status, reason, digest, latestDigest, latestImageId, error, eligibleAtMs, failedVersion } = verdict;
  const { insteadDigest = latestDigest, verified, cooldown, hold, retryAfterMs, otherFailures, hidesHigher } = verdict;
  const image = imageIn(read, listed);
  return {
    id,
    name,
    image,
    ...referencesOf(read?.kind === 'known' ? read.text : listed, verdict.candidate),
    imageId,
    digest,
    status,
    reason,
    updateAvailable: status === 'stale' || status === 'held',
    latestDigest,
    latestImageId,
    pullDigest: noPull ? undefined : insteadDigest,
    eligibleAtMs,
    error,
    failedVersion,
    ...defined({ verified, cooldown, otherFailures, hidesHigher, hold, kind, isCanary }),
    ...(retryAfterMs !== undefined && { retryAtMs: nowMs + retryAfterMs }),
    ...versionsOf(imageId, image, verdict, images, notes),
    ...candidateOf(verdict, image),
  };
}

function referencesOf(reference: string, candidate: Verdict['candidate']) {
  const successorReference = candidate === undefined ? reference : withTagOf(reference, candidate.reference);
  return { reference, successorReference };
}

function candidateOf({ status, candidate }: Verdict, image: string) {
  if (status !== 'stale' && status !== 'held') return {};
  if (candidate === undefined) return { candidate: image, candidateKind: 'digest' } as const;
  return { candidate: familiarReference(candidate.reference), candidateKind: candidate.kind };
}

type DescribeFacts = {
  readonly kind: EntryKind | undefined;
  readonly isCanary: true | undefined;
  readonly read: ReadReference | undefined;
  readonly verdict: Verdict;
  readonly noPull: boolean;
  readonly images: ImageIndex;
  readonly nowMs: number;
  /** Absent: nobody reads release notes. */
  readonly notes?: NotesSettings | undefined;
};

type NotesSettings = {
  readonly isOn: boolean;
  readonly hosts: ReadonlyMap<string, ForgeKind>;
  /** Labels of the container. */
  readonly source: string | undefined;
  readonly tagForm: string | undefined;
};

/** Fields of a check's event, without the verdict. */
export function checkedFacts(checked: CheckedContainer): CheckedFacts {
  const { candidate, candidateKind, hold, version, latestVersion, change } = checked;
  const { eligibleAtMs, retryAtMs, latestDigest } = checked;
  return defined({
    ...{ candidate, candidateKind, hold, version, latestVersion, change },
    ...{ eligibleAtMs, retryAtMs, latestDigest, candidateDigest: otherDigest(checked) },
  });
}

/** The digest that an update would apply, if it is not the newest one. */
export function otherDigest(checked: CheckedContainer): Digest | undefined {
  const digest = candidateDigest(checked);
  return digest === checked.latestDigest ? undefined : digest;
}

/** The digest of the version that an update would apply, or the id of an image that the engine already has. */
export function candidateDigest({
  updateAvailable,
  pullDigest,
  latestDigest,
  latestImageId = '',
}: Pick<CheckedContainer, 'updateAvailable' | 'pullDigest' | 'latestDigest' | 'latestImageId'>): Digest | undefined {
  return updateAvailable ? (pullDigest ?? latestDigest ?? parseDigest(latestImageId)) : undefined;
}

/** Names the running version and the newer one, without a further request. */
function versionsOf(
  imageId: string,
  image: string,
  verdict: Verdict,
  images: ImageIndex,
  notes: NotesSettings | undefined,
): ImageVersions & Pick<CheckedContainer, 'notesAt'> {
  const running = versionFactsOf(images.byId(imageId), { image, digest: verdict.digest ?? imageId });
  const { status, latestDigest, latestImageId, newest, candidate } = verdict;
  if (status !== 'stale' && status !== 'held') return defined({ version: versionOf(running) });
  const present = latestImageId === undefined ? undefined : images.byId(latestImageId);
  const latestName = candidate === undefined ? image : familiarReference(candidate.reference);
  const digest = latestDigest ?? latestImageId ?? '';
  const listed = versionFactsOf(present, { image: latestName, digest });
  const labels = newest?.labels ?? listed.labels;
  const newer = newest === undefined ? listed : { labels, image: latestName, digest };
  const versions = versionsBetween(running, newer);
  const described = { labels, annotations: newest?.annotations, image: latestName };
  return defined({
    ...versions,
    notesAt: notes && notesOf(notes, described, { ...versions, image }),
    sourceUrl: sourceOf(described),
    releasedAtMs: newest?.createdAtMs,
    downloadBytes: present === undefined ? newest?.layerBytes : undefined,
  });
}

function notesOf(
  { isOn, hosts, source: address, tagForm }: NotesSettings,
  newer: SourceFacts,
  { image, ...versions }: ReturnType<typeof versionsBetween> & { readonly image: string },
): NotesSubject {
  const source = notesSourceOf(newer, { source: address, tagForm }, hosts);
  const running = tryParseImageReference(image);
  const facts = {
    ...versions,
    source,
    isOn,
    running: { repository: running?.repository ?? '', tag: running?.tag },
    newer: { tag: tryParseImageReference(newer.image)?.tag },
  };
  return notesSubjectOf(facts, source.kind === 'repository' ? source.tagForm : undefined);
}

/** How the newer versions of one request are judged. */
export type JudgeOrder = {
  readonly runId: string;
  /** False for a check, which reports every new version; true for an update, which holds young ones back. */
  readonly applyCooldown: boolean;
  /** For the check of a start: each registry is asked about one image first, and about the others within its limit. */
  readonly oneFirst?: boolean;
  /** Versions that failed in a container are not held back. */
  readonly retryFailed?: boolean;
  /** Windows hold nothing back. */
  readonly ignoreWindows?: boolean;
  /** Waves hold nothing back. */
  readonly ignoreWaves?: boolean;
  /** No version waits for approval: for a plan that shows what an approval would lead to. */
  readonly asApproved?: boolean;
  /**
   * A person has asked for these containers: see `UpdateRequest`. Returns the version of a container that the person has
   * seen.
   */
  readonly byPerson?: ((container: string) => Pick<DecidedCandidate, 'digest'> | undefined) | undefined;
  /** Nothing follows from this order, so its events have the verdicts of a scheduled run. */
  readonly isDryRun?: boolean;
  /** Its registry replaces the registry of `world`. */
  readonly part?: Pick<PartOfRun, 'registry' | 'hold'> | undefined;
};

/** Objects that the engines of a fleet share in one run. */
export type PartOfRun = {
  readonly runId: string;
  /** Answers each question once, so that all engines get the same digest. */
  readonly registry: Registry;
  /** Shared by engines that check and pull; alone while one replaces what may carry their network. */
  readonly network: SharedUse;
  /** Resolves when the other engines of the run have ended. Our own container is replaced after that. */
  readonly beforeSelf: () => Promise<void>;
  /**
   * Holds the newer version of a container back until engines of earlier waves have proven it. Absent: no wave holds it
   * back.
   */
  readonly hold?: HoldForWave;
};

/** Returns the verdict unchanged, or as `held`. `retryFailed`: versions that failed on other engines are not held. */
type HoldForWave = (checked: CheckedContainer, retryFailed: boolean) => CheckedContainer;

/** An order to one engine, with `part` if it belongs to a run of a fleet. */
export type InRun<Order> = Order & { readonly part?: PartOfRun };

/** The same containers, each with the state of its compose files, if these are to be compared. */
export async function withComposeStates(
  { composeFiles }: Pick<ReadOnlyOutside, 'composeFiles'>,
  checked: readonly CheckedContainer[],
  { watched, labelsOf }: { readonly watched: readonly WatchedContainer[]; readonly labelsOf: ImageLabelsOf },
  signal: AbortSignal | undefined,
): Promise<(one: CheckedContainer) => CheckedContainer> {
  if (composeFiles === undefined) return (one) => one;
  const summaries = new Map(
    watched.map(({ container, labelSettings }) => [container.id, { container, labelSettings }]),
  );
  const asked = checked.flatMap((one) => {
    const { container, labelSettings } = summaries.get(one.id) ?? {};
    const identity = isContainer(one) && container ? readComposeIdentity(container.labels) : undefined;
    // One that `compose run` made is not of the service.
    if (container === undefined || identity === undefined || identity.oneOff) return [];
    const { name, labels } = container;
    const isWritten = composeFiles.write !== undefined && labelSettings?.composeFiles !== false;
    const claim = { container: name, labels: isWritten ? labelsInEffect(labels, labelsOf(container)) : {} };
    return [{ one, identity, ...(isWritten && { claim }) }];
  });
  const moves = new Map<string, Map<string, string>>();
  for (const { one, identity } of asked) {
    const ofProject = moves.get(identity.project) ?? new Map<string, string>();
    moves.set(identity.project, ofProject.set(identity.service, one.successorReference));
  }
  const questions = asked.map(({ one, identity, claim }): ComposeQuestion => {
    const isOtherTag = one.candidateKind !== undefined && one.candidateKind !== 'digest';
    const next = isOtherTag ? tryParseImageReference(one.candidate ?? '')?.tag : undefined;
    return {
      id: one.id,
      project: projectOf(identity),
      service: identity.service,
      reference: one.reference,
      ...(next !== undefined && { next }),
      ...(claim && { claim }),
      moves: moves.get(identity.project) ?? new Map(),
    };
  });
  const states = await composeFiles.compare(questions, signal);
  return (one) => {
    const compose = states.get(one.id);
    return compose === undefined ? one : { ...one, compose };
  };
}
