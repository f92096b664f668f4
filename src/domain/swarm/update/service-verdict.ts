import type { FailedVersion } from '../../check/failed-version.ts';
import { type Subject, undecided, type Verdict, verdict } from '../../check/verdict.ts';
import type { FailedServiceVersion } from '../../outside/swarm.ts';
import { parseDigest } from '../../reference/digest.ts';
import { formatPlatform, type Platform } from '../../reference/platform.ts';
import { quoted } from '../../text/printable.ts';
import { isJob } from './refuse-service.ts';
import { digestIn, readServiceImage, type ServiceImage } from '../service-image.ts';
import type { SwarmNode, SwarmService } from '../swarm-service.ts';

const noImage = { image: undefined } as const;

/** The verdict that needs no registry; undefined where one must be asked. */
export function judgeServiceAlone(service: SwarmService): Verdict | undefined {
  const { update } = service;
  const image = readServiceImage(service.image, service.labels);
  if (image.kind === 'unreadable') return undecided(image.reason, noImage);
  const digest = image.digest;
  if (update?.state === 'paused' || update?.state === 'rollback_paused') {
    const what = update.state === 'paused' ? 'its last update' : 'the way back from its last update';
    return { ...verdict('held', `The swarm has paused ${what}: ${update.message}`, noImage), digest, hold: 'failed' };
  }
  return image.kind === 'pinned' ? { ...verdict('pinned', image.reason, noImage), digest } : undefined;
}

/** The platforms that a service's tasks can be on: those of its nodes. */
export function platformsOf(nodes: readonly SwarmNode[]): readonly Platform[] {
  const usable = nodes.filter(({ availability }) => availability !== 'drain');
  const platforms = (usable.length > 0 ? usable : nodes).map(({ platform }) => platform);
  return [...new Map(platforms.map((platform) => [formatPlatform(platform), platform])).values()];
}

/** A service as the registry is asked about it. */
export function subjectOfService(
  image: TaggedImage,
  failures: readonly FailedServiceVersion[],
  settings: Pick<Subject, 'inForce' | 'retryFailed'>,
): Subject {
  return {
    imageId: image.digest ?? '',
    reference: image.reference,
    image: undefined,
    isNamedByLabel: false,
    failedVersions: failures.map(asFailedVersion),
    ...settings,
    // No engine pulls here: whatever is said about this one's images has no effect on those of the nodes.
    inForce: { ...settings.inForce, noPull: false, tagPolicy: { kind: 'digest' } },
  };
}

/** One verdict of those for each platform: a platform that the image is not made for runs no task of it. */
export function joinVerdicts(
  service: SwarmService,
  image: TaggedImage,
  verdicts: readonly Verdict[],
  { failures, retryFailed }: Known,
): Verdict {
  const told = verdicts.filter(({ hold }) => hold !== 'not-found');
  const [first] = told.length > 0 ? told : verdicts;
  if (first === undefined) return undecided('The swarm has no node', noImage);
  const worst = gravest.flatMap((each) => told.find(({ status }) => status === each) ?? [])[0];
  const joined = { ...(worst ?? first), digest: image.digest };
  if (joined.status !== 'stale') return joined;
  if (isJob(service)) {
    return {
      ...joined,
      status: 'held',
      hold: 'other',
      reason: `${joined.reason}, but an update would run the job again`,
    };
  }
  if (!retryFailed && !isRemembered(service, failures) && isTakenBack(service, joined)) {
    const reason = `${joined.reason}, but the swarm has taken its last update back: ${service.update?.message}`;
    return { ...joined, status: 'held', hold: 'failed', reason };
  }
  if (image.digest !== undefined) return joined;
  const reason = `${quoted(image.text)} is not pinned to a digest, so its nodes may run different images`;
  return { ...joined, reason };
}

type Known = {
  /** Of the service. */
  readonly failures: readonly FailedServiceVersion[];
  readonly retryFailed: boolean;
};

/** The version of the last way back is among those that are remembered; a failure is noted after it. */
function isRemembered({ update }: SwarmService, failures: readonly FailedServiceVersion[]): boolean {
  return failures.some(({ atMs }) => atMs + clockSkewMs >= (update?.startedAtMs ?? 0));
}

const clockSkewMs = 60_000;

const gravest: readonly Verdict['status'][] = ['unknown', 'held', 'stale'];

type TaggedImage = Extract<ServiceImage, { kind: 'tagged' }>;

/**
 * For a failure that nobody could note: the swarm has taken its last update back, and the tag points at that version
 * still. It tells which it was only where somebody asked for the way back.
 */
function isTakenBack({ update, previous }: SwarmService, { latestDigest, newest }: Verdict): boolean {
  if (update?.state !== 'rollback_completed') return false;
  if (previous !== undefined) return digestIn(previous.image) === latestDigest;
  return (newest?.createdAtMs ?? 0) < (update.startedAtMs ?? 0);
}

/** An image that a service runs is known by its digest alone. */
function asFailedVersion({ digest, atMs, configId }: FailedServiceVersion): FailedVersion {
  return { tag: configId, imageId: parseDigest(digest) ?? '', nameKey: '', atMs };
}
