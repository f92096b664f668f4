import type { RecoveredTransaction } from '../run/event.ts';
import { printable } from '../text/printable.ts';
import type { MessageLevel } from './message.ts';

/** `left` only occurs while the update still needs attention. */
export const repairLevels: Readonly<Record<RecoveredTransaction['result'], MessageLevel>> = {
  finished: 'info',
  undone: 'warn',
  left: 'warn',
  failed: 'error',
  // As severe as `left`, so that it reaches its readers.
  solved: 'warn',
};

const verbs: Readonly<Record<RecoveredTransaction['result'], string>> = {
  finished: 'Finished',
  undone: 'Undid',
  left: 'Left alone',
  failed: 'Cannot repair',
  solved: 'Nothing to repair any more in',
};

/** `Finished the update of web: the update had been interrupted`. */
export function repairSentence({ containers, kind, result, reason }: RecoveredTransaction): string {
  const names = containers.map((name) => printable(name, 200)).join(', ');
  return `${verbs[result]} the update of ${kind === 'service' ? 'the service ' : ''}${names}${reason === '' ? '' : `: ${printable(reason, 600)}`}`;
}
