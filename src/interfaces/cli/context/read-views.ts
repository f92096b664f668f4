import { isStaleness } from './wording.ts';
import { isJsonObject, type JsonObject } from '../../../domain/text/json.ts';
import type { ConfigView, ContainersView, Finding, NotesView, PastRun } from './context.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';

/** The containers of an answer. Services may be older, newer, or of the Watchtower family, so missing fields are tolerated. */
export function readContainers(document: JsonObject): ContainersView {
  const unfinished = document['unfinished'] === undefined ? [] : listOf(document, 'unfinished');
  const nameIn = (entry: JsonObject) => `${rawTextOf(entry, 'engine')}/${rawTextOf(entry, 'name')}`;
  const held = new Set(unfinished.map(nameIn));
  const containers = listOf(document, 'containers').filter((entry) => !held.has(nameIn(entry)));
  return {
    containers: [...unfinished.map(readUnfinished), ...containers.map(readContainer)],
    unwatched: document['unwatched'] === undefined ? undefined : listOf(document, 'unwatched').map(readNames),
  };
}

function readContainer(entry: JsonObject): ContainersView['containers'][number] {
  const running = entry['running'] === true ? 'running' : 'not running';
  const state = rawTextOf(entry, 'status') || running;
  const health = rawTextOf(entry, 'health');
  return {
    ...readNames(entry),
    ...readVersions(entry),
    state: health === '' || health === 'none' ? state : `${state} (${health})`,
    finding: readFinding(entry),
  };
}

function readUnfinished(entry: JsonObject): ContainersView['containers'][number] {
  const state = entry['state'] === 'repair pending' ? 'repair pending' : 'in progress';
  return { ...readNames(entry), state: '', finding: { kind: 'unfinished', state } };
}

function readFinding(entry: JsonObject): Finding {
  const verdict = rawTextOf(entry, 'verdict');
  if (isStaleness(verdict)) {
    const [hold, eligibleAtMs] = [rawTextOf(entry, 'hold'), Date.parse(rawTextOf(entry, 'eligible_at'))];
    const time = Number.isNaN(eligibleAtMs) ? {} : { eligibleAtMs };
    return { kind: 'checked', status: verdict, ...(hold !== '' && { hold }), ...time };
  }
  if (entry['stale'] === true) return { kind: 'told', status: 'stale' };
  if (entry['update_available'] === true) return { kind: 'told', status: 'held' };
  return typeof entry['checked_at'] === 'string' ? { kind: 'told', status: 'nothing found' } : { kind: 'unchecked' };
}

function readVersions(
  entry: JsonObject,
): Pick<ContainersView['containers'][number], 'version' | 'latestVersion' | 'candidate' | 'releasedAtMs'> {
  const [version, latestVersion] = [rawTextOf(entry, 'version'), rawTextOf(entry, 'latest_version')];
  const candidate = rawTextOf(entry, 'candidate');
  const releasedAtMs = Date.parse(rawTextOf(entry, 'released_at'));
  return {
    ...(version !== '' && { version }),
    ...(latestVersion !== '' && { latestVersion }),
    ...(candidate !== '' && { candidate }),
    ...(!Number.isNaN(releasedAtMs) && { releasedAtMs }),
  };
}

function readNames(entry: JsonObject) {
  return {
    name: rawTextOf(entry, 'name'),
    ...engineOf(entry),
    image: rawTextOf(entry, 'image'),
    reason: rawTextOf(entry, 'reason'),
  };
}

/** The runs of an answer, oldest first. */
export function readHistory(document: JsonObject): readonly PastRun[] {
  return listOf(document, 'entries').map(readRun);
}

/** Whether a user has set an option. An older service says only where its value comes from. */
export function isGiven(option: JsonObject): boolean {
  return option['given'] === undefined ? rawTextOf(option, 'source') !== 'default' : option['given'] === true;
}

