import { isStaleness } from '../words/wording.ts';
import { isJsonObject, type JsonObject } from '../../../domain/text/json.ts';
import { engineOf, listOf, numberOf, rawTextOf } from './fields.ts';
import type { ConfigView, ContainersView, ContainerView, Finding, PastOutcome, PastRun } from './views.ts';

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

function readContainer(entry: JsonObject): ContainerView {
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

function readUnfinished(entry: JsonObject): ContainerView {
  const state = entry['state'] === 'repair pending' ? 'repair pending' : 'in progress';
  return { ...readNames(entry), state: '', finding: { kind: 'unfinished', state } };
}

function readFinding(entry: JsonObject): Finding {
  const verdict = rawTextOf(entry, 'verdict');
  if (isStaleness(verdict)) return { kind: 'checked', status: verdict };
  if (entry['stale'] === true) return { kind: 'told', status: 'stale' };
  if (entry['update_available'] === true) return { kind: 'told', status: 'held' };
  return typeof entry['checked_at'] === 'string' ? { kind: 'told', status: 'nothing found' } : { kind: 'unchecked' };
}

function readVersions(
  entry: JsonObject,
): Pick<ContainerView, 'version' | 'latestVersion' | 'candidate' | 'releasedAtMs'> {
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

function readOutcome(entry: JsonObject): PastOutcome {
  return {
    name: rawTextOf(entry, 'name'),
    ...engineOf(entry),
    outcome: rawTextOf(entry, 'outcome'),
    verdict: rawTextOf(entry, 'verdict'),
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
