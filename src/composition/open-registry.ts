import type { Settings } from '../config/read/process-settings.ts';
import type { EngineInfo } from '../domain/outside/engine.ts';
import type { Registry } from '../domain/outside/registry.ts';
import type { ProcessContext } from './process-context.ts';

/** Reads a list of an engine's info, or joins those of several engines. */
type AskEngine = (read: (info: EngineInfo) => readonly string[], signal?: AbortSignal) => Promise<readonly string[]>;

/** The client of all registries, with the mirrors and the insecure registries of the engine. */
export async function openRegistry(
  { registry, state: { folder } }: Settings,
  { clock, log, program }: Omit<ProcessContext, 'terminal'>,
  ask: AskEngine,
): Promise<Registry> {
  const { createOciRegistry } = await import('../adapters/oci/registry.ts');
  return createOciRegistry({
    clock,
    log,
    version: program.version,
    ...registry,
    listings: folder === undefined ? undefined : (await import('./memory.ts')).openListings(folder, { log }),
    hubMirrors: (signal) => ask(({ hubMirrors }) => hubMirrors, signal),
    insecureRegistries: (signal) => ask(({ insecureRegistries }) => insecureRegistries, signal),
    prefersPodman: async () =>
      !registry.isDockerConfigChosen &&
      (await ask(({ kind }) => (kind === 'podman' ? [kind] : [])).catch(() => [])).length > 0,
  });
}
