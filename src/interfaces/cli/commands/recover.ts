import { ServiceError } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { codesOfRecovery, worstCode, type CommandContext } from '../context/context.ts';
import { printDocument, printLines } from '../render/print.ts';
import { recoveryLine } from './recover-first.ts';

/** `upkeep recover`: the recovery of every start as a command. */
export async function recover({ application, settings, terminal, signal }: CommandContext): Promise<number> {
  const { unsealed } = settings.state;
  const report = await application.recover(signal, { unsealed, engines: settings.request.engines });
  const { transactions } = report;
  for (const name of unsealed) {
    if (!transactions.some(({ containers }) => containers.includes(name)))
      throw new ServiceError('not-found', `Cannot repair ${quoted(name)}: no interrupted update names it`, {
        remedy: 'upkeep recover lists the interrupted updates with their names',
      });
  }
  if (settings.output.json) printDocument(terminal, { transactions });
  else if (transactions.length === 0) printLines(terminal.out, ['Nothing to repair.']);
  else
    printLines(
      terminal.out,
      transactions.map((transaction) => recoveryLine(transaction, 'an interrupted update')),
    );
  return worstCode(codesOfRecovery(report));
}