/** Services of the Watchtower family send only counts; older ones of Upkeep only the failures. */
function readRun(entry: JsonObject): PastRun {
  const list = ['containers', 'failures'].find((name) => entry[name] !== undefined);
  return {
    endedAt: rawTextOf(entry, 'timestamp'),
    trigger: rawTextOf(entry, 'trigger'),
    by: rawTextOf(entry, 'by'),
    durationMs: typeof entry['duration_ms'] === 'number' ? numberOf(entry, 'duration_ms') : undefined,
    scanned: numberOf(entry, 'scanned'),
    updated: numberOf(entry, 'updated'),
    failed: numberOf(entry, 'failed'),
    containers: list === undefined ? [] : listOf(entry, list).map(readOutcome),
    leftOut: entry['engines'] === undefined ? [] : listOf(entry, 'engines').flatMap(readLeftOut),
  };
}

function readLeftOut(entry: JsonObject): PastRun['leftOut'] {
  const [name, result] = [rawTextOf(entry, 'name'), rawTextOf(entry, 'result')];
  return result === 'ran' ? [] : [{ name, result }];
}

function readOutcome(entry: JsonObject): PastRun['containers'][number] {
  return {
    name: rawTextOf(entry, 'name'),
    ...engineOf(entry),
    outcome: rawTextOf(entry, 'outcome'),
    verdict: rawTextOf(entry, 'verdict'),
    hold: rawTextOf(entry, 'hold'),
    reason: rawTextOf(entry, 'reason'),
    from: rawTextOf(entry, 'from'),
    to: rawTextOf(entry, 'to'),
  };
}

/** Services of the Watchtower family send settings but no list of options. */
export function readConfig(document: JsonObject): ConfigView {
  const { config, options } = document;
  const hasOptions = options !== undefined || !isJsonObject(config);
  const listed = hasOptions
    ? listOf(document, 'options')
    : Object.entries(config).map(([name, value]) => ({ name, value: String(value) }));
  return {
    options: listed.map((option) => ({
      name: rawTextOf(option, 'name'),
      value: rawTextOf(option, 'value'),
      source: rawTextOf(option, 'source'),
      given: isGiven(option),
    })),
    watched: isJsonObject(config) ? rawTextOf(config, 'filter_desc') : '',
  };
}

/** The release notes of an answer with their texts. */
export function readNotes(document: JsonObject): NotesView {
  const notes = isJsonObject(document['notes']) ? document['notes'] : {};
  return {
    container: rawTextOf(document, 'container'),
    version: rawTextOf(document, 'version'),
    latestVersion: rawTextOf(document, 'latest_version'),
    state: rawTextOf(notes, 'state'),
    error: rawTextOf(notes, 'error'),
    url: rawTextOf(notes, 'url'),
    more: numberOf(notes, 'more'),
    releases: listOf(document, 'list').map((release) => ({
      tag: rawTextOf(release, 'tag'),
      publishedAt: rawTextOf(release, 'published_at'),
      breaking: listOf(release, 'breaking').map((hit) => rawTextOf(hit, 'text')),
      points: Array.isArray(release['points']) ? release['points'].filter((point) => typeof point === 'string') : [],
    })),
  };
}

/** Remedy for an answer that is not as the API says. */
export const otherService =
  'See whether the address is that of Upkeep, and update the older one of command and service';

/** The objects of a list in a document. Throws `service-invalid` if there is no such list. */
export function listOf(document: JsonObject, name: string): readonly JsonObject[] {
  const list = document[name];
  if (Array.isArray(list) && list.every(isJsonObject)) return list;
  throw new ServiceError(
    'service-invalid',
    `Cannot read the answer of the service: it holds no list of ${quoted(name)}`,
    { remedy: otherService },
  );
}

/** Text that is safe to print. Empty for a value that is neither text nor number. */
export function textOf(object: JsonObject, name: string, maxLength = 300): string {
  const value = object[name];
  return typeof value === 'string' || typeof value === 'number' ? printable(String(value), maxLength) : '';
}

/** Raw text, at most 10,000 characters, not safe to print. Empty for a value that is neither text nor number. */
export function rawTextOf(object: JsonObject, name: string): string {
  const value = object[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 10_000) : '';
}

/** 0 for a value that is not a number. */
export function numberOf(object: JsonObject, name: string): number {
  const value = object[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** The raw name of the engine; absent with one engine. */
export function engineOf(object: JsonObject): { readonly engine?: string } {
  const engine = rawTextOf(object, 'engine');
  return engine === '' ? {} : { engine };
}
