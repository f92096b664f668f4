import type { Fleet } from './state/fleet/fleet.ts';
import { ended, plural } from './state/words/sentences.ts';
import { objectOf, objectsOf, textOf } from './state/documents/reading.ts';
import type { Ask } from './transport/client.ts';
import { namePattern } from './transport/name-pattern.ts';
import { reasonOf } from './transport/refusal.ts';
import type { Acts, PageContext, UpdateKind } from './view/context.ts';
import { createDecide, type Decide } from './decide.ts';
import { confirmRollBack } from './view/dialogs/roll-back.ts';
import { confirmUpdate } from './view/dialogs/update.ts';
import { notice } from './view/parts/notice.ts';

export type ActParts = {
  readonly ask: Ask;
  readonly fleet: Fleet;
  readonly context: () => PageContext;
  /** Reads everything soon, since something has been done. */
  readonly refresh: () => void;
  /** Paints what was asked for before the service tells of it. */
  readonly onAsked: () => void;
};

const moreOf: Readonly<Record<UpdateKind, string>> = { update: '', retry: '&retry_failed=true', now: '&now=true' };

/** The limit of the API for names in a request: docs/http-api.md. */
const mostNames = 100;
const checkTimeoutMs = 300_000;
const updateTimeoutMs = 120_000;

/** What people can do with containers: it is asked of the API, and what becomes of it comes back as events. */
export function createActs({
  ask,
  fleet,
  context,
  refresh,
  onAsked,
}: ActParts): Pick<Acts, 'update' | 'check' | 'rollBack' | keyof Decide> {
  const decide = createDecide({
    ...{ ask, fleet, context, refresh },
    begin: (name) => {
      fleet.ask([name]);
      onAsked();
      void begin(`v1/update?async=true&now=true&container=${namePattern(name)}`, `Cannot update ${name}`);
    },
  });
  return {
    ...decide,
    update: (names, kind = 'update') => {
      const scope = scopeOf(names, kind);
      if (scope === undefined) return notice(`Select at most ${mostNames} containers.`);
      const more = moreOf[kind];
      void confirmUpdate(context(), {
        names,
        kind,
        ask: async () => {
          const reply = await ask(`v1/update?dry_run=true${more}${scope}`, {
            method: 'POST',
            timeoutMs: updateTimeoutMs,
          });
          return reply.kind === 'ok'
            ? { document: reply.document }
            : { why: `Cannot plan the update: ${reasonOf(reply)}` };
        },
        start: () => {
          context().act.clearPicked();
          fleet.ask(names);
          onAsked();
          void begin(`v1/update?async=true${more}${scope}`, 'Cannot update');
        },
      });
    },
    check: (names) => void check(names),
    rollBack: (name) => {
      const one = fleet.named(name);
      if (one === undefined) return;
      confirmRollBack(one, () => {
        fleet.ask([name]);
        onAsked();
        void begin(`v1/rollback?container=${namePattern(name)}&async=true`, `Cannot roll back ${name}`);
      });
    },
  };

  /** Undefined: there are too many names, and they are not simply all that are ready. */
  function scopeOf(names: readonly string[], kind: UpdateKind): string | undefined {
    if (names.length <= mostNames) return names.map((name) => `&container=${namePattern(name)}`).join('');
    const ready = fleet.all().filter(({ verdict }) => verdict === 'stale');
    const wanted = new Set(names);
    return kind === 'update' && ready.every(({ name }) => wanted.has(name)) ? '' : undefined;
  }

  async function begin(path: string, what: string): Promise<void> {
    const reply = await ask(path, { method: 'POST', timeoutMs: updateTimeoutMs });
    if (reply.kind !== 'ok') notice(ended(`${what}: ${reasonOf(reply)}`));
    refresh();
  }

  async function check(names: readonly string[]): Promise<void> {
    if (names.length > mostNames) return notice(`Select at most ${mostNames} containers.`);
    const [first = ''] = names;
    const what = names.length === 0 ? 'all containers' : names.length === 1 ? first : plural(names.length, 'container');
    notice(`Checking ${what}…`);
    const scope = names.map((name) => `container=${namePattern(name)}`).join('&');
    const reply = await ask(`v1/check?${scope}`, { method: 'POST', timeoutMs: checkTimeoutMs });
    notice(reply.kind === 'ok' ? checkedWords(reply.document) : ended(`Cannot check ${what}: ${reasonOf(reply)}`));
    refresh();
  }
}

function checkedWords(document: unknown): string {
  const containers = objectsOf(objectOf(document)['containers']);
  const found = containers.filter(({ status }) => status === 'stale').length;
  const unknown = containers.filter(({ status }) => status === 'unknown');
  const [only] = unknown;
  const parts = [found === 0 ? 'nothing to update' : `${plural(found, 'update')} ready`];
  if (containers.length === 1 && only !== undefined)
    return ended(`Could not be checked: ${textOf(only['error']) || textOf(only['reason'])}`);
  if (unknown.length > 0) parts.push(`${unknown.length} could not be checked`);
  return ended(`Checked: ${parts.join(', ')}`);
}
