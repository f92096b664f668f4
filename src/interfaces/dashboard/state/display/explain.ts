import type { UpdateProgress } from '../containers/container-store.ts';
import type { WatchedContainer } from '../documents/container.ts';
import { when, age, withNoBreakSpaces, preciseDuration, duration, capitalized, withPeriod } from '../words.ts';
import type { DescribedState } from './describe-state.ts';

/** The paragraphs below the state in the drawer: the reason, and the next step. */
export function explain(
  one: WatchedContainer,
  described: DescribedState,
  { update, nextRunAtMs, canDecide, nowMs }: Circumstances,
): readonly string[] {
  if (update !== undefined) return [one.isService ? serviceUnderWay(update) : underWay[update.phase]];
  const reason = withNoBreakSpaces(withPeriod(capitalized(one.reason)));
  switch (described.icon) {
    case 'back':
      return one.hold === 'went-back' ? wentBack(one, nowMs) : rolledBack(one, nowMs);
    case 'fail':
      return [
        withPeriod(described.why ?? ''),
        one.hold === 'failed' ? 'Look at it by hand, then try again.' : 'The service tries to repair it every minute.',
      ];
    case 'unknown':
      return [reason, ...again(one, nowMs), 'Nothing is known to be wrong with the container.'];
    case 'ask':
      return one.holdBecause === undefined
        ? ['This container needs your approval for this version.', ...(canDecide ? [] : [reason])]
        : [reason];
    case 'up':
      return [
        ...decided(one, nowMs),
        nextRunAtMs === undefined
          ? 'No run is scheduled: it waits for you.'
          : `The next run applies it ${when(nextRunAtMs, nowMs)}.`,
      ];
    case 'pin':
      return ['Its image is named by digest, so it stays as it is. Name a tag to have it updated.'];
    case 'home':
      return ['Its image was built on this engine. No registry has it.'];
    case 'skip':
      return [...decided(one, nowMs, reason), 'The next version is offered again.'];
    case 'snooze':
      return [...decided(one, nowMs, reason), 'It is offered again then; a newer version at once.'];
    case 'lock':
      return one.hold === 'unsigned' ? [reason, 'It is not applied before it is signed.'] : [reason];
    case 'eye':
      if (one.hold === 'no-pull') return ['No registry is asked about its image.'];
      return one.hold === 'monitor-only' ? ['Newer images are reported, and never applied on their own.'] : [reason];
    case 'clock':
      if (described.group === 'unchecked') return ['Nothing is known about newer images yet.'];
      return one.hold === 'window' && one.eligibleAtMs !== undefined
        ? ['No update begins outside of its window. It is updated when that opens.']
        : [reason];
    case 'run':
      return [reason];
    case 'check':
      return [
        one.checkedAtMs === undefined
          ? 'Runs the newest image of its tag.'
          : `Runs the newest image of its tag. Checked ${age(nowMs - one.checkedAtMs)} ago.`,
        ...remarked(one.reason),
      ];
  }
}

/** The rest of the check's reason, as about higher versions. */
function remarked(reason: string): readonly string[] {
  const at = reason.indexOf('; ');
  return at === -1 ? [] : [withNoBreakSpaces(withPeriod(capitalized(reason.slice(at + 2))))];
}

export type Circumstances = {
  readonly update: UpdateProgress | undefined;
  readonly nextRunAtMs: number | undefined;
  /** Whether the page can make decisions. */
  readonly canDecide: boolean;
  readonly nowMs: number;
};

/**
 * The durations of the steps of an update that has failed, by name of the phase.
 */
export function failedTimesOf({ hold, last }: WatchedContainer): Readonly<Record<string, number>> | undefined {
  const hasFailed = hold === 'failed' && last !== undefined;
  return hasFailed && Object.keys(last.phasesMs).length > 0 ? last.phasesMs : undefined;
}

const stays = 'If the new container does not come up healthy, the old one comes back.';

/** The words are about containers, because in a rollback the new one has the older version. */
const underWay = {
  waiting: 'It runs as before until its turn has come.',
  pulling: 'The old container keeps running until the new one is ready.',
  preparing: 'The old container keeps running until the new one is ready.',
  stopping: stays,
  'saving data': stays,
  starting: stays,
  'checking health': stays,
  committing: 'The new container is healthy.',
  'rolling back': 'The new container failed. The old one is coming back.',
  'restoring data': 'The new container failed. The data of the old one is coming back.',
} as const;

function serviceUnderWay({ phase }: UpdateProgress): string {
  if (phase === 'waiting') return underWay.waiting;
  if (phase === 'rolling back') return 'The new version failed. Its tasks are replaced by those of the version before.';
  return 'Swarm replaces its tasks. The update has ended when all run the new version and stay well.';
}

const pastOf = { approve: 'Approved', skip: 'Skipped', snooze: 'Snoozed' } as const;

/** The person and time of a decision, or `otherwise` if the page has no access to it. */
function decided({ decision }: WatchedContainer, nowMs: number, otherwise = ''): readonly string[] {
  if (decision === undefined) return otherwise === '' ? [] : [otherwise];
  const at = decision.atMs === undefined ? '' : ` ${when(decision.atMs, nowMs)}`;
  return [`${pastOf[decision.kind]}${at} (${decision.by}).`];
}

function rolledBack({ last, latestVersion, reason }: WatchedContainer, nowMs: number): readonly string[] {
  if (last === undefined) return [withNoBreakSpaces(withPeriod(capitalized(reason)))];
  const to = last.to || latestVersion;
  const at = last.atMs === undefined ? 'Lately' : capitalized(when(last.atMs, nowMs));
  const story = `${at}: ${to || 'the new version'} was started. ${withPeriod(capitalized(last.reason))} The old container is back.`;
  const down = last.downtimeMs === undefined ? '' : `It was down for ${preciseDuration(last.downtimeMs)}. `;
  return [
    withNoBreakSpaces(story),
    `${down}${to || 'The new version'} is not tried again on its own; a newer version is.`,
  ];
}

/** The paragraphs about a version that a person has rolled back. */
function wentBack({ latestVersion, last, reason }: WatchedContainer, nowMs: number): readonly string[] {
  const again = `${latestVersion || 'The newer version'} is not applied again on its own; a newer one is.`;
  if (last?.outcome !== 'went_back') return [withNoBreakSpaces(withPeriod(capitalized(reason)))];
  const at = last.atMs === undefined ? 'Lately' : capitalized(when(last.atMs, nowMs));
  return [
    `${at}: went back from ${last.from || latestVersion} to ${last.to || 'the version before'}, on request.`,
    again,
  ];
}

function again({ retryAtMs }: WatchedContainer, nowMs: number): readonly string[] {
  if (retryAtMs === undefined) return ['Upkeep tries again later.'];
  return [retryAtMs <= nowMs ? 'The next check tries again.' : `The next try is in ${duration(retryAtMs - nowMs)}.`];
}
