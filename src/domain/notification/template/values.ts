import { Moment, formatMoment, monthNames, weekdayNames, wallClock, zeroUnixMs } from './time.ts';
import { shortId } from '../../container/container.ts';
import { nearest } from '../../text/name-pattern.ts';

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

type List = readonly Value[];

/** A Go map with string keys. */
type Dictionary = ReadonlyMap<string, Value>;

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

type ItemForms = {
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
function compareText(one: string, other: string): number {
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

/** False: `false`, 0, nil, and empty texts, lists and maps. A struct is always true. */
export function isTrue(value: Value): boolean {
  if (value === undefined || value === null) return false;
  if (value instanceof NamedInt) return value.value !== 0n;
  if (value instanceof Moment) return true;
  if (value instanceof Struct) return value.forms.isList !== true || (value.forms.elements ?? []).length > 0;
  if (isDictionary(value)) return value.size > 0;
  if (isList(value)) return value.length > 0;
  return value !== false && value !== '' && value !== 0n && value !== 0 && !Number.isNaN(value);
}

/** Go's name of the type, for messages to users. */
export function typeName(value: Value): string {
  if (value === undefined || value === null) return 'nil';
  if (value instanceof NamedInt) return 'int';
  if (value instanceof Moment) return 'time.Time';
  if (value instanceof Struct) return value.typeName;
  if (isDictionary(value)) return 'map';
  if (isList(value)) return 'list';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}

/** Go's `eq`. Values of different types are an error, and nothing is only equal to nothing. */
export function equals(left: Value, right: Value): boolean {
  const [one, other] = [basic(left), basic(right)];
  if (one === undefined || other === undefined) return one === other;
  if (typeof one !== typeof other) throw incomparable(left, right);
  if (typeof one === 'object' && (isList(one) || isDictionary(one))) throw incomparable(left, right);
  return one === other;
}

/** Go's `lt`: numbers of one type, or strings. */
export function isLess(left: Value, right: Value): boolean {
  const [one, other] = [basic(left), basic(right)];
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other) < 0;
  if (typeof one === 'bigint' && typeof other === 'bigint') return one < other;
  if (typeof one === 'number' && typeof other === 'number') return one < other;
  throw incomparable(left, right);
}

function basic(value: Value): Exclude<Value, null | NamedInt> {
  if (value instanceof NamedInt) return value.value;
  return value ?? undefined;
}

function incomparable(left: Value, right: Value): TemplateError {
  return new TemplateError(`a ${typeName(left)} cannot be compared with a ${typeName(right)}`);
}

/** `value.name`, called with arguments if it is a method. A field of nothing is nothing; Go refuses it. */
export function member(value: Value, name: string, args: readonly Value[]): Value {
  if (value === undefined || value === null) return undefined;
  if (value instanceof Moment) return callMethod(value, name, args);
  if (value instanceof Struct && value.fields.has(name)) return plain(value.fields.get(name), name, args);
  if (isDictionary(value)) return plain(value.get(name) ?? undefined, name, args);
  if (typeof value === 'string' && name === 'ShortID') return plain(shortId(value), name, args);
  const names = value instanceof Struct ? [...value.fields.keys()] : [];
  throw noMember(value, name, names);
}

function callMethod(moment: Moment, name: string, args: readonly Value[]): Value {
  const method = momentMethods.get(name);
  if (method === undefined) throw noMember(moment, name, [...momentMethods.keys()]);
  if (args.length !== method.parameters) {
    throw new TemplateError(`.${name} takes ${method.parameters} arguments, not ${args.length}`);
  }
  return method.call(moment, args);
}

function plain(field: Value, name: string, args: readonly Value[]): Value {
  if (args.length > 0) throw new TemplateError(`.${name.slice(0, 40)} is not a method, and takes no arguments`);
  return field;
}

function noMember(value: Value, name: string, names: readonly string[]): TemplateError {
  const meant = nearest(name, names);
  const hint = meant === undefined ? '' : `; did you mean .${meant}?`;
  const empty = isTrue(value) ? '' : ', which is empty here';
  return new TemplateError(`there is no .${name.slice(0, 40)} in a ${typeName(value)}${empty}${hint}`);
}

type Method = {
  readonly parameters: number;
  readonly call: (moment: Moment, args: readonly Value[]) => Value;
};

/** The methods of a time that templates use: https://pkg.go.dev/time#Time */
const momentMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['Format', { parameters: 1, call: (moment, [layout]) => formatMoment(moment, textOf(layout)) }],
  ['UTC', without((moment) => new Moment(moment.unixMs, 'UTC', moment.localZone))],
  ['Local', without((moment) => new Moment(moment.unixMs, moment.localZone))],
  ['Unix', without(({ unixMs }) => BigInt(Math.floor(unixMs / 1000)))],
  ['UnixMilli', without(({ unixMs }) => BigInt(unixMs))],
  ['Year', without((moment) => BigInt(wallClock(moment).year))],
  ['Month', without((moment) => named(wallClock(moment).month, monthNames, 1))],
  ['Day', without((moment) => BigInt(wallClock(moment).day))],
  ['Hour', without((moment) => BigInt(wallClock(moment).hour))],
  ['Minute', without((moment) => BigInt(wallClock(moment).minute))],
  ['Second', without((moment) => BigInt(wallClock(moment).second))],
  ['Weekday', without((moment) => named(wallClock(moment).weekday, weekdayNames, 0))],
  ['YearDay', without((moment) => BigInt(wallClock(moment).yearDay))],
  ['IsZero', without(({ unixMs }) => unixMs === zeroUnixMs)],
  ['String', without(showMoment)],
]);

