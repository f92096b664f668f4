import { versionOf } from '../../domain/container/image-version.ts';
import { type ImageIndex, labelsOfImage } from '../../domain/container/image-index.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { shortDigest } from '../../domain/reference/digest.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import type { CheckReport } from '../check/check.ts';
import type { CheckedContainer } from '../check/checked-container.ts';

/** Adds the versions that the check has named to an outcome. */
export function withCheckedVersions(
  outcome: ContainerOutcome,
  checked: CheckedContainer | undefined,
): ContainerOutcome {
  if (checked === undefined) return outcome;
  const { version, latestVersion, latestDigest, pullDigest, updateAvailable, kind } = checked;
  const isEarlier = pullDigest !== undefined && pullDigest !== latestDigest;
  const next = updateAvailable ? (isEarlier ? shortDigest(pullDigest) : latestVersion) : undefined;
  const to = outcome.outcome === 'restarted' ? version : next;
  const versions = { ...(version !== undefined && { from: version }), ...(to !== undefined && { to }) };
  return { ...outcome, ...versions, ...(kind !== undefined && { kind }) };
}

/** The same outside, but published outcomes get the versions of the check. */
export function namingVersions(outside: Outside, { containers }: Pick<CheckReport, 'containers'>): Outside {
  const byId = new Map(containers.map((container) => [container.id, container]));
  return {
    ...outside,
    publish: (event) => {
      if (!('outcome' in event)) return outside.publish(event);
      const outcome = withCheckedVersions(event.outcome, byId.get(event.outcome.containerId ?? ''));
      outside.publish({ ...event, outcome });
    },
  };
}

/** Adds the versions of its images to an outcome, if the engine has the images. */
export function withImageVersions(outcome: ContainerOutcome, images: ImageIndex): ContainerOutcome {
  const { image, oldImageId, newImageId } = outcome;
  const name = (id: string) => versionOf({ labels: labelsOfImage(images.byId(id)), image, digest: id });
  const [from, to] = [name(oldImageId), name(newImageId)];
  return { ...outcome, ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}
