import { parseDuration } from '../../domain/duration.ts';
import { list, misspelling, type Parameter } from './query.ts';

/** Which containers a check or an update is about. */
export const selectionParameters = {
  image: list(
    'Only containers of these images, separated by commas. An image with a tag means that tag, one without any tag',
  ),
  container: list(
    'Only containers of these names, separated by commas. A name may be a regular expression for the whole of it',
  ),
  images: misspelling('image'),
  containers: misspelling('container'),
} as const;

/** Milliseconds, at most the option's; the option's when it is not given or makes no sense. */
export function timeoutUpTo(longestMs: number, hidden: { readonly hidden?: true } = {}): Parameter<number> {
  return {
    documentation: {
      type: 'string',
      description: 'Longest time to take, such as 30s or 2m; capped by the option of the service',
      ...hidden,
    },
    read: ([first = '']) => Math.min(parseDuration(first) || longestMs, longestMs),
  };
}
