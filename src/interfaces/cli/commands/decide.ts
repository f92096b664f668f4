import { shownName } from '../../../domain/run/session.ts';
import type { Decision, DecisionKind } from '../../../domain/decision/decisions.ts';
import { versionCell } from '../context/wording.ts';
import { shortDigest } from '../../../domain/image/image-reference.ts';
import { namePattern } from '../../../domain/text/name-pattern.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { decisionEntry } from '../../json/entries.ts';
import { replyFields } from '../../json/timestamps.ts';
import type { DecisionCandidate, DecisionSource, KeptDecision } from '../context/decision-sources.ts';
import { exitCodes, type ReadCommand } from '../context/context.ts';
import { printDocument, printLines } from '../render/print.ts';

/** `upkeep approve|skip|snooze NAME…`: decides about the new version that each named container waits for. */
export function createDecide(kind: DecisionKind, { candidates, take }: DecisionSource): ReadCommand {
  return async (context) => {
    const { settings, clock, signal } = context;
    const names = namesIn(context);
    const { engines } = settings.request;
    const lastsMs = settings.request.decideForMs ?? (kind === 'snooze' ? usualSnoozeMs : undefined);
    const untilMs = lastsMs === undefined ? undefined : clock.nowMs() + lastsMs;
    const taken: KeptDecision[] = [];
    const problems: string[] = [];
    const { meant, ambiguous } = meantOf(await candidates({ names, engines }, signal), engines);
    for (const { name, engines: several } of ambiguous) problems.push(severalHave(kind, name, several));
    const versions = new Map<string, string>();
    for (const { digest, from, to, ...one } of meant) {
      const fault = `Cannot ${kind} ${quoted(shownName(one))}: `;
      if (digest === undefined) {
        problems.push(`${fault}no newer version of it is known`);
        continue;
      }
      const { name: container, ...engine } = one;
      const answer = await take({ kind, container, ...engine, digest, untilMs, by: 'command line' }, signal);
      if ('fault' in answer) problems.push(`${fault}${answer.fault}`);
      else if (answer.isKept) {
        taken.push(answer);
        versions.set(answer.id, versionCell({ from, to }).text);
      } else problems.push(`${fault}${notKept}`);
    }
    return report(context, taken, problems, { past: pastOf[kind], versions });
  };
}

/** `upkeep unskip NAME…`: withdraws the decisions about the named containers. */
export function createUnskip({ list, withdraw }: DecisionSource): ReadCommand {
  return async (context) => {
    const { settings, signal } = context;
    const names = namesIn(context);
    const { engines } = settings.request;
    const decisions = await list(engines, signal);
    const taken: KeptDecision[] = [];
    const problems: string[] = [];
    const found = names.flatMap((name) => {
      const isMeant = namePattern(name);
      const meant = decisions.filter(({ container }) => isMeant(container));
      if (meant.length === 0) problems.push(`Cannot unskip ${quoted(name)}: ${undecided}`);
      return meant;
    });
    // Several names may mean one container.
    for (const { id, container } of new Set(found)) {
      const same = decisions.filter((one) => one.container === container);
      if (engines.length === 0 && same.length > 1) {
        if (same[0]?.id === id) problems.push(severalHave('unskip', container, same.map(engineOf)));
        continue;
      }
      const ended = await withdraw(id, signal);
      if (ended?.isKept) taken.push(ended);
      else problems.push(`Cannot unskip ${quoted(container)}: ${ended === undefined ? undecided : notKept}`);
    }
    return report(context, taken, problems, { past: withdrawn, versions: new Map() });
  };
}

const withdrawn = 'withdrawn';
const undecided = 'there is no decision about it';
const notKept = 'the decision cannot be stored; the log has the reason';

type Meant = {
  readonly meant: readonly DecisionCandidate[];
  /** Names that mean a container on each of these engines. */
  readonly ambiguous: readonly { readonly name: string; readonly engines: readonly string[] }[];
};

/** All candidates of the engines in `engines`. Without these: the only engine on which a name waits for a version. */
function meantOf(found: readonly DecisionCandidate[], engines: readonly string[]): Meant {
  if (engines.length > 0) return { meant: found, ambiguous: [] };
  const sorted = [...new Set(found.map(({ name }) => name))].map((name) => {
    const same = found.filter((one) => one.name === name);
    const waiting = same.filter(({ digest }) => digest !== undefined);
    return { name, same, waiting, engines: [...new Set(waiting.map(engineOf))] };
  });
  const isOnOne = ({ same }: (typeof sorted)[number]) => new Set(same.map(engineOf)).size === 1;
  return {
    meant: sorted.flatMap((one) => {
      if (isOnOne(one)) return one.same;
      return one.engines.length > 1 ? [] : [...one.waiting, ...one.same].slice(0, 1);
    }),
    ambiguous: sorted.filter((one) => one.engines.length > 1),
  };
}

function engineOf({ engine = '' }: { readonly engine?: string }): string {
  return engine;
}

function severalHave(what: string, name: string, engines: readonly string[]): string {
  return `Cannot ${what} ${quoted(name)}: it is on several engines (${printable(engines.join(', '), 1000)}): name one with --engine`;
}

const usualSnoozeMs = 7 * 86_400_000;

const pastOf: Readonly<Record<DecisionKind, string>> = { approve: 'approved', skip: 'skipped', snooze: 'snoozed' };

type Context = Parameters<ReadCommand>[0];

function namesIn({ settings }: Context): readonly string[] {
  return [...new Set(settings.request.containers)];
}

function report(
  { settings, terminal, clock }: Context,
  taken: readonly KeptDecision[],
  problems: readonly string[],
  told: Told,
): number {
  if (settings.output.json) {
    printDocument(terminal, {
      decisions: taken.map(decisionEntry),
      count: taken.length,
      ...(problems.length > 0 && { errors: problems }),
      ...replyFields(clock.nowMs()),
    });
  } else {
    printLines(
      terminal.out,
      taken.map((decision) => lineOf(decision, told)),
    );
  }
  printLines(
    terminal.err,
    problems.map((problem) => `upkeep: ${problem}`),
  );
  return problems.length > 0 ? exitCodes.failed : exitCodes.done;
}

/** `versions`: the change by the id of its decision, as `upkeep check` shows it. */
type Told = { readonly past: string; readonly versions: ReadonlyMap<string, string> };

function lineOf({ id, container, engine, tag, digest, untilMs }: Decision, { past, versions }: Told): string {
  // A withdrawn decision has no end any more.
  const endsAtMs = past === withdrawn ? undefined : untilMs;
  const known = versions.get(id) ?? '';
  const version = known !== '' ? known : tag === undefined ? shortDigest(digest) : `${tag} (${shortDigest(digest)})`;
  const end = endsAtMs === undefined ? '' : ` until ${new Date(endsAtMs).toISOString().slice(0, 16)}Z`;
  return `${printable(shownName({ name: container, engine }), 300)}: ${past} ${printable(version, 200)}${end}`;
}