/** A time in the text form of Go. */
export function showMoment(moment: Moment): string {
  return formatMoment(moment, '2006-01-02 15:04:05.999999999 -0700 MST');
}

function without(call: (moment: Moment) => Value): Method {
  return { parameters: 0, call };
}

function named(index: number, names: readonly string[], first: number): NamedInt {
  return new NamedInt(BigInt(index), names[index - first] ?? '');
}

function textOf(layout: Value): string {
  if (typeof layout !== 'string') throw new TemplateError('.Format takes a layout such as "2006-01-02 15:04"');
  return layout;
}

/** The limits of one rendering. */
export type RenderLimits = {
  /** Actions, iterations and calls; handling 8 characters of text counts as one more. */
  readonly steps: number;
  /** In UTF-16 units. Also applies to intermediate texts. */
  readonly outputLength: number;
  /** Depth of nested blocks, parentheses and templates. */
  readonly depth: number;
};

/** Enough for loops within loops over 500 containers. A template at every limit takes one to two seconds. */
export const defaultLimits: RenderLimits = { steps: 3_000_000, outputLength: 1_000_000, depth: 300 };

/** Counts the cost of a rendering, and ends it with a `TemplateError` at a limit. */
export type Meter = {
  readonly spend: (steps: number) => void;
  /** For a text that was read or written. */
  readonly handle: (length: number) => void;
  readonly enter: () => void;
  readonly leave: () => void;
};

export function createMeter({ steps, outputLength, depth }: RenderLimits): Meter {
  let left = steps;
  let level = 0;
  function spend(count: number): void {
    left -= count;
    if (left < 0) throw new TemplateError(`it takes more than ${steps} steps`);
  }
  return {
    spend,
    handle(length) {
      if (length > outputLength) throw new TemplateError(`a text in it is longer than ${outputLength} characters`);
      spend(length >> 3);
    },
    enter() {
      level += 1;
      if (level > depth) throw new TemplateError(`more than ${depth} blocks and templates are inside each other`);
    },
    leave() {
      level -= 1;
    },
  };
}

/** An output text that never grows beyond `longest`. */
export type Sink = { readonly write: (text: string) => void; readonly text: () => string };

export function createSink(meter: Meter, longest: number): Sink {
  const parts: string[] = [];
  let length = 0;
  return {
    write(text) {
      length += text.length;
      if (length > longest) throw new TemplateError(`its text is longer than ${longest} characters`);
      meter.spend(text.length >> 3);
      parts.push(text);
    },
    text: () => parts.join(''),
  };
}

/** The surroundings of a function of a template. */
export type FunctionContext = { readonly meter: Meter; readonly now: Moment; readonly createSink: () => Sink };

/**
 * Why a template cannot be parsed or rendered. `at` is an offset in its text; undefined: the present position of the
 * evaluator.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
  readonly at: number | undefined;

  constructor(reason: string, at?: number) {
    super(reason);
    this.at = at;
  }
}

/** `line 3, column 5: reason`; both count from 1, the column in characters. */
export function describeFault(text: string, at: number, reason: string): string {
  const before = text.slice(0, at);
  const lineStart = before.lastIndexOf('\n') + 1;
  const line = before.split('\n').length;
  return `line ${line}, column ${Array.from(before.slice(lineStart)).length + 1}: ${reason}`;
}
