/**
 * Whether `If-None-Match` has the entity tag, which is strong. `*` has every tag, and a weak tag matches too:
 * https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match
 */
export function hasTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || (header.match(/"[^"]*"/g)?.includes(tag) ?? false);
}
