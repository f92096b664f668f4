const verdict = {
  unknown: 'could not be checked',
  stale: 'update ready',
  held: 'held back',
  pinned: 'pinned to a digest',
  local: 'built here',
  fresh: 'up to date',
} as const;

const unchecked = 'not checked yet';

/** Why a newer version is held back, or why nothing is known. */
const hold = {
  failed: 'failed; back on the old version',
  'failed-elsewhere': 'failed in another container',
  'went-back': 'went back',
  approval: 'waits for your approval',
  notes: 'waits for its release notes',
  cooldown: 'too young',
  window: 'its window opens',
  wave: 'waits for other engines',
  skipped: 'skipped',
  snoozed: 'snoozed',
  unsigned: 'not signed',
  unreadable: 'decisions cannot be read',
  'monitor-only': 'monitored only',
  'own-way': 'updated only by hand',
  'not-replaceable': 'not replaced by an update',
  'no-pull': 'no registry is asked',
  'rate-limited': 'the registry limits requests',
  unreachable: 'the registry cannot be reached',
  unauthorised: 'the registry refuses access',
  'not-found': 'the registry has no such image',
  other: 'the check failed',
} as const;

/** The results of a run for a container. `back on` and a version may follow `failed`. */
const outcome = {
  failed: 'update failed',
  rolled_back: 'failed and was rolled back',
  unknown: verdict.unknown,
  deferred: 'deferred',
  updated: 'updated',
  went_back: hold['went-back'],
  restarted: 'restarted',
  skipped: 'not updated',
  fresh: verdict.fresh,
} as const;

const unfinished = { 'repair pending': 'repair pending', 'in progress': 'being updated' } as const;

const phase = {
  waiting: 'waits for its turn',
  pulling: 'pulling',
  preparing: 'creating',
  stopping: 'stopping',
  'saving data': 'copying data',
  starting: 'starting',
  'checking health': 'checking health',
  committing: 'finishing',
  'rolling back': 'rolling back',
  'restoring data': 'restoring data',
} as const;

/**
 * The word of each state, for page, terminal, API descriptions and messages: one word for one thing. `docs/words.md`
 * explains each, and a test compares the two. A word may be followed by a version, a time or a reason.
 */
export const words = {
  verdict,
  unchecked,
  hold,
  outcome,
  unfinished,
  phase,
  backOn,
  result,
  waits,
  counted,
  listed,
} as const;

/** The word for a failed version in a container that runs another one: `failed; back on 1.32.5`. */
function backOn(version: string | undefined): string {
  return version === undefined || version === '' ? hold.failed : `failed; back on ${version}`;
}

/** The word for an outcome, with the version that the container is back on where it is known. */
function result(kind: keyof typeof outcome, { from = '', to = '' }: { readonly from?: string; readonly to?: string }) {
  if (kind === 'rolled_back' && from !== '') return backOn(from);
  return kind === 'went_back' && to !== '' ? `${outcome[kind]} to ${to}` : outcome[kind];
}

/** The word for a check with a kind of reason: `too young`, `went back to 1.32.5`. `version` is the one that runs. */
function waits(status: keyof typeof verdict, because: string | undefined, version = ''): string {
  if (status === 'unknown') return because === 'no-pull' ? hold['no-pull'] : verdict.unknown;
  if (status !== 'held' || because === undefined || !isHold(because)) return verdict[status];
  if (because === 'failed') return backOn(version);
  return because === 'went-back' && version !== '' ? `${hold[because]} to ${version}` : hold[because];
}

function isHold(text: string): text is keyof typeof hold {
  return Object.hasOwn(hold, text);
}

/** `2 updates ready`, `3 up to date` */
function counted(count: number, word: string): string {
  const [first = '', ...rest] = word.split(' ');
  return first === 'update' && count !== 1 ? `${count} updates ${rest.join(' ')}` : `${count} ${word}`;
}

/** A table of words as a part of a description: `fresh: up to date; stale: update ready`. */
function listed(words: Readonly<Record<string, string>>): string {
  return Object.entries(words)
    .map(([value, word]) => `${value}: ${word}`)
    .join('; ');
}

/** A clause with a capital letter, unless it begins with a name, such as `v1.2`, `registry.test` or `web:`. */
export function sentence(clause: string): string {
  const [first = ''] = clause;
  return isName.test(clause) ? clause : first.toUpperCase() + clause.slice(first.length);
}

/** No word of a sentence has one of these signs within it, or a colon behind it. */
const isName = /^[^\s,;]*(?:[\d/\\@_+]|[.:][^\s,;.]|:(?:\s|$))/;
