import { ServiceError } from '../../../domain/text/errors.ts';
import { nearest } from '../../../domain/text/name-pattern.ts';
import { quoted } from '../../../domain/text/printable.ts';

/**
 * The named engines in configured order; all engines if no name is given. Throws `invalid-input` for an unknown name.
 */
export function chooseEngines<Each extends { readonly name: string }>(
  all: readonly Each[],
  names: readonly string[] = [],
): readonly Each[] {
  if (names.length === 0) return all;
  const known = all.map(({ name }) => name);
  const strange = names.filter((name) => !known.includes(name));
  if (strange.length > 0) {
    const [first = ''] = strange;
    const near = nearest(first, known, 1);
    throw new ServiceError(
      'invalid-input',
      `Cannot work on ${strange.map((name) => quoted(name)).join(', ')}: ${why}`,
      {
        remedy:
          near === undefined
            ? `the engines are ${known.slice(0, mostNames).join(', ')}${known.length > mostNames ? ' and others' : ''}`
            : `did you mean ${quoted(near)}?`,
      },
    );
  }
  return all.filter(({ name }) => names.includes(name));
}

const why = 'no engine has this name';
const mostNames = 10;
