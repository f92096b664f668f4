import { shortId } from '../../../container/container.ts';
import { nearest } from '../../../text/name-pattern.ts';
import { TemplateError } from './fault.ts';
import { Moment } from '../time/moment.ts';
import { momentMethods } from './methods.ts';
import { isTrue, typeName } from './truth.ts';
import { isDictionary, Struct, type Value } from './value.ts';

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
