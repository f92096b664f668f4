import { engineField, kindField } from '../replies/container-schemas.ts';
import { createCachedList } from '../service/cached-list.ts';
import { containerFilter, containerParameters, engineParameter, enginesIn } from '../requests/selection.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { array, integer, object, stamped, text } from '../replies/schemas.ts';

/** `GET /v1/containers`: watched containers, from memory. */
export function containersRoute({ service, clock }: HttpParts): Route {
  const list = createCachedList(
    {
      name: 'containers',
      items: ({ containers }) => containers,
      entry: ({ name, engine, image, imageId, digest, kind }) => ({
        name,
        image,
        image_id: imageId,
        digest,
        engine,
        kind,
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
    query: { ...containerParameters, ...engineParameter },
    replies: {
      200: { description: 'The watched containers', schema: listSchema },
      500: { description: 'The engine cannot be reached, and its events have ended' },
    },
    answer: ({ query }, reply) => list(reply, containerFilter(query, enginesIn(query, service))),
  });
}

const listSchema = stamped({
  containers: array(
    object(
      {
        name: text('Name of the container'),
        image: text('Image reference with tag'),
        image_id: text('Local image config id'),
        digest: text('Registry digest of the image; empty for a locally built image'),
      },
      { ...engineField, ...kindField },
    ),
  ),
  count: integer('Number of entries'),
});
