import type { WatchedContainer } from '../documents/container.ts';

/** Old and new version of a row. `to` is empty without a newer version. */
export function versionsOf(one: WatchedContainer): { readonly from: string; readonly to: string } {
  const from = one.version || shortDigest(one.digest);
  const to = one.latestVersion || (hasNewer(one) ? shortDigest(one.latestDigest) : '');
  return { from, to: to === from ? '' : to };
}

/** Whether a newer image is known, held back or not. */
export function hasNewer(one: WatchedContainer): boolean {
  if (one.verdict !== 'stale' && one.verdict !== 'held') return false;
  return one.latestVersion !== '' || (one.latestDigest !== '' && one.latestDigest !== one.digest);
}

/** The newer version for use in a sentence. */
export function newVersionOf({ latestVersion }: WatchedContainer): string {
  return latestVersion || 'the new version';
}

/** Whether an update would replace it now. */
export function isReady(one: WatchedContainer | undefined): boolean {
  return one?.verdict === 'stale' && !one.isAway;
}

/** Eight digits, without the algorithm. */
export function shortDigest(digest: string): string {
  return digest.replace(/^[a-z0-9]+:/, '').slice(0, 8);
}

/** Without the registry's host and the digest. The drawer shows both. */
export function shortImage(image: string): string {
  return image.replace(/@.*/, '').replace(/^[^/]*[.:][^/]*\//, '');
}

/** The image by digest, for `docker pull`; empty if it is in no registry, or is named by its id only. */
export function pullReference({ image, digest, latestDigest }: WatchedContainer): string {
  const wanted = latestDigest || digest;
  if (wanted === '' || /^(?:sha256:)?[\da-f]{12,64}$/.test(image)) return '';
  const repository = image.replace(/@.*/, '').replace(/:[^:/]*$/, '');
  return `${repository}@${wanted}`;
}
