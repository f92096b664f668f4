import { tryParseImageReference } from '../../domain/reference/image-reference.ts';
import type { Option } from '../declaration/option.ts';

/** The watched containers that a request is about. */
export const requestOptions = {
  images: {
    group: 'selection',
    kind: 'list',
    separators: 'comma or space',
    flag: 'image',
    placeholder: 'IMAGE,…',
    default: [],
    accepts: {
      test: (text) => tryParseImageReference(text) !== undefined,
      expected: 'image references such as nginx or ghcr.io/acme/api:2',
    },
    meaning: 'Select only containers of these images; without a tag, any tag',
    example: 'nginx,ghcr.io/acme/api:2',
    commands: ['check', 'update'],
  },
} as const satisfies Readonly<Record<string, Option>>;
