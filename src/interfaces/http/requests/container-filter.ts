import { matchesReference, tryParseImageReference } from '../../../domain/reference/image-reference.ts';
import { text } from './query.ts';

/** Filters of a list of containers. */
export const containerParameters = {
  name: text('Only the container with exactly this name'),
  image: text('Only containers of this image; without a tag, any tag'),
} as const;

type Wanted = {
  readonly name: string | undefined;
  readonly image: string | undefined;
  readonly engines?: readonly string[];
};

type Shown = { readonly name: string; readonly image: string; readonly engine?: string };

/** Undefined when all of them are. */
export function containerFilter({ name, image, engines }: Wanted): ((container: Shown) => boolean) | undefined {
  if (name === undefined && image === undefined && engines === undefined) return undefined;
  return (container) =>
    (engines === undefined || (container.engine !== undefined && engines.includes(container.engine))) &&
    (name === undefined || container.name === name) &&
    (image === undefined || isOfImage(container.image, image));
}

/** Whether a filter matches the shown image reference. A malformed filter matches nothing. */
export function isOfImage(shown: string, filter: string): boolean {
  const reference = tryParseImageReference(shown);
  return reference !== undefined && matchesReference(filter, reference);
}
