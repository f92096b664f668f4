import type { DeclaredOption, OptionParts as TableParts } from '../../domain/settings/table/option.ts';
import type { CommandName } from './commands.ts';
import { withoutSecretParts } from '../../domain/text/hidden-secrets.ts';
import { printable, quoted } from '../../domain/text/printable.ts';
import { printValue } from '../../domain/settings/values/label-values.ts';
import { formatDuration } from '../../domain/text/duration.ts';

/** An option, and the commands that take it. */
export type Option = DeclaredOption & { readonly commands: readonly CommandName[] };

/** The options of a table. */
export type OptionParts = TableParts<Option, 'group' | 'commands'>;

/** `config` accepts the options of `run`, because it shows their effect. */
export function takesOption(command: CommandName, option: Option): boolean {
  return option.commands.includes(command) || (command === 'config' && option.commands.includes('run'));
}

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
 * `source` is the flag or variable of the value. A secret value is not part of the message, and neither are the secret
 * parts of other values.
 */
export function refusedValue(source: string, text: string, expected: string, secret: boolean): Fault {
  const shown = secret ? '' : ` ${quoted(withoutSecretParts(text))}`;
  return { kind: 'value', message: `Cannot use ${printable(source, 100)}${shown}: expected ${expected}` };
}

/** 2, but 1 for a service that cannot start because of a value. */
export function exitCodeOf(faults: readonly Fault[], isService: boolean): 1 | 2 {
  return !isService || faults.some(({ kind }) => kind === 'usage') ? 2 : 1;
}

/** `-t, --stop-timeout DURATION`; empty for an option that only a variable sets. */
export function flagText(option: Option): string {
  if (option.flag === undefined) return '';
  const short = option.short === undefined ? '' : `-${option.short}, `;
  const value = option.kind === 'boolean' ? '' : ` ${placeholderOf(option)}`;
  return `${short}--${option.flag}${value}`;
}

/** The default in the notation of the user. */
export function defaultText(option: Option): string {
  if (option.defaultMeaning !== undefined) return option.defaultMeaning;
  switch (option.kind) {
    case 'duration':
      return option.default === 0 ? 'none' : formatDuration(option.default ?? 0);
    case 'list':
      return option.default.length === 0 ? 'none' : option.default.join(',');
    case 'parsed':
      return printValue(option.value, option.default);
    case 'boolean':
    case 'choice':
    case 'integer':
    case 'text':
      return String(option.default ?? 'none');
  }
}

function placeholderOf(option: Option): string {
  if (option.placeholder !== undefined) return option.placeholder;
  switch (option.kind) {
    case 'duration':
      return 'DURATION';
    case 'integer':
      return 'N';
    case 'choice':
      return option.choices.join('|');
    case 'list':
      return 'ITEM,…';
    case 'boolean':
    case 'parsed':
    case 'text':
      return 'TEXT';
  }
}
