/** Whether a group of endpoints is on, as the served document says. */
export function readGroups(): (group: string) => boolean {
  const meta = document.querySelector<HTMLMetaElement>('meta[name="upkeep-groups"]');
  const groups = new Set((meta?.content ?? '').split(' '));
  return (group) => groups.has(group);
}
