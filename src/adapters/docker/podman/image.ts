import type { Client } from '../transport/client.ts';
import { read } from '../reading/reads.ts';
import { fields, pathSegment, text, texts } from '../transport/json-fields.ts';
import type { JsonObject } from '../../../domain/text/json-value.ts';

/**
 * An image as Docker would describe it: with its HEALTHCHECK, which only Podman's own API shows, and with the defaults
 * that Podman writes into containers. https://docs.podman.io/en/v4.3/_static/api.html
 */
export async function completeImage(client: Client, answer: unknown, signal?: AbortSignal): Promise<unknown> {
  const image = fields(answer);
  const path = `/libpod/images/${pathSegment(text(image['Id']).replace(/^sha256:/, ''))}/json`;
  const { Healthcheck } = fields(await read(client, { doing: 'inspect an image of Podman', path, signal }));
  const config = fields(image['Config']);
  return {
    ...withoutLocalDigests(image),
    Config: {
      ...config,
      WorkingDir: text(config['WorkingDir']) || '/',
      StopSignal: text(config['StopSignal']) || 'SIGTERM',
      ...(Healthcheck !== undefined && { Healthcheck }),
    },
  };
}

/** Podman names a local build `localhost/…` and gives it a digest like a registry's. */
export function withoutLocalDigests(entry: unknown): JsonObject {
  const { RepoDigests, ...image } = fields(entry);
  return { ...image, RepoDigests: texts(RepoDigests).filter((digest) => !digest.startsWith('localhost/')) };
}
