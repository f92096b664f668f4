import { Moment, zeroUnixMs, formatMoment } from './template/time.ts';
import { Struct, type Value } from './template/values.ts';
import { familiarReference, tryParseImageReference } from '../image/image-reference.ts';
import { entryKeyOf, type ContainerOutcome } from '../run/session.ts';
import { shortId } from '../container/container.ts';
import { telltaleLines } from '../text/hidden-secrets.ts';
import { formatDuration } from '../text/duration.ts';
import type { RunFacts, StartFacts } from './run-facts.ts';
import type { MessageLevel } from './message.ts';

type DataParts = {
  readonly title: string;
  readonly host: string;
  readonly entries: readonly Entry[];
  /** Undefined at the start and in log mode. */
  readonly report: Report | undefined;
  /** An IANA name. */
  readonly timeZone: string;
};

/**
 * The root of a template in report mode: `.Title`, `.Host`, `.Entries`, `.Report`. A range over it iterates over its
 * entries.
 */
export function reportRoot(parts: DataParts): Struct {
  const { title, host, report } = parts;
  const entries = parts.entries.map((entry) => entryItem(entry, parts.timeZone));
  const json = new Map<string, Value>([
    ['entries', entries.map(entryJson)],
    ['host', host],
    ['report', report === undefined ? null : report.json],
    ['title', title],
  ]);
  return root(parts, entries, { json, elements: entries, text: title });
}

/** The root in log mode: a list of the entries, with the fields of `reportRoot`. */
export function logRoot(parts: DataParts): Struct {
  const entries = parts.entries.map((entry) => entryItem(entry, parts.timeZone));
  return root({ ...parts, report: undefined }, entries, { json: entries, elements: entries, isList: true });
}

function root({ title, host, report }: DataParts, entries: readonly Struct[], forms: Struct['forms']): Struct {
  const statics = { Title: title, Host: host };
  const fields = {
    ...statics,
    StaticData: new Struct('StaticData', statics),
    Entries: entries,
    Report: report?.item ?? null,
  };
  return new Struct('message', fields, forms);
}

/** The fields in the order of the family's JSON in log mode. */
function entryItem({ message, level, data, atMs }: Entry, timeZone: string): Struct {
  const values = Object.entries(data).map(([key, value]): [string, Value] => [
    key,
    typeof value === 'number' ? BigInt(Math.trunc(value)) : value,
  ]);
  const Time = new Moment(atMs, timeZone);
  const fields = { Message: message, Data: new Map(values), Time, Level: level === 'warn' ? 'warning' : level };
  return new Struct('log entry', fields, { text: message });
}

function entryJson({ fields }: Struct): Value {
  return new Map<string, Value>([
    ['data', fields.get('Data')],
    ['level', fields.get('Level')],
    ['message', fields.get('Message')],
    ['time', fields.get('Time')],
  ]);
}

/** `.Report` of a template, and its JSON form. */
export type Report = { readonly item: Struct; readonly json: Value; readonly failed: number };

/** The time of a run, and the zone in which its times are shown. */
type RunTime = { readonly startedAtMs: number; readonly timeZone: string };

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

