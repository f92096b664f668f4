import { tryParseImageReference } from '../../domain/reference/image-reference.ts';
import { isEngineName } from '../../domain/fleet/engine-address.ts';
import { deciding } from '../declaration/commands.ts';
import type { Option } from '../declaration/option.ts';

/** Options that select the containers of a request. */
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
    isCommon: true,
    commands: ['check', 'update'],
  },
  engines: {
    group: 'selection',
    kind: 'list',
    separators: 'comma or space',
    flag: 'engine',
    placeholder: 'NAME,…',
    default: [],
    accepts: { test: isEngineName, expected: 'names of engines, as --host gives them' },
    meaning: 'Of several engines, work on these only',
    example: 'nas,web-1',
    commands: ['check', 'update', 'rollback', 'recover', 'containers', ...deciding],
  },
} as const satisfies Readonly<Record<string, Option>>;
