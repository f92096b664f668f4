import type { EntryKind } from './session.ts';

/**
 * A key for an entry of one engine. No name has a space, so a service and a container of the same name have different
 * keys.
 */
export function entryKeyOf({ name, kind }: { readonly name: string; readonly kind?: EntryKind | undefined }): string {
  return kind === 'service' ? `service ${name}` : name;
}
