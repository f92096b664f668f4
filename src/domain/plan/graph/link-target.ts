/** `db:ro` of volumes_from and `/db:/web/alias` of a link both begin with their target. */
export function beforeColon(text: string): string {
  return text.replace(/:.*$/s, '').replace(/^\//, '');
}
