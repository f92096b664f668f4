import { TemplateError } from '../values/fault.ts';
import type { FunctionContext, Sink } from '../values/limits.ts';
import { formatMoment } from '../time/format.ts';
import { Moment } from '../time/moment.ts';
import { typeName } from '../values/truth.ts';
import { isDictionary, isList, Struct, NamedInt, sortedEntries, type Value } from '../values/value.ts';

/** Like Go's `json.MarshalIndent` with two spaces: keys of maps are sorted, fields of structs keep their order. */
export function toJson(value: Value, { createSink }: FunctionContext): string {
  const sink = createSink();
  write(sink, value, '\n');
  return sink.text();
}

/** The list of containers that `--porcelain json` prints; a missing report has none. */
export function toPorcelainJson(report: Value, context: FunctionContext): string {
  if (report === undefined || report === null) return toJson(noContainers, context);
  const porcelain = report instanceof Struct ? report.forms.porcelain : undefined;
  if (porcelain === undefined) throw new TemplateError(`ToPorcelainJSON takes a report, not a ${typeName(report)}`);
  return toJson(porcelain, context);
}

const noContainers = new Struct('porcelain', { containers: [] });

function write(sink: Sink, value: Value, newline: string): void {
  if (value === undefined || value === null) sink.write('null');
  else if (typeof value === 'string') sink.write(quoteJson(value));
  else if (value instanceof Moment) sink.write(`"${formatMoment(value, '2006-01-02T15:04:05.999999999Z07:00')}"`);
  else if (value instanceof NamedInt) sink.write(String(value.value));
  else if (isList(value)) writeList(sink, value, newline);
  else if (isDictionary(value)) writeObject(sink, sortedEntries(value), newline);
  else if (!(value instanceof Struct)) sink.write(typeof value === 'number' ? showFloat(value) : String(value));
  else if (value.forms.json !== undefined) write(sink, value.forms.json, newline);
  else writeObject(sink, [...value.fields], newline);
}

function writeList(sink: Sink, list: readonly Value[], newline: string): void {
  if (list.length === 0) return sink.write('[]');
  const inner = `${newline}  `;
  for (const [place, element] of list.entries()) {
    sink.write((place === 0 ? '[' : ',') + inner);
    write(sink, element, inner);
  }
  sink.write(`${newline}]`);
}

function writeObject(sink: Sink, entries: readonly (readonly [string, Value])[], newline: string): void {
  if (entries.length === 0) return sink.write('{}');
  const inner = `${newline}  `;
  for (const [place, [key, value]] of entries.entries()) {
    sink.write(`${place === 0 ? '{' : ','}${inner}${quoteJson(key)}: `);
    write(sink, value, inner);
  }
  sink.write(`${newline}}`);
}

/** Go escapes characters that could end an HTML element or a line of JavaScript, and does not use `\b` and `\f`. */
function quoteJson(text: string): string {
  const json = JSON.stringify(text.replaceAll(/\p{Cs}/gu, '\ufffd'));
  return json.replaceAll(/\\\\|\\[bf]|[<>&\u2028\u2029]/g, (part) => escapes[part] ?? part);
}

const escapes: Readonly<Record<string, string>> = {
  [String.raw`\b`]: String.raw`\u0008`,
  [String.raw`\f`]: String.raw`\u000c`,
  '<': String.raw`\u003c`,
  '>': String.raw`\u003e`,
  '&': String.raw`\u0026`,
  '\u2028': String.raw`\u2028`,
  '\u2029': String.raw`\u2029`,
};

/** Text of a float in Go's JSON; the exponent has no leading zero. */
function showFloat(value: number): string {
  if (!Number.isFinite(value)) throw new TemplateError(`JSON has no ${value}`);
  return Object.is(value, -0) ? '-0' : String(value);
}
