import type { FunctionContext } from '../values/limits.ts';
import { TemplateError } from '../values/fault.ts';
import { escapeHtml, escapeJavaScript, escapeQuery } from '../format/escape.ts';
import { print, println } from '../format/print.ts';
import { printf } from '../format/printf.ts';
import { formatMoment } from '../time/format.ts';
import { parseRfc3339 } from '../time/moment.ts';
import { equals, isLess } from '../values/compare.ts';
import { isTrue } from '../values/truth.ts';
import type { Value } from '../values/value.ts';
import { index, length, slice } from './access.ts';
import { toJson, toPorcelainJson } from './json.ts';
import { contains, join, replace, split, textArgument, toLower, toTitle, toUpper } from './text.ts';

/** `least` and `most` count arguments. `shortCircuit`: the truth that ends the evaluation of arguments. */
export type TemplateFunction = {
  readonly least: number;
  readonly most: number;
  readonly call: (args: readonly Value[], context: FunctionContext) => Value;
  readonly shortCircuit?: boolean;
};

function fixed(count: number, call: TemplateFunction['call']): TemplateFunction {
  return { least: count, most: count, call };
}

function open(least: number, call: TemplateFunction['call']): TemplateFunction {
  return { least, most: Infinity, call };
}

function neverCalled(): never {
  throw new TemplateError('and, or are decided by the evaluator');
}

/** Go's own functions, Watchtower's, and six that users know from other tools. None reads the environment or files. */
export const templateFunctions: ReadonlyMap<string, TemplateFunction> = new Map([
  ['and', { ...open(1, neverCalled), shortCircuit: false }],
  ['or', { ...open(1, neverCalled), shortCircuit: true }],
  ['not', fixed(1, ([value]) => !isTrue(value))],
  ['eq', open(2, ([first, ...others]) => others.some((other) => equals(first, other)))],
  ['ne', fixed(2, ([one, other]) => !equals(one, other))],
  ['lt', fixed(2, ([one, other]) => isLess(one, other))],
  ['le', fixed(2, ([one, other]) => isLess(one, other) || equals(one, other))],
  ['gt', fixed(2, ([one, other]) => !(isLess(one, other) || equals(one, other)))],
  ['ge', fixed(2, ([one, other]) => !isLess(one, other))],
  ['len', fixed(1, ([value]) => length(value))],
  ['index', open(1, ([value, ...keys]) => index(value, keys))],
  ['slice', open(1, ([value, ...bounds]) => slice(value, bounds))],
  ['print', open(0, print)],
  ['println', open(0, println)],
  ['printf', open(1, ([format, ...values], context) => printf(textArgument(format, 'printf'), values, context))],
  ['html', open(0, (args, context) => escapeHtml(print(args, context, '<no value>')))],
  ['js', open(0, (args, context) => escapeJavaScript(print(args, context, '<no value>')))],
  ['urlquery', open(0, (args, context) => escapeQuery(print(args, context, '<no value>')))],
  ['ToUpper', fixed(1, ([value]) => toUpper(textArgument(value, 'ToUpper')))],
  ['ToLower', fixed(1, ([value]) => toLower(textArgument(value, 'ToLower')))],
  ['Title', fixed(1, ([value]) => toTitle(textArgument(value, 'Title')))],
  ['ToJSON', fixed(1, ([value], context) => toJson(value, context))],
  ['ToPorcelainJSON', fixed(1, ([value], context) => toPorcelainJson(value, context))],
  ['RFC1123', fixed(1, ([value], context) => rfc1123(textArgument(value, 'RFC1123'), context))],
  ['replace', fixed(3, ([from, to, text], { meter }) => replace(text, from, to, meter))],
  ['join', fixed(2, ([one, other], { meter }) => join(one, other, meter))],
  ['split', fixed(2, ([separator, text], { meter }) => split(text, separator, meter))],
  ['contains', fixed(2, ([part, whole]) => contains(whole, part))],
  ['default', fixed(2, ([standard, value]) => (isTrue(value) ? value : standard))],
  ['now', fixed(0, (_args, { now }) => now)],
]);

export const functionNames: readonly string[] = [...templateFunctions.keys()];

function rfc1123(text: string, { now: { localZone }, meter }: FunctionContext): string {
  meter.spend(50);
  const moment = parseRfc3339(text, localZone);
  return moment === undefined ? text : formatMoment(moment, 'Mon, 02 Jan 2006 15:04:05 MST');
}
