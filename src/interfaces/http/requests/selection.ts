import { parseDuration } from '../../../domain/text/duration.ts';
import { sizeOfPatterns } from '../../../domain/text/name-pattern.ts';
import { HttpError } from '../replies/errors.ts';
import { list, misspelling, type Parameter } from './query.ts';

/** Parameters that select the containers of a check or an update. */
export const selectionParameters = {
  image: bounded(
    list(
      'Only containers of these images, separated by commas, at most 100. An image with a tag means that tag, one without any tag',
    ),
  ),
  container: withinBudget(
    bounded(
      list(
        'Only containers of these names, separated by commas, at most 100. A name may be a regular expression for the whole of it',
      ),
    ),
  ),
  images: misspelling('image'),
  containers: misspelling('container'),
} as const;

/** Milliseconds, at most the option's value, which also applies when it is not given or invalid. */
export function timeoutUpTo(longestMs: number, hidden: { readonly hidden?: true } = {}): Parameter<number> {
  return {
    documentation: {
      type: 'string',
      description: 'Timeout, such as 30s or 2m; at most the value of the option of the service',
      ...hidden,
    },
    read: ([first = '']) => {
      const asked = /\s/.test(first) ? undefined : parseDuration(first);
      return Math.min(asked || longestMs, longestMs);
    },
  };
}

type ListParameter = Parameter<readonly string[]>;

function bounded({ documentation, read }: ListParameter): ListParameter {
  return {
    documentation,
    read: (given, name) => {
      const items = read(given, name);
      if (items.length <= mostItems) return items;
      throw new HttpError(400, `invalid query parameter "${name}": at most ${mostItems} can be given`);
    },
  };
}

const mostItems = 100;

/** Compiling and matching patterns blocks the event loop. */
function withinBudget({ documentation, read }: ListParameter): ListParameter {
  return {
    documentation,
    read: (given, name) => {
      const items = read(given, name);
      if (sizeOfPatterns(items) <= largestPatterns) return items;
      throw new HttpError(400, `invalid query parameter "${name}": the patterns are too large together`);
    },
  };
}

/** Instructions of all patterns of a request together: a hundred short ones, or two of the largest size. */
const largestPatterns = 3000;
