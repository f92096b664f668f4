import { TemplateError } from './fault.ts';
import { NamedInt, type Value } from './value.ts';
import { formatMoment, monthNames, weekdayNames } from '../time/format.ts';
import { Moment, wallClock, zeroUnixMs } from '../time/moment.ts';

type Method = {
  readonly parameters: number;
  readonly call: (moment: Moment, args: readonly Value[]) => Value;
};

/** The methods of a time that templates use: https://pkg.go.dev/time#Time */
export const momentMethods: ReadonlyMap<string, Method> = new Map<string, Method>([
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
