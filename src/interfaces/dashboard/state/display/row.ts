import { isDown, type UpdateProgress } from '../containers/container-store.ts';
import type { WatchedContainer } from '../documents/container.ts';
import { when, age, preciseDuration } from '../words.ts';
import { describeState, type DescribedState } from './describe-state.ts';

/** The content of a row that changes with time and events. */
export type RowContent = {
  readonly described: DescribedState;
  /** Undefined without an update under way. Services have no steps. */
  readonly steps: StepsShown | undefined;
  readonly runs: { readonly state: string; readonly isBad: boolean; readonly since: string };
  readonly checked: { readonly text: string; readonly title: string };
};

export type StepsShown = Pick<UpdateProgress, 'phase' | 'percent' | 'failedIn'>;

export function rowContent(one: WatchedContainer, update: UpdateProgress | undefined, nowMs: number): RowContent {
  return {
    described: describeState(one, update, nowMs),
    steps:
      update === undefined || update.phase === 'waiting' || one.isService
        ? undefined
        : { phase: update.phase, percent: update.percent, failedIn: update.failedIn },
    runs: runsOf(one, nowMs),
    checked: checkedOf(one, nowMs),
  };
}

function runsOf({ status, health, startedAtMs }: WatchedContainer, nowMs: number): RowContent['runs'] {
  if (status !== 'running') return { state: stateWords[status] ?? status, isBad: status !== '', since: '' };
  const since = startedAtMs === undefined ? '' : `, ${age(nowMs - startedAtMs)}`;
  if (health === 'unhealthy') return { state: 'unhealthy', isBad: true, since };
  return { state: health === 'none' || health === '' ? 'running' : health, isBad: false, since };
}

const stateWords: Readonly<Record<string, string>> = { exited: 'stopped', '': '–' };

function checkedOf({ checkedAtMs }: WatchedContainer, nowMs: number): RowContent['checked'] {
  if (checkedAtMs === undefined) return { text: '–', title: 'Not checked yet' };
  return { text: age(nowMs - checkedAtMs), title: `Checked ${when(checkedAtMs, nowMs)}` };
}

/** `down 1.2 s` while it is down, `was down 1.2 s` afterwards. Undefined if it was not stopped. */
export function downWords(
  update: UpdateProgress,
  nowMs: number,
): { readonly text: string; readonly isDown: boolean } | undefined {
  const { stoppedAtMs, downMs } = update;
  if (stoppedAtMs !== undefined && isDown(update))
    return { text: `down ${preciseDuration(Math.max(0, nowMs - stoppedAtMs))}`, isDown: true };
  return downMs === undefined ? undefined : { text: `was down ${preciseDuration(downMs)}`, isDown: false };
}

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
function shortDigest(digest: string): string {
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
