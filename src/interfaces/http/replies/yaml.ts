/** JSON data as YAML 1.2, in block style; strings are quoted as in JSON, of which YAML is a superset. */
export function toYaml(value: unknown): string {
  return `${lines(value, '').join('\n')}\n`;
}

function lines(value: unknown, indent: string): readonly string[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((item) => nested(`${indent}-`, item, indent));
  if (!isRecord(value) || Object.keys(value).length === 0) return [indent + JSON.stringify(value)];
  return Object.entries(value).flatMap(([name, item]) => nested(`${indent}${key(name)}:`, item, indent));
}

function nested(start: string, item: unknown, indent: string): readonly string[] {
  const isBlock = (Array.isArray(item) && item.length > 0) || (isRecord(item) && Object.keys(item).length > 0);
  return isBlock ? [start, ...lines(item, `${indent}  `)] : [`${start} ${JSON.stringify(item)}`];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Numbers, booleans and the like would not stay text without quotes. */
function key(name: string): string {
  return /^[a-zA-Z_$/][\w$/-]*$/.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : JSON.stringify(name);
}
