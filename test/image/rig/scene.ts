import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lab } from '../../lab/lab.ts';
import { logOf } from '../../support/scene/upkeep-in-a-container.ts';
import { importBase } from './base.ts';
import { dockerAt, type Docker } from './docker.ts';

/** The image as its Dockerfile makes it, in the lab's registry. */
export type ImageScene = {
  readonly docker: Docker;
  /** Reference in the registry of the lab. */
  readonly stable: string;
  /** Moves the tag to this image, in the registry only. */
  readonly publish: (image: string) => Promise<void>;
  /** Builds one more image from the lines of a Dockerfile. */
  readonly derive: (image: string, ...lines: readonly string[]) => Promise<void>;
  /** Resolves with the log of the container `upkeep` once it has the text. */
  readonly logged: (text: string) => Promise<string>;
};

export async function openImageScene({ dir, engine, registry }: Lab): Promise<ImageScene> {
  const docker = dockerAt(dir, engine.socket);
  await importBase(dir, docker);
  const stable = `${registry.host}/upkeep/upkeep:stable`;
  return {
    docker,
    stable,
    publish: async (image) => {
      const aside = `${registry.host}/upkeep/upkeep:aside`;
      await docker('tag', image, stable);
      await docker('push', '--quiet', stable);
      await docker('tag', image, aside);
      await docker('rmi', stable);
    },
    derive: async (image, ...lines) => {
      const folder = mkdtempSync(join(dir, 'derived-'));
      writeFileSync(join(folder, 'Dockerfile'), lines.join('\n'));
      await docker('build', '--quiet', '--tag', image, folder);
    },
    logged: async (text) => {
      const deadlineMs = performance.now() + 60_000;
      for (;;) {
        const log = await logOf(engine, 'upkeep');
        if (log.includes(text)) return log;
        if (performance.now() > deadlineMs) throw new Error(`The log never had ${JSON.stringify(text)}:\n${log}`);
        await sleep(100);
      }
    },
  };
}
