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

export function dockerFolder(values: OptionValues): string | undefined {
  const path = dockerConfigPath(values);
  return path === undefined ? undefined : dirname(path);
}

const containerConfig = '/config.json';
