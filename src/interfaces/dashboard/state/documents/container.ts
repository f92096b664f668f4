import { readOutcome, type PastOutcome } from './history.ts';
import {
  nameIn,
  objectOf,
  objectsOf,
  oneOf,
  textOf,
  timeOf,
  linkOf,
  countOf,
  numberOf,
  textsOf,
  uniqueName,
  type Json,
} from './reading.ts';
import type { EngineAway } from './status.ts';

/** A watched container from `GET /v1/containers/details`. Empty texts and absent values are unknown. */
export type WatchedContainer = {
  /** Unique among all containers: `uniqueName`. */
  readonly name: string;
  /** Its name within its engine. */
  readonly ownName: string;
  readonly image: string;
  readonly project: string;
  /** Name of its engine; empty with one engine. */
  readonly engine: string;
  /** A service of a swarm. Updates replace its tasks. */
  readonly isService: boolean;
  /** Whether its engine is unreachable. All its data is outdated then. */
  readonly isAway: boolean;
  readonly id: string;
  readonly digest: string;
  readonly latestDigest: string;
  /** Reference of the newer image if it has another tag, else empty. */
  readonly candidate: string;
  /** Digest of the version that an update would apply. Decisions name it. */
  readonly candidateDigest: string;
  /** A person's decision about that version. Undefined: none, or the page has no access to decisions. */
  readonly decision: Decision | undefined;
  readonly version: string;
  readonly latestVersion: string;
  readonly change: Change | undefined;
  readonly status: string;
  readonly health: string;
  readonly startedAtMs: number | undefined;
  readonly checkedAtMs: number | undefined;
  /** Undefined before the first check. */
  readonly verdict: Verdict | undefined;
  /** Kind of reason why a newer image waits, or why the check failed. */
  readonly hold: string;
  /** With the hold `approval`: what the release notes have to do with it. */
  readonly holdBecause: 'breaking' | 'unread' | undefined;
  /** The release notes of the newer version. Undefined: there is none, or the service knows no notes. */
  readonly notes: NotesInShort | undefined;
  /** A sentence without a final period. It is shown, but not interpreted. */
  readonly reason: string;
  readonly eligibleAtMs: number | undefined;
  readonly retryAtMs: number | undefined;
  readonly releasedAtMs: number | undefined;
  readonly downloadBytes: number | undefined;
  readonly sourceUrl: string;
  /** Unique names. */
  readonly dependsOn: readonly string[];
  /** Settings changed by labels of this container. */
  readonly settings: readonly OwnSetting[];
  /** The newest outcome other than "nothing new". */
  readonly last: PastOutcome | undefined;
  readonly canRollBack: boolean;
  /** How its image stands in its compose file, as a sentence; empty if it is the same, or not known. */
  readonly composeNote: string;
  /** Whether Upkeep runs in it. */
  readonly self: boolean;
  /** The state of its interrupted update, if there is one. */
  readonly unfinished: 'in progress' | 'repair pending' | undefined;
  /** An interrupted update has left neither its old nor its new container running. */
  readonly isLeftDown: boolean;
};

export type NotesInShort = {
  readonly state: 'found' | 'none' | 'no-source' | 'unread' | 'off' | undefined;
  readonly releases: number;
  readonly more: number;
  readonly isBreaking: boolean;
  readonly needsAttention: boolean;
  readonly summary: readonly string[];
  readonly leftOut: number;
  /** Empty without one. */
  readonly url: string;
  readonly error: string;
  readonly readAtMs: number | undefined;
};

const verdicts = ['fresh', 'stale', 'held', 'pinned', 'local', 'unknown'] as const;
type Verdict = (typeof verdicts)[number];

/** `build`: the same version in a newer image. */
const changes = ['major', 'minor', 'patch', 'build'] as const;
type Change = (typeof changes)[number];

type OwnSetting = { readonly name: string; readonly value: string; readonly source: string };

/** A person's decision about one new version of one container, from `GET /v1/decisions`. */
export type Decision = {
  readonly id: string;
  readonly kind: DecisionKind;
  /** The name of its container, after the name of its engine. */
  readonly container: string;
  /** The new version. */
  readonly digest: string;
  readonly by: string;
  readonly atMs: number | undefined;
  /** Undefined: it ends with its version. */
  readonly untilMs: number | undefined;
};

const decisionKinds = ['approve', 'skip', 'snooze'] as const;
export type DecisionKind = (typeof decisionKinds)[number];

/** One decision; undefined for any other document. */
export function readDecision(document: unknown): Decision | undefined {
  const entry = objectOf(document);
  const kind = oneOf(decisionKinds, entry['decision']);
  if (kind === undefined || textOf(entry['id']) === '') return undefined;
  return {
    id: textOf(entry['id']),
    kind,
    container: nameIn(entry),
    digest: textOf(entry['digest']),
    by: textOf(entry['by']),
    atMs: timeOf(entry['at']),
    untilMs: timeOf(entry['until']),
  };
}

/** The decisions in effect. Unknown kinds are omitted. */
export function readDecisions(document: unknown): readonly Decision[] {
  return objectsOf(objectOf(document)['decisions']).flatMap((entry) => readDecision(entry) ?? []);
}

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
    notes: entry['notes'] === undefined ? undefined : readNotes(objectOf(entry['notes'])),
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

function readNotes(notes: Json): NotesInShort {
  return {
    state: oneOf(['found', 'none', 'no-source', 'unread', 'off'], notes['state']),
    releases: countOf(notes['releases']),
    more: countOf(notes['more']),
    isBreaking: notes['breaking'] === true,
    needsAttention: notes['attention'] === true,
    summary: textsOf(notes['summary']),
    leftOut: countOf(notes['left_out']),
    url: linkOf(notes['url']),
    error: textOf(notes['error']),
    readAtMs: timeOf(notes['read_at']),
  };
}

/** The verdict in an entry of the list, or in a `container_checked` event. */
export function readVerdict(entry: Json) {
  return {
    verdict: verdictIn(entry),
    hold: textOf(entry['hold']),
    holdBecause: oneOf(['breaking', 'unread'], entry['hold_because']),
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
