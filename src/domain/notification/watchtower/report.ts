import { familiarReference, tryParseImageReference } from '../../image/image-reference.ts';
import type { ContainerOutcome } from '../../run/session.ts';
import { shortId } from '../../container/container.ts';
import { telltaleLines } from '../../text/hidden-secrets.ts';
import { formatDuration } from '../../text/duration.ts';
import type { RunFacts } from '../run-facts.ts';
import { Moment, zeroUnixMs } from '../template/time/moment.ts';
import { Struct, type Value } from '../template/values/value.ts';
import { type Category, categoryOf, isCooling, latestOf } from './category.ts';

/** `.Report` of a template, and its JSON form. */
export type Report = { readonly item: Struct; readonly json: Value; readonly failed: number };

/** The time of a run, and the zone in which its times are shown. */
export type RunTime = { readonly startedAtMs: number; readonly timeZone: string };

/** The family's report of a run: lists of containers by state, in listing order. */
export function reportOf(
  { containers, purpose, startedAtMs }: Pick<RunFacts, 'containers' | 'purpose' | 'startedAtMs'>,
  timeZone: string,
): Report {
  const at = { startedAtMs, timeZone };
  const all = containers.map((outcome) => {
    const category = categoryOf(outcome, purpose);
    return { category, item: containerItem(outcome, category, at) };
  });
  const of = (...categories: Category[]) =>
    all.filter(({ category }) => categories.includes(category)).map(({ item }) => item);
  const lists = {
    Scanned: of('Updated', 'Restarted', 'Failed', 'Fresh', 'Stale'),
    Updated: of('Updated'),
    Failed: of('Failed'),
    Skipped: of('Skipped'),
    Stale: of('Stale'),
    Fresh: of('Fresh'),
    Restarted: of('Restarted'),
  };
  const json = new Map<string, Value>(Object.entries(lists).map(([name, list]) => [name.toLowerCase(), list]));
  const items = all.map(({ item }) => item);
  const porcelain = new Struct('porcelain report', { containers: items.map(({ forms }) => forms.porcelain) });
  const counts = `${lists.Scanned.length} scanned, ${lists.Updated.length} updated, ${lists.Failed.length} failed`;
  const item = new Struct('report', { ...lists, All: items }, { json, porcelain, text: counts });
  return { item, json, failed: lists.Failed.length };
}

function containerItem(outcome: ContainerOutcome, category: Category, at: RunTime): Struct {
  const { name, oldImageId, containerId = '', newContainerId = '' } = outcome;
  const reason = reasonWithLog(outcome);
  const isWell = category === 'Updated' || category === 'Restarted' || category === 'Fresh' || category === 'Stale';
  const [error, latest, imageName] = [isWell ? '' : reason, latestOf(outcome) || oldImageId, imageNameOf(outcome)];
  const fields = {
    Name: name,
    ImageName: imageName,
    State: category,
    Error: error,
    ID: containerId,
    CurrentImageID: oldImageId,
    LatestImageID: latest,
    NewContainerID: newContainerId,
    IsMonitorOnly: category === 'Stale',
    ...cooldownFields(outcome, at),
  };
  const failure = error === '' ? {} : { error };
  const json = {
    currentImageId: shortId(oldImageId),
    id: shortId(containerId),
    imageName,
    latestImageId: shortId(latest),
    name,
    state: category,
    ...failure,
  };
  const porcelain = {
    name,
    image: imageName,
    image_id: shortId(oldImageId),
    latest_image_id: shortId(latest),
    state: category,
    update_available: oldImageId !== latest,
    ...failure,
  };
  return new Struct('container', fields, {
    text: name,
    json: new Map(Object.entries(json)),
    porcelain: new Struct('container', porcelain),
  });
}

/** The reason, with the lines of the log that explain it. */
export function reasonWithLog({ reason, log = '' }: ContainerOutcome): string {
  return [reason, ...telltaleLines(log)].join(': ');
}

/** The fields of a container in a template. Without a cooldown they are empty, and the time is Go's zero time. */
export function cooldownFields(container: ContainerOutcome, { startedAtMs, timeZone }: RunTime) {
  if (container.cooldown === undefined) return noCooldown;
  const { ageMs, delayMs } = container.cooldown;
  const remainsMs = delayMs - ageMs;
  return {
    CooldownAge: formatAge(ageMs),
    CooldownDelay: formatDuration(delayMs),
    CooldownRemaining: isCooling(container) ? formatAge(remainsMs) : '',
    CooldownPassed: !isCooling(container),
    CooldownEligibleAt: new Moment(startedAtMs + remainsMs, timeZone),
  };
}

const noCooldown = {
  CooldownAge: '',
  CooldownDelay: '',
  CooldownRemaining: '',
  CooldownPassed: false,
  CooldownEligibleAt: new Moment(zeroUnixMs, 'UTC'),
};

/** In minutes, or in seconds below one minute. */
function formatAge(ms: number): string {
  const unit = ms < 60_000 ? 1000 : 60_000;
  return formatDuration(Math.floor(ms / unit) * unit);
}

function imageNameOf({ image }: ContainerOutcome): string {
  const reference = tryParseImageReference(image);
  return reference === undefined ? image : familiarReference(reference);
}
