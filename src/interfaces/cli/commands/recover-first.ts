import { shownName } from '../../../domain/run/session.ts';
import { describeWithRemedy, type ErrorCode, ServiceError } from '../../../domain/text/errors.ts';
import { printable } from '../../../domain/text/printable.ts';
import { codesOfRecovery, type RecoveryReport, type CommandContext, type ResultCode } from '../context/context.ts';

/** Finishes or undoes interrupted updates before a new one, and logs them. Returns their part of the exit code. */
export async function recoverFirst({ application, log, signal }: CommandContext): Promise<readonly ResultCode[]> {
  const report = await application.recover(signal);
  logRecovered(log, report.transactions, 'an interrupted update');
  return codesOfRecovery(report);
}

/**
 * Recovers once the engine answers, and waits without a deadline. Meanwhile `/readyz` shows the reason, which a process
 * in a restart loop could not do.
 */
export async function recoverWhenReachable(context: CommandContext): Promise<readonly ResultCode[]> {
  const { clock, log, signal } = context;
  let reported = '';
  while (!signal.aborted) {
    try {
      return await recoverFirst(context);
    } catch (error) {
      if (signal.aborted) return [];
      if (!isUnreachable(error)) throw error;
      const why = describeWithRemedy(error);
      // The message is short, so that a line of 160 columns has room for the reason.
      if (why !== reported) log.warn('Waiting for the container engine', { error: why });
      reported = why;
      await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }
  return [];
}

const retryMs = 2000;

/** Includes an engine that cannot list its containers: another start would not help. */
const unreachable: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'engine-refused', 'timeout'];

function isUnreachable(error: unknown): boolean {
  return error instanceof ServiceError && unreachable.includes(error.code);
}

/** One line for each, with its result. */
export function logRecovered(
  log: CommandContext['log'],
  transactions: RecoveryReport['transactions'],
  what: string,
): void {
  for (const transaction of transactions) {
    const { containers, result } = transaction;
    log[wordingOf(transaction).level](recoveryLine(transaction, what), { containers, result });
  }
}

export function recoveryLine(transaction: Transaction, what: string): string {
  const { containers, engine, reason, looksAlike } = transaction;
  const which = containers.map((name) => printable(shownName({ name, engine }), 300)).join(', ');
  const why = reason === '' ? '' : `: ${printable(reason, 1000)}`;
  return `${wordingOf(transaction).verb} ${looksAlike ? '' : `${what} of `}${which}${why}`;
}

type Transaction = RecoveryReport['transactions'][number];

function wordingOf({ result, isUnderWay }: Transaction): Wording {
  return isUnderWay === true ? { level: 'info', verb: 'Still repairing' } : resultWordings[result];
}

type Wording = { readonly level: 'info' | 'warn' | 'error'; readonly verb: string };

const resultWordings: Readonly<Record<Transaction['result'], Wording>> = {
  finished: { level: 'info', verb: 'Finished' },
  undone: { level: 'info', verb: 'Undid' },
  left: { level: 'warn', verb: 'Left alone' },
  failed: { level: 'error', verb: 'Cannot repair' },
  solved: { level: 'info', verb: 'Nothing left to repair in' },
};
