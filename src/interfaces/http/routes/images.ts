import type { TrackedImage } from '../../../domain/inventory.ts';
import { engineField } from '../replies/container-schemas.ts';
import { engineParameter, enginesIn, isOfImage, isOnOneOf } from '../requests/selection.ts';
import { createCachedList } from '../service/cached-list.ts';
import type { HttpParts } from '../service/parts.ts';
import { text as textParameter } from '../requests/query.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { array, integer, object, stamped, text } from '../replies/schemas.ts';

/** `GET /v1/images`: the images of the watched containers, from memory. */
export function imagesRoute({ service, clock }: HttpParts): Route {
  const list = createCachedList({ name: 'images', items: imagesByName, entry: entryOf }, service, clock);
  return defineRoute({
    group: 'images',
    path: '/v1/images',
    access: 'api token',
    summary: 'List tracked images',
    description: 'Lists the images of the watched containers, sorted by name, from memory.',
    query: {
      name: textParameter('Only images of this reference; without a tag, any tag'),
      id: textParameter('Only the image with this id, or with an id that begins like this if there is only one'),
      ...engineParameter,
    },
    replies: {
      200: { description: 'The tracked images', schema: listSchema },
      500: { description: 'The engine cannot be reached, and its events have ended' },
      503: { description: 'The engine has not been listed yet' },
    },
    answer: ({ query }, reply) => {
      const { name, id } = query;
      const engines = enginesIn(query, service);
      if (name === undefined && id === undefined && engines.length === 0) return list(reply);
      const images = service.inventory().images.filter((image) => isOnOneOf(engines, image));
      const wanted = id === undefined ? undefined : imageIdMeant(id, images);
      return list(
        reply,
        (image) =>
          isOnOneOf(engines, image) &&
          (name === undefined || image.name === name || isOfImage(image.name, name)) &&
          (id === undefined || image.imageId === wanted),
      );
    },
  });
}

const listSchema = stamped({
  images: array(
    object(
      {
        name: text('Image reference'),
        image_id: text('Local image id'),
        digest: text('Registry digest; empty for a locally built image'),
        containers: integer('Watched containers that run it'),
      },
      engineField,
    ),
  ),
  count: integer('Number of entries'),
});

function entryOf({ name, engine, imageId, digest, containers }: TrackedImage) {
  return { name, image_id: imageId, digest, containers, engine };
}

function imagesByName({ images }: { readonly images: readonly TrackedImage[] }): readonly TrackedImage[] {
  const key = ({ name, imageId }: TrackedImage): string => `${name} ${imageId}`;
  return [...images].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** The id itself, or the only id that begins with the text. `sha256:` is optional. */
function imageIdMeant(text: string, images: readonly TrackedImage[]): string | undefined {
  const wanted = text.toLowerCase().replace(/^sha256:/, '');
  const ids = [...new Set(images.map(({ imageId }) => imageId))];
  const meant = ids.filter((id) => id.replace(/^sha256:/, '').startsWith(wanted));
  return ids.find((id) => id === text) ?? (meant.length === 1 ? meant[0] : undefined);
}
