import { printable, quoted } from '../../domain/text/printable.ts';

/** An error in the user's configuration. */
export type Fault = {
  /** `usage`: the command line itself is wrong; `value`: one of its values, or a variable's, is. */
  readonly kind: 'usage' | 'value';
  /** "Cannot <do what> to <which>: <why>", safe to print. */
  readonly message: string;
};

/** `source` is the flag or variable the value was given with; a secret's value stays out of the message. */
export function refusedValue(source: string, text: string, expected: string, secret: boolean): Fault {
  const shown = secret ? '' : ` ${quoted(text)}`;
  return { kind: 'value', message: `Cannot use ${printable(source, 100)}${shown}: expected ${expected}` };
}

/** Bad usage exits with 2, a bad value with 1. */
export function exitCodeOf(faults: readonly Fault[]): 1 | 2 {
  return faults.some(({ kind }) => kind === 'usage') ? 2 : 1;
}
