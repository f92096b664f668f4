import type { Moment } from '../time/moment.ts';

/**
 * A value in a template. `undefined` is Go's missing value, printed `<no value>`, and `null` its nil. A bigint is an
 * int of 64 bits, a number a float64. A template cannot reach anything else of JavaScript: no prototypes, no functions.
 */
export type Value =
  | undefined
  | null
  | boolean
  | string
  | bigint
  | number
  | Moment
  | NamedInt
  | Struct
  | List
  | Dictionary;

export type List = readonly Value[];

/** A Go map with string keys. */
export type Dictionary = ReadonlyMap<string, Value>;

/** An int with a name, such as a month. */
export class NamedInt {
  readonly value: bigint;
  readonly text: string;
  constructor(value: bigint, text: string) {
    this.value = value;
    this.text = text;
  }
}

/** A Go struct: named fields, and the forms of the whole. */
export class Struct {
  /** For error messages. */
  readonly typeName: string;
  /** In Go's order, which is also the order in its JSON. */
  readonly fields: Dictionary;
  readonly forms: ItemForms;
  constructor(typeName: string, fields: Readonly<Record<string, Value>>, forms: ItemForms = {}) {
    this.typeName = typeName;
    this.fields = new Map(Object.entries(fields));
    this.forms = forms;
  }
}

export type ItemForms = {
  /** Its printed form; undefined: its fields. */
  readonly text?: string;
  /** Its JSON form; undefined: its fields. */
  readonly json?: Value;
  /** The output of `ToPorcelainJSON`. */
  readonly porcelain?: Value;
  /** The elements of a range over it. */
  readonly elements?: List;
  /** True if it also counts as that list in conditions and for `len`, `index`, `slice` and `print`. */
  readonly isList?: boolean;
};

export function isList(value: Value): value is List {
  return Array.isArray(value);
}

export function isDictionary(value: Value): value is Dictionary {
  return value instanceof Map;
}

/** The list that a value represents, if it does. */
export function listOf(value: Value): List | undefined {
  if (isList(value)) return value;
  return value instanceof Struct && value.forms.isList === true ? value.forms.elements : undefined;
}

/** Keys in the order of Go's maps: by their bytes in UTF-8. */
export function sortedEntries(map: Dictionary): [string, Value][] {
  return [...map].toSorted(([one], [other]) => compareText(one, other));
}

/** By code points, as Go compares strings. */
export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  for (let index = 0; ; index += 1) {
    const [a, b] = [one.charCodeAt(index), other.charCodeAt(index)];
    if (a === b) continue;
    if (Number.isNaN(a)) return -1;
    if (Number.isNaN(b)) return 1;
    return codeOrder(a) - codeOrder(b);
  }
}

/** Halves of surrogate pairs belong to characters above all others. */
function codeOrder(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}
