import type { Registry } from '../../../src/domain/outside/registry.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { createOciRegistry, type StoredListings, type OciRegistryOptions } from '../../../src/adapters/oci/registry.ts';
import { ServiceError } from '../../../src/domain/text/errors.ts';
import { parseImageReference, type ImageReference } from '../../../src/domain/image/image-reference.ts';
import { createFakeClock } from '../clock/fake-clock.ts';
import { startHttpServer, type Answer, type HttpServer, type HttpServerOptions } from '../http/http-server.ts';

/** Servers, registries and folders that end with the test. */
export type OciRig = {
  readonly serve: (answer: Answer, options?: HttpServerOptions) => Promise<HttpServer>;
  /** With a clock that advances while all sleep. */
  readonly registry: (options?: Partial<OciRegistryOptions & StoredListings>) => Registry;
  /** An empty folder. */
  readonly folder: () => string;
  /** A Docker `config.json`, its path. */
  readonly dockerConfig: (config: object) => string;
};

export function createOciRig(): OciRig {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'upkeep-oci-'));
    closing.push(() => rmSync(path, { recursive: true }));
    return path;
  }

  return {
    folder,
    async serve(answer, options) {
      const server = await startHttpServer(answer, options);
      closing.push(() => server[Symbol.asyncDispose]());
      return server;
    },
    registry(options = {}) {
      const clock = createFakeClock({ auto: true });
      const registry = createOciRegistry({ clock, version: '1.2.3', certsFolder: '/nowhere', ...options });
      closing.push(registry.close);
      return registry;
    },
    dockerConfig(config) {
      const path = join(folder(), 'config.json');
      writeFileSync(path, JSON.stringify(config));
      return path;
    },
  };
}

/** A reference to something on a server. */
export function at({ host }: HttpServer, rest = 'team/app:1'): ImageReference {
  return parseImageReference(`${host}/${rest}`);
}

/** The error of the work; throws if there is none, or if it is a bug. */
export async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work.then(
    (value) => new Error(`no failure, but ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof ServiceError) return error;
  throw error;
}
