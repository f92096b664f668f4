import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { OptionValues } from '../table/options.ts';

/** The places of the Watchtower family and of Docker's own client. `DOCKER_CONFIG` may also name the file itself. */
export function dockerConfigPath({ dockerConfigFolder, homeFolder }: OptionValues): string | undefined {
  if (dockerConfigFolder?.endsWith('.json')) return dockerConfigFolder;
  if (dockerConfigFolder !== undefined) return join(dockerConfigFolder, 'config.json');
  if (existsSync(containerConfig)) return containerConfig;
  return homeFolder === undefined ? undefined : join(homeFolder, '.docker', 'config.json');
}

/** Where Podman looks for logins: https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md */
export function podmanAuthFiles(
  { registryAuthFile, userRuntimeFolder, configHomeFolder, homeFolder }: OptionValues,
  userId: number | undefined,
): { readonly chosen: string | undefined; readonly usual: readonly string[] } {
  const configHome = configHomeFolder ?? (homeFolder && join(homeFolder, '.config'));
  const folders = [userRuntimeFolder, userId === undefined ? undefined : `/run/containers/${userId}`, configHome];
  const usual = folders.flatMap((folder, at) => {
    if (folder === undefined) return [];
    return at === 1 ? join(folder, 'auth.json') : join(folder, 'containers', 'auth.json');
  });
  return { chosen: registryAuthFile, usual };
}

export function dockerFolder(values: OptionValues): string | undefined {
  const path = dockerConfigPath(values);
  return path === undefined ? undefined : dirname(path);
}

const containerConfig = '/config.json';
