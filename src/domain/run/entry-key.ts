import type { EntryKind } from './session.ts';

/**
 * A key for an entry: the name of a container, or `web service`. No name has a space, so a service and a container of
 * the same name have different keys. It begins with the name, so the name of an engine may precede it.
 */
export function entryKeyOf({ name, kind }: { readonly name: string; readonly kind?: EntryKind | undefined }): string {
  return kind === 'service' ? `${name} service` : name;
}
