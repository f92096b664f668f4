import { printable } from '../../domain/printable.ts';
import type { RecoveryReport } from './application-types.ts';
import type { CommandContext } from './context.ts';

/** Before anything new is begun, what an interrupted update left is finished or undone; the log tells what was found. */
export async function recoverFirst({ application, log, signal }: CommandContext): Promise<void> {
  const { transactions } = await application.recover(signal);
  tellRecovered(log, transactions, 'an interrupted update');
}

/** One line for each, which says what became of it. */
export function tellRecovered(
  log: CommandContext['log'],
  transactions: RecoveryReport['transactions'],
  what: string,
): void {
  for (const { containers, result, reason } of transactions) {
    const { level, verb } = tellings[result];
    const which = containers.map((name) => printable(name, 300)).join(', ');
    const why = reason === '' ? '' : `: ${printable(reason, 1000)}`;
    log[level](`${verb} ${what} of ${which}${why}`, { containers, result });
  }
}

type Result = RecoveryReport['transactions'][number]['result'];

const tellings: Readonly<Record<Result, { readonly level: 'info' | 'warn' | 'error'; readonly verb: string }>> = {
  finished: { level: 'info', verb: 'Finished' },
  undone: { level: 'info', verb: 'Undid' },
  left: { level: 'warn', verb: 'Left alone' },
  failed: { level: 'error', verb: 'Cannot repair' },
};
