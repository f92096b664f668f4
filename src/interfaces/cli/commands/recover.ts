import { ServiceError } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { codesOfRecovery, worstCode, type CommandContext } from '../context/context.ts';
import { printDocument, printLines } from '../render/print.ts';
import { recoveryLine } from './recover-first.ts';

/** `upkeep recover`: the recovery of every start as a command. */
export async function recover({ application, settings, terminal, signal }: CommandContext): Promise<number> {
  const { unsealed } = settings.state;
  const { engines, containers: names } = settings.request;
  const choice = dataChoiceOf(settings.request);
  const dataChoice = choice && { names, choice };
  const report = await application.recover(signal, { unsealed, engines, ...(dataChoice && { dataChoice }) });
  const { transactions } = report;
  for (const name of [...unsealed, ...names]) {
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

function dataChoiceOf({
  keepNew,
  withoutData,
  containers,
}: CommandContext['settings']['request']): 'keep-new' | 'without-data' | undefined {
  if (!keepNew && !withoutData) return undefined;
  const refuse = (why: string, remedy: string) =>
    new ServiceError('invalid-input', `Cannot use ${keepNew ? '--keep-new' : '--without-data'}: ${why}`, { remedy });
  if (keepNew && withoutData) throw refuse('--without-data is its opposite', 'give one of them');
  if (containers.length === 0)
    throw refuse('no container is named', 'name those whose data cannot be put back: upkeep recover web --keep-new');
  return keepNew ? 'keep-new' : 'without-data';
}
