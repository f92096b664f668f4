import type { DeclaredOption } from './option.ts';

/**
 * An option about the check and update of containers, and the work that it affects. `check`: each check. `selection`:
 * also a list of the watched containers. `replacement`: also a rollback and a repair.
 */
export type Rule = DeclaredOption & { readonly usedBy: 'check' | 'selection' | 'update' | 'replacement' };

/** A table of such options; the key of each is the name of its value in `ServiceSettings`. */
export type Rules = Readonly<Record<string, Rule>>;
