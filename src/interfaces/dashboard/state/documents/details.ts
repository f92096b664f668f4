import { changes, type Verdict, verdicts, type WatchedContainer } from './container.ts';
import type { Decision } from './decisions.ts';
import { readOutcome } from './history.ts';
import {
  type Json,
  linkOf,
  nameIn,
  numberOf,
  objectOf,
  objectsOf,
  oneOf,
  textOf,
  textsOf,
  timeOf,
  uniqueName,
} from './reading.ts';
import type { EngineAway } from './status.ts';

/** The containers of `GET /v1/containers/details`, with those that have an interrupted update. */
export function readDetails(document: unknown): readonly WatchedContainer[] {
  const { containers, unfinished } = objectOf(document);
  const byName = new Map(objectsOf(containers).map((entry) => [nameIn(entry), afterFailure(readEntry(entry))]));
  for (const entry of objectsOf(unfinished)) {
    const { name, engine, image, state, reason, down } = entry;
    const known = byName.get(nameIn(entry)) ?? readEntry({ name, engine, image, status: '' });
    const kind = oneOf(['in progress', 'repair pending'], state) ?? 'repair pending';
    const status = down === true ? 'exited' : known.status;
    byName.set(known.name, {
      ...known,
      status,
      unfinished: kind,
      isLeftDown: down === true,
      reason: textOf(reason) || known.reason,
    });
  }
  byName.delete('');
  return [...byName.values()];
}

/** Adds to each container the decision about its candidate. Decisions about older versions no longer apply. */
export function withDecisions(
  containers: readonly WatchedContainer[],
  decisions: readonly Decision[],
): readonly WatchedContainer[] {
  if (decisions.length === 0) return containers;
  const byName = new Map(decisions.map((decision) => [decision.container, decision]));
  return containers.map((one) => {
    // A decision is about a name, whatever has it.
    const decision = byName.get(uniqueName(one.ownName, one.engine, undefined));
    return decision === undefined || decision.digest !== one.candidateDigest ? one : { ...one, decision };
  });
}

/** Marks the containers of unreachable engines as outdated. */
export function withEnginesAway(
  containers: readonly WatchedContainer[],
  unreachable: readonly EngineAway[],
): readonly WatchedContainer[] {
  if (unreachable.length === 0) return containers;
  const names = new Set(unreachable.map(({ name }) => name));
  return containers.map((one) => (names.has(one.engine) ? { ...one, isAway: true } : one));
}

/** A version whose update failed after the last check is shown as failed, not as a ready update. */
function afterFailure(one: WatchedContainer): WatchedContainer {
  const { verdict, last, checkedAtMs = 0, latestVersion } = one;
  if (verdict !== 'stale' || last?.atMs === undefined || last.atMs < checkedAtMs) return one;
  const isFailure = last.outcome === 'rolled_back' || last.outcome === 'failed';
  return isFailure && last.to === latestVersion ? { ...one, verdict: 'held', hold: 'failed' } : one;
}

function readEntry(entry: Json): WatchedContainer {
  const { last } = entry;
  const engine = textOf(entry['engine']);
  return {
    name: nameIn(entry),
    ownName: textOf(entry['name']),
    image: textOf(entry['image']),
    project: textOf(entry['project']),
    engine,
    isService: entry['kind'] === 'service',
    isAway: false,
    id: textOf(entry['id']),
    digest: textOf(entry['digest']),
    ...readVerdict(entry),
    decision: undefined,
    status: textOf(entry['status']),
    health: textOf(entry['health']),
    startedAtMs: timeOf(entry['started_at']),
    checkedAtMs: timeOf(entry['checked_at']),
    releasedAtMs: timeOf(entry['released_at']),
    downloadBytes: numberOf(entry['download_bytes']),
    sourceUrl: linkOf(entry['source_url']),
    dependsOn: textsOf(entry['depends_on']).map((name) => uniqueName(name, engine, entry['kind'])),
    settings: objectsOf(entry['settings']).map(({ name, value, source }) => ({
      name: textOf(name),
      value: textOf(value),
      source: textOf(source),
    })),
    last: typeof last === 'object' && last !== null ? readOutcome(objectOf(last)) : undefined,
    canRollBack: entry['can_roll_back'] === true,
    composeNote: textOf(objectOf(entry['compose'])['note']),
    self: entry['self'] === true,
    unfinished: undefined,
    isLeftDown: false,
  };
}

/** The verdict in an entry of the list, or in a `container_checked` event. */
export function readVerdict(entry: Json) {
  return {
    verdict: verdictIn(entry),
    hold: textOf(entry['hold']),
    reason: textOf(entry['reason']),
    eligibleAtMs: timeOf(entry['eligible_at']),
    retryAtMs: timeOf(entry['retry_at']),
    version: textOf(entry['version']),
    latestVersion: entry['update_available'] === false ? '' : textOf(entry['latest_version']),
    change: oneOf(changes, entry['change']),
    latestDigest: textOf(entry['latest_digest']),
    candidate: textOf(entry['candidate_kind']) === 'digest' ? '' : textOf(entry['candidate']),
    candidateDigest: textOf(entry['candidate_digest']) || textOf(entry['latest_digest']),
  };
}

/** Undefined before the first check. An unknown value becomes `unknown`, because it is not a success. */
function verdictIn({ verdict }: Json): Verdict | undefined {
  return textOf(verdict) === '' ? undefined : (oneOf(verdicts, verdict) ?? 'unknown');
}
