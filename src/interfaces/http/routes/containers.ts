import { known } from '../../json/known.ts';
import { kindField } from '../replies/container-schemas.ts';
import { createCachedList } from '../service/cached-list.ts';
import { containerFilter, containerParameters } from '../requests/container-filter.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { array, integer, object, stamped, text } from '../replies/schemas.ts';

/** `GET /v1/containers`: watched containers, from memory. */
export function containersRoute({ service, clock }: HttpParts): Route {
  const list = createCachedList(
    {
      name: 'containers',
      items: ({ containers }) => containers,
      entry: ({ name, image, imageId, digest, kind }) => ({
        ...{ name, image, image_id: imageId, digest },
        ...known(kind, () => ({ kind })),
      }),
    },
    service,
    clock,
  );
  return defineRoute({
    group: 'containers',
    path: '/v1/containers',
    access: 'api token',
    summary: 'List watched containers',
    description: 'Lists the watched containers, from memory.',
    query: containerParameters,
    replies: {
      200: { description: 'The watched containers', schema: listSchema },
      500: { description: 'The engine cannot be reached, and tells of no changes' },
    },
    answer: ({ query }, reply) => list(reply, containerFilter(query)),
  });
}

const listSchema = stamped({
  containers: array(
    object(
      {
        name: text('Name of the container'),
        image: text('Image reference with tag'),
        image_id: text('Local image config id'),
        digest: text('Registry digest of the image; empty for one that was built here'),
      },
      kindField,
    ),
  ),
  count: integer('Number of entries'),
});
