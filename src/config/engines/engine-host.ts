import { statSync } from 'node:fs';
import { ServiceError } from '../../domain/text/errors.ts';
import { quoted } from '../../domain/text/printable.ts';

/**
 * The address of the engine: the configured one, else the first of the usual sockets that exists. Throws
 * `engine-unreachable` when none does.
 */
export function findEngineHost({ host, userRuntimeFolder }: EngineWhere, isSocket = isSocketFile): string {
  if (host !== undefined) return host;
  const candidates = usualSockets(userRuntimeFolder);
  const found = candidates.find(isSocket);
  if (found !== undefined) return `unix://${found}`;
  throw new ServiceError(
    'engine-unreachable',
    `Cannot find a container engine: there is no socket at ${candidates.map((path) => quoted(path)).join(', ')}`,
    {
      remedy:
        'Start Docker or Podman, mount its socket into this container, or set its address with --host or DOCKER_HOST',
    },
  );
}

/** Docker's before Podman's, the system's before the user's. */
function usualSockets(userRuntimeFolder: string | undefined): readonly string[] {
  const user = (name: string) => (userRuntimeFolder === undefined ? [] : [`${userRuntimeFolder}/${name}`]);
  return ['/var/run/docker.sock', ...user('docker.sock'), '/run/podman/podman.sock', ...user('podman/podman.sock')];
}

function isSocketFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  } catch {
    return false;
  }
}

type EngineWhere = {
  /** Undefined: one of the usual sockets. */
  readonly host: string | undefined;
  readonly userRuntimeFolder: string | undefined;
};
