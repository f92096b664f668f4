import type { FunctionContext, Sink } from '../values/limits.ts';
import { showMoment } from '../values/methods.ts';
import { Moment } from '../time/moment.ts';
import { isDictionary, Struct, listOf, NamedInt, sortedEntries, type Value } from '../values/value.ts';
import { shortestFloat } from './float.ts';

/** Go's `fmt.Sprint`: a space between two operands if neither is a string. `nothing` is the text for nil. */
export function print(args: readonly Value[], { createSink }: FunctionContext, nothing = '<nil>'): string {
  const [only] = args;
  if (args.length === 1 && typeof only === 'string') return only;
  const sink = createSink();
  for (const [place, arg] of args.entries()) {
    const isBetween = place > 0 && typeof arg !== 'string' && typeof args[place - 1] !== 'string';
    if (isBetween) sink.write(' ');
    if (arg === undefined) sink.write(nothing);
    else writeValue(sink, arg);
  }
  return sink.text();
}

/** Go's `fmt.Sprintln`: a space between operands, and a line end at the end. */
export function println(args: readonly Value[], { createSink }: FunctionContext): string {
  const sink = createSink();
  for (const [place, arg] of args.entries()) {
    if (place > 0) sink.write(' ');
    writeValue(sink, arg);
  }
  sink.write('\n');
  return sink.text();
}

type WriteLeaf = (sink: Sink, value: Leaf) => void;

export type Leaf = undefined | null | boolean | string | bigint | number | NamedInt;

/** Writes like `%v`. `writeLeaf` writes numbers, texts and other values without parts. */
export function writeValue(sink: Sink, value: Value, writeLeaf: WriteLeaf = writePlainLeaf): void {
  const list = listOf(value);
  if (list !== undefined) writeList(sink, list, writeLeaf);
  else if (isDictionary(value)) writeMap(sink, value, writeLeaf);
  else if (value instanceof Moment) writeLeaf(sink, showMoment(value));
  else if (!(value instanceof Struct)) writeLeaf(sink, value as Leaf);
  else if (value.forms.text !== undefined) writeLeaf(sink, value.forms.text);
  else writeStruct(sink, value, writeLeaf);
}

function writePlainLeaf(sink: Sink, value: Leaf): void {
  sink.write(showLeaf(value));
}

export function showLeaf(value: Leaf): string {
  if (value === undefined || value === null) return '<nil>';
  if (value instanceof NamedInt) return value.text;
  return typeof value === 'number' ? shortestFloat(value) : String(value);
}

function writeList(sink: Sink, list: readonly Value[], writeLeaf: WriteLeaf): void {
  for (const [place, element] of list.entries()) {
    sink.write(place === 0 ? '[' : ' ');
    writeValue(sink, element, writeLeaf);
  }
  sink.write(list.length === 0 ? '[]' : ']');
}

function writeMap(sink: Sink, map: ReadonlyMap<string, Value>, writeLeaf: WriteLeaf): void {
  sink.write('map[');
  for (const [place, [key, value]] of sortedEntries(map).entries()) {
    if (place > 0) sink.write(' ');
    writeLeaf(sink, key);
    sink.write(':');
    writeValue(sink, value, writeLeaf);
  }
  sink.write(']');
}

function writeStruct(sink: Sink, { fields }: Struct, writeLeaf: WriteLeaf): void {
  sink.write('{');
  for (const [place, value] of [...fields.values()].entries()) {
    if (place > 0) sink.write(' ');
    writeValue(sink, value, writeLeaf);
  }
  sink.write('}');
}
