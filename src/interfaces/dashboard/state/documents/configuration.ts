import { objectOf, objectsOf, textOf } from './reading.ts';

/** An option of `GET /v1/config`. */
export type ShownOption = {
  readonly name: string;
  readonly value: string;
  readonly source: string;
  /** Whether a user has set it. */
  readonly given: boolean;
  readonly meaning: string;
};

export function readOptions(document: unknown): readonly ShownOption[] {
  return objectsOf(objectOf(document)['options']).map(({ name, value, source, given, meaning }) => ({
    name: textOf(name),
    value: textOf(value),
    source: textOf(source) || 'default',
    given: typeof given === 'boolean' ? given : !['', 'default'].includes(textOf(source)),
    meaning: textOf(meaning),
  }));
}
