import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { needs } from './needs.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

/** Docker's command line with compose and buildx; resolves to its output without the last line end. */
export type Docker = (...args: readonly string[]) => Promise<string>;

/** In the root of the project, with the engine behind this socket. */
export function dockerAt(labDir: string, socket: string): Docker {
  const env = dockerEnvironment(labDir, socket);
  return async (...args) => {
    const { stdout } = await run('docker', args, { cwd: root, env, maxBuffer: 64 << 20 });
    return stdout.trimEnd();
  };
}

/** The environment of such a command line, with its settings in the lab's folder. */
export function dockerEnvironment(labDir: string, socket: string): NodeJS.ProcessEnv {
  const config = join(labDir, 'image-config');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ cliPluginsExtraDirs: [needs.plugins] }));
  return { ...process.env, DOCKER_HOST: `unix://${socket}`, DOCKER_CONFIG: config, DOCKER_BUILDKIT: '1' };
}
