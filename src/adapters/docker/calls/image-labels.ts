import type { Container, Image } from '../../../domain/container/container.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { Client } from '../transport/client.ts';
import { readInspected } from '../reading/reads.ts';
import { fields, pathSegment, textMap } from '../transport/wire.ts';

type Labels = NonNullable<Container['imageLabels']>;

export type ImageLabels = {
  readonly of: (imageId: string, signal?: AbortSignal) => Promise<Labels | undefined>;
  /** Remembers the labels of an image that was inspected for another reason. */
  readonly note: (image: Pick<Image, 'id' | 'config'>) => void;
};

/**
 * Labels of an image by its id. Undefined when the engine no longer has it or cannot show it. An id names fixed
 * content, so a result stays true.
 */
export function createImageLabels(client: Client): ImageLabels {
  const known = new Map<string, Labels>();

  function remember(imageId: string, labels: Labels): void {
    if (known.size >= mostRemembered) known.clear();
    known.set(imageId, labels);
  }

  return {
    async of(imageId, signal) {
      const remembered = known.get(imageId);
      if (remembered !== undefined) return remembered;
      const labels = await readLabels(client, imageId, signal);
      if (labels !== undefined) remember(imageId, labels);
      return labels;
    },
    note: ({ id, config }) => remember(id, textMap(config.Labels)),
  };
}

/** More images than an engine's containers run. Beyond it, all are read again. */
const mostRemembered = 500;

async function readLabels(client: Client, imageId: string, signal?: AbortSignal): Promise<Labels | undefined> {
  if (imageId === '') return undefined;
  try {
    const doing = `inspect the image ${quoted(imageId)}`;
    const image = await readInspected(client, { doing, path: `/images/${pathSegment(imageId)}/json`, signal });
    return image && textMap(fields(image['Config'])['Labels']);
  } catch (error) {
    // An engine that cannot show this image may still answer about the container.
    if (error instanceof ServiceError && error.code === 'engine-refused') return undefined;
    throw error;
  }
}
