import { Moment } from '../template/time/moment.ts';
import { Struct, type Value } from '../template/values/value.ts';
import type { Entry } from './entries.ts';
import type { Report } from './report.ts';

export type DataParts = {
  readonly title: string;
  readonly host: string;
  readonly entries: readonly Entry[];
  /** Undefined at the start and in log mode. */
  readonly report: Report | undefined;
  /** An IANA name. */
  readonly timeZone: string;
};

/**
 * The root of a template in report mode: `.Title`, `.Host`, `.Entries`, `.Report`. A range over it iterates over its
 * entries.
 */
export function reportRoot(parts: DataParts): Struct {
  const { title, host, report } = parts;
  const entries = parts.entries.map((entry) => entryItem(entry, parts.timeZone));
  const json = new Map<string, Value>([
    ['entries', entries.map(entryJson)],
    ['host', host],
    ['report', report === undefined ? null : report.json],
    ['title', title],
  ]);
  return root(parts, entries, { json, elements: entries, text: title });
}

/** The root in log mode: a list of the entries, with the fields of `reportRoot`. */
export function logRoot(parts: DataParts): Struct {
  const entries = parts.entries.map((entry) => entryItem(entry, parts.timeZone));
  return root({ ...parts, report: undefined }, entries, { json: entries, elements: entries, isList: true });
}

function root({ title, host, report }: DataParts, entries: readonly Struct[], forms: Struct['forms']): Struct {
  const statics = { Title: title, Host: host };
  const fields = {
    ...statics,
    StaticData: new Struct('StaticData', statics),
    Entries: entries,
    Report: report?.item ?? null,
  };
  return new Struct('message', fields, forms);
}

/** The fields in the order of the family's JSON in log mode. */
function entryItem({ message, level, data, atMs }: Entry, timeZone: string): Struct {
  const values = Object.entries(data).map(([key, value]): [string, Value] => [
    key,
    typeof value === 'number' ? BigInt(Math.trunc(value)) : value,
  ]);
  const Time = new Moment(atMs, timeZone);
  const fields = { Message: message, Data: new Map(values), Time, Level: level === 'warn' ? 'warning' : level };
  return new Struct('log entry', fields, { text: message });
}

function entryJson({ fields }: Struct): Value {
  return new Map<string, Value>([
    ['data', fields.get('Data')],
    ['level', fields.get('Level')],
    ['message', fields.get('Message')],
    ['time', fields.get('Time')],
  ]);
}
