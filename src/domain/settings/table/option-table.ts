import type { DeclaredOption, ServiceOption } from './option.ts';

/** Options as they are written down, without the parts that their table shares, and without the usual parts. */
export type OptionParts<Each extends DeclaredOption, Shared extends keyof Each> = Readonly<
  Record<string, Parts<Each, Shared | 'default' | 'example'>>
>;

/** The options of a table of the domain. */
export type ServiceOptionParts = OptionParts<ServiceOption, 'group' | 'usedBy'>;

type Parts<Each, Optional extends keyof Each> = Each extends DeclaredOption
  ? Omit<Each, Optional> & Partial<Pick<Each, Optional>>
  : never;

/**
 * Completes the options of a table with the parts that they share, and with the usual parts: the variable of the flag's
 * name, no value by default, `true` as the example of a boolean. An option's own parts take precedence.
 */
export function optionTable<
  const Shared extends object,
  Table extends Readonly<Record<string, Pick<DeclaredOption, 'kind' | 'flag'>>>,
>(shared: Shared, table: Table): Completed<Shared, Table> {
  const entries = Object.entries(table).map(([key, option]) => [key, { ...usualParts(option), ...shared, ...option }]);
  // The same keys, each with its own entry and the other parts.
  return Object.fromEntries(entries) as Completed<Shared, Table>;
}

type Completed<Shared, Table> = {
  readonly [Key in keyof Table]: Omit<Shared & UsualParts<Table[Key]>, keyof Table[Key]> & Table[Key];
};

type UsualParts<Each> = Each extends { readonly kind: 'boolean' }
  ? { readonly default: false; readonly example: 'true' }
  : Each extends { readonly kind: 'list' }
    ? { readonly default: readonly [] }
    : Each extends { readonly kind: 'text' | 'integer' | 'duration' }
      ? { readonly default: undefined }
      : unknown;

function usualParts({ kind, flag }: Pick<DeclaredOption, 'kind' | 'flag'>) {
  const env = flag === undefined ? {} : { env: [flag.toUpperCase().replaceAll('-', '_')] };
  if (kind === 'boolean') return { ...env, default: false, example: 'true' };
  return { ...env, default: kind === 'list' ? [] : undefined };
}