/** Of a newer version; without any, all are empty. */
function notesItem(notes: ContainerOutcome['notes']): Struct {
  const lines = notes?.lines ?? [];
  return new Struct('notes', {
    Summary: lines.map(({ text }) => text),
    Breaking: lines.some(({ isBreaking }) => isBreaking),
    URL: notes?.url ?? '',
  });
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
    Notes: notesItem(outcome.notes),
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
function reasonWithLog({ reason, log = '' }: ContainerOutcome): string {
  return [reason, ...telltaleLines(log)].join(': ');
}

/** The fields of a container in a template. Without a cooldown they are empty, and the time is Go's zero time. */
function cooldownFields(container: ContainerOutcome, { startedAtMs, timeZone }: RunTime) {
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

/** One element of `.Entries` in templates of the Watchtower family. */
export type Entry = {
  readonly message: string;
  readonly level: MessageLevel;
  /** Keys and values of the family's log lines, which users' templates read. */
  readonly data: Readonly<Record<string, string | number>>;
  readonly atMs: number;
};

/** The log lines of the family for a run, in order, with a line for each skipped or failed container. */
export function entriesOf(facts: RunFacts, timeZone: string): readonly Entry[] {
  const at = { startedAtMs: facts.startedAtMs, timeZone };
  const entries = facts.containers.flatMap((container) =>
    [
      cooldownEntry(container, categoryOf(container, facts.purpose), at) ?? [],
      entriesOfContainer(container, facts),
    ].flat(),
  );
  for (const { imageId, imageName, containerName, atMs } of facts.removedImages) {
    const data = { image_id: shortId(imageId), image_name: imageName, container_name: containerName };
    entries.push({ message: 'Removing image', level: 'info', data, atMs });
  }
  if (facts.error !== undefined) {
    const data = { error: facts.error };
    entries.push({ message: 'Update session failed', level: 'error', data, atMs: facts.endedAtMs });
  }
  return withoutRepeats(entries.toSorted((one, other) => one.atMs - other.atMs));
}

/** The family's line about the cooldown of an updated, failed or waiting container. */
function cooldownEntry(container: ContainerOutcome, category: Category, at: RunTime): Entry | undefined {
  const { image, cooldown } = container;
  if (cooldown === undefined || (category !== 'Updated' && category !== 'Failed' && !isCooling(container)))
    return undefined;
  const { CooldownAge, CooldownDelay, CooldownRemaining, CooldownEligibleAt } = cooldownFields(container, at);
  const about = { image, cooldown: CooldownDelay, image_age: CooldownAge };
  const line = { level: 'info', atMs: at.startedAtMs } as const;
  if (!isCooling(container)) return { ...line, message: oldEnough, data: about };
  const eligible_at = formatMoment(CooldownEligibleAt, '2006-01-02T15:04:05Z07:00');
  const data = { ...about, eligible_in: CooldownRemaining, eligible_at };
  return { ...line, message: tooYoung, data };
}

function entriesOfContainer(container: ContainerOutcome, facts: RunFacts): Entry[] {
  const { name, image } = container;
  const reason = reasonWithLog(container);
  const { began, ended } = timesOf(container, facts);
  const id = shortId(container.containerId ?? '');
  const old = { container: name, ...(id !== '' && { id }) };
  const newId = shortId(container.newContainerId ?? '');
  const successor = { ...old, ...(newId !== '' && { new_id: newId }) };
  const info = (message: string, data: Entry['data'], atMs: number): Entry => ({ message, level: 'info', data, atMs });
  const found = () =>
    info('Found new image', { container: name, image, new_id: shortId(latestOf(container)) }, facts.startedAtMs);
  switch (categoryOf(container, facts.purpose)) {
    case 'Updated':
      return [found(), info('Stopping container', old, began), info('Started new container', successor, ended)];
    case 'Restarted':
      return [info('Stopping linked container', old, began), info('Started linked container', successor, ended)];
    case 'Stale':
      return [found()];
    case 'Failed':
      return [
        {
          message: 'Updated container state to failed',
          level: 'error',
          data: { ...(id !== '' && { container_id: id }), name, error: reason },
          atMs: ended,
        },
      ];
    case 'Skipped':
      // The cooldown has its own line.
      if (isCooling(container)) return [];
      return [
        { message: 'Skipped container', level: 'warn', data: { container: name, image, error: reason }, atMs: ended },
      ];
    case 'Fresh':
      return [];
  }
}

function timesOf(
  container: ContainerOutcome,
  { steps, startedAtMs, endedAtMs }: RunFacts,
): { began: number; ended: number } {
  const key = entryKeyOf(container);
  const at = (kind: 'started' | 'ended') => steps.find((step) => step.kind === kind && step.key === key)?.atMs;
  return { began: at('started') ?? startedAtMs, ended: at('ended') ?? endedAtMs };
}

/** The family reports an image of several containers once. */
function withoutRepeats(entries: readonly Entry[]): readonly Entry[] {
  const seen = new Set<string>();
  return entries.filter(({ message, data }) => {
    const names = sameBy.get(message);
    if (names === undefined) return true;
    const key = [message, ...names.map((name) => data[name])].join(' ');
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

const tooYoung = 'Image is within cooldown period - not eligible for update';
const oldEnough = 'Image age exceeds cooldown - eligible for update';

const sameBy: ReadonlyMap<string, readonly string[]> = new Map([
  ['Found new image', ['image', 'new_id']],
  ['Removing image', ['image_id']],
  [tooYoung, ['image']],
  [oldEnough, ['image']],
]);

/** The lines of the startup message. */
export function startEntries(facts: StartFacts, timeZone: string): readonly Entry[] {
  const { version, engineApiVersion, services, scope, atMs } = facts;
  const engine = engineApiVersion === '' ? '' : ` using Docker API v${engineApiVersion}`;
  const entries: Entry[] = [
    line(`Upkeep v${version}${engine}`, atMs),
    line(services.length === 0 ? 'Using no notifications' : `Using notifications: ${services.join(', ')}`, atMs),
  ];
  if (scope !== '') entries.push({ ...line('Only checking containers in scope', atMs), data: { scope } });
  return [...entries, ...scheduleLines(facts, timeZone).map((text) => line(text, atMs))];
}

function line(message: string, atMs: number): Entry {
  return { message, level: 'info', data: {}, atMs };
}

function scheduleLines(
  { runOnce, updateOnStart, servesApi, nextRunAtMs, atMs }: StartFacts,
  timeZone: string,
): string[] {
  if (runOnce) return ['Running a one time update'];
  const lines: string[] = [];
  if (updateOnStart) lines.push('Update on startup enabled: Performing immediate check');
  if (servesApi) {
    lines.push(
      nextRunAtMs === undefined
        ? 'HTTP API enabled and periodic updates disabled'
        : 'HTTP API and periodic updates enabled',
    );
  }
  if (nextRunAtMs !== undefined) {
    const when = formatMoment(new Moment(nextRunAtMs, timeZone), '2006-01-02 15:04:05 MST');
    lines.push(`Next scheduled run: ${when} in ${formatLongDuration(nextRunAtMs - atMs)}`);
  }
  return lines;
}

const units: readonly (readonly [string, number])[] = [
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** `23 hours, 59 minutes, 1 second`: zero units are omitted. */
export function formatLongDuration(ms: number): string {
  let rest = Math.max(0, Math.floor(ms / 1000));
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const count = Math.floor(rest / size);
    rest %= size;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
  }
  return parts.length === 0 ? '0 seconds' : parts.join(', ');
}

/** A state in the family's report. The report has none for a rollback or a deferred update. */
type Category = 'Updated' | 'Restarted' | 'Failed' | 'Fresh' | 'Stale' | 'Skipped';

/** `Stale`: a newer version exists, but a setting holds it back. */
function categoryOf(container: ContainerOutcome, purpose: RunFacts['purpose']): Category {
  switch (container.outcome) {
    case 'updated':
    case 'went_back':
      return 'Updated';
    case 'restarted':
      return 'Restarted';
    case 'fresh':
      return 'Fresh';
    case 'failed':
    case 'rolled_back':
      return 'Failed';
    case 'unknown':
      return 'Skipped';
    case 'skipped':
    case 'deferred':
      if (isCooling(container)) return 'Skipped';
      return purpose === 'check' || isAvailable(container) ? 'Stale' : 'Skipped';
  }
}

/** Its newer image is too young. The family counts it as skipped. */
function isCooling({ cooldown }: ContainerOutcome): boolean {
  return cooldown !== undefined && cooldown.ageMs < cooldown.delayMs;
}

/** For a container that was not changed: the check found another digest. */
function isAvailable({ oldImageId, newImageId, oldDigest, newDigest }: ContainerOutcome): boolean {
  return newImageId === oldImageId && newDigest !== '' && newDigest !== oldDigest;
}

/** The newer image: its id, or its digest if the engine does not have it. */
function latestOf({ oldImageId, newImageId, newDigest }: ContainerOutcome): string {
  return newImageId === '' || newImageId === oldImageId ? newDigest || newImageId : newImageId;
}
