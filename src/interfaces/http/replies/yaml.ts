import { isJsonObject } from '../../../domain/text/json.ts';

/** JSON data as YAML 1.2 in block style. Strings are quoted as in JSON, which is a subset of YAML. */
export function toYaml(value: unknown): string {
  return `${lines(value, '').join('\n')}\n`;
}

function lines(value: unknown, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((item) => nested(`${indent}-`, item, indent));
  if (!isJsonObject(value) || Object.keys(value).length === 0) return [indent + JSON.stringify(value)];
  return Object.entries(value).flatMap(([name, item]) => nested(`${indent}${key(name)}:`, item, indent));
}

function nested(start: string, item: unknown, indent: string): readonly string[] {
  const isBlock = (Array.isArray(item) && item.length > 0) || (isJsonObject(item) && Object.keys(item).length > 0);
  return isBlock ? [start, ...lines(item, `${indent}  `)] : [`${start} ${JSON.stringify(item)}`];
}

/** Unquoted numbers, booleans and similar names would not stay text. */
function key(name: string): string {
  return /^[a-zA-Z_$/][\w$/-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : JSON.stringify(name);
}
