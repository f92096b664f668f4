import { printable, quoted } from '../../domain/text/printable.ts';

/** An error in the user's configuration. */
export type Fault = {
  /** `usage`: the command line itself is wrong. `value`: a value in it, or in a variable, is wrong. */
  readonly kind: 'usage' | 'value';
  /** "Cannot <do what> to <which>: <why>", safe to print. */
  readonly message: string;
};

/** A value that was read, or why it cannot be used. */
export type Read<Value> =
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'fault'; readonly fault: Fault };

/**
 * `source` is the flag or variable of the value. A secret value is not part of the message, and neither is a login in a
 * URL.
 */
export function refusedValue(source: string, text: string, expected: string, secret: boolean): Fault {
  const open = text.includes('@') ? text.replaceAll(login, '***@') : text;
  const shown = secret ? '' : ` ${quoted(open)}`;
  return { kind: 'value', message: `Cannot use ${printable(source, 100)}${shown}: expected ${expected}` };
}

/** `user:password@`, but not the tag of an image before its digest. */
const login = /(?<![^\s,=/:])[^\s,=/:]*:(?!\/\/)\S*@(?!sha256:)/g;

/** Wrong usage exits with 2, a wrong value with 1. */
export function exitCodeOf(faults: readonly Fault[]): 1 | 2 {
  return faults.some(({ kind }) => kind === 'usage') ? 2 : 1;
}
