/** A clause with a capital letter. */
export function sentence(clause: string): string {
  return clause.slice(0, 1).toUpperCase() + clause.slice(1);
}
