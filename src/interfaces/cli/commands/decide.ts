import type { Decision, DecisionKind } from '../../../domain/decision/decision.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { shortDigest } from '../../../domain/reference/digest.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';
import { decisionEntry } from '../../json/decision.ts';
import { toWholeSeconds } from '../../json/timestamps.ts';
import type { DecisionSource, KeptDecision } from '../context/decision-source.ts';
import { exitCodes, type LookFunction } from '../context/context.ts';
import { printDocument, printLines } from '../render/print.ts';

/** `upkeep approve|skip|snooze NAME…`: decides about the new version that each named container waits for. */
export function createDecide(kind: DecisionKind, { candidates, take }: DecisionSource): LookFunction {
  return async (context) => {
    const { settings, clock, signal } = context;
    const names = namesIn(context, kind);
    const lastsMs = settings.request.decideForMs ?? (kind === 'snooze' ? usualSnoozeMs : undefined);
    const untilMs = lastsMs === undefined ? undefined : clock.nowMs() + lastsMs;
    const found = await candidates(names, signal);
    const taken: KeptDecision[] = [];
    const problems: string[] = [];
    for (const { name, digest } of found) {
      const fault = `Cannot ${kind} ${quoted(name)}: `;
      if (digest === undefined) {
        problems.push(`${fault}no newer version of it is known`);
        continue;
      }
      const answer = await take({ kind, container: name, digest, untilMs, by: 'command line' }, signal);
      if ('fault' in answer) problems.push(`${fault}${answer.fault}`);
      else if (answer.isKept) taken.push(answer);
      else problems.push(`${fault}it cannot be kept, as the log says`);
    }
    return report(context, taken, problems, pastOf[kind]);
  };
}

/** `upkeep unskip NAME…`: takes back what was decided about them. */
export function createUnskip({ list, withdraw }: DecisionSource): LookFunction {
  return async (context) => {
    const { signal } = context;
    const names = namesIn(context, 'unskip');
    const decisions = await list(signal);
    const taken: KeptDecision[] = [];
    const problems: string[] = [];
    for (const name of names) {
      const decision = decisions.find(({ container }) => container === name);
      const ended = decision && (await withdraw(decision.id, signal));
      if (ended === undefined) problems.push(`Cannot unskip ${quoted(name)}: nothing has been decided about it`);
      else if (ended.isKept) taken.push(ended);
      else problems.push(`Cannot unskip ${quoted(name)}: it cannot be kept, as the log says`);
    }
    return report(context, taken, problems, 'taken back');
  };
}

const usualSnoozeMs = 7 * 86_400_000;

const pastOf: Readonly<Record<DecisionKind, string>> = { approve: 'approved', skip: 'skipped', snooze: 'snoozed' };

type Context = Parameters<LookFunction>[0];

function namesIn({ settings }: Context, what: string): readonly string[] {
  const { containers } = settings.request;
  if (containers.length > 0) return containers;
  throw new ServiceError('invalid-input', `Cannot ${what}: no container is named`, {
    remedy: `name those that are meant: upkeep ${what} web; "upkeep check" lists what waits`,
  });
}

function report(
  { settings, terminal, clock }: Context,
  taken: readonly KeptDecision[],
  problems: readonly string[],
  past: string,
): number {
  if (settings.output.json) {
    printDocument(terminal, {
      decisions: taken.map(decisionEntry),
      count: taken.length,
      ...(problems.length > 0 && { errors: problems }),
      timestamp: toWholeSeconds(clock.nowMs()),
      api_version: 'v1',
    });
  } else {
    printLines(
      terminal.out,
      taken.map((decision) => lineOf(decision, past)),
    );
  }
  printLines(
    terminal.err,
    problems.map((problem) => `upkeep: ${problem}`),
  );
  return problems.length > 0 ? exitCodes.failed : exitCodes.done;
}

function lineOf({ container, tag, digest, untilMs }: Decision, past: string): string {
  const version = tag === undefined ? shortDigest(digest) : `${tag} (${shortDigest(digest)})`;
  const end = untilMs === undefined ? '' : ` until ${new Date(untilMs).toISOString().slice(0, 16)}Z`;
  return `${printable(container, 300)}: ${past} ${printable(version, 200)}${end}`;
}
