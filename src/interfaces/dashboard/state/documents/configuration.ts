import { objectOf, objectsOf, textOf } from './reading.ts';

/** An option of `GET /v1/config`. */
export type ShownOption = {
  readonly name: string;
  readonly value: string;
  readonly source: string;
  readonly meaning: string;
};

export function readOptions(document: unknown): readonly ShownOption[] {
  return objectsOf(objectOf(document)['options']).map(({ name, value, source, meaning }) => ({
    name: textOf(name),
    value: textOf(value),
    source: textOf(source) || 'default',
    meaning: textOf(meaning),
  }));
}
