import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const nodes = fileURLToPath(new URL('../../nodes/', import.meta.url));

/** The name of the base in the engine. */
export const baseImage = 'lab-node:24';

const applets = 'sh cat chmod cp env find id ln ls mkdir rm sleep true false wget head tail grep';

/**
 * Imports a base image into the engine behind the socket: Node 24 from its package, npm and its cache from this
 * machine, the shared libraries of Node, busybox. It stands for `node:24-alpine`, where no registry can be reached.
 */
export function importBase(labDir: string, socket: string): void {
  const root = join(labDir, 'base');
  const npm = (...args: readonly string[]) => execFileSync('npm', args, { encoding: 'utf8' }).trim();
  execFileSync('npm', ['ci', '--prefix', nodes, '--no-audit', '--no-fund', '--prefer-offline'], { stdio: 'ignore' });
  const node = join(nodes, 'node_modules/node-24/bin/node');
  put(root, node, '/usr/local/bin/node');
  const libraries = librariesOf(node);
  // The bundler's native part wants one more than Node.
  const more = libraries.filter((path) => path.endsWith('/libdl.so.2')).map((path) => path.replace('libdl.so.2', 'librt.so.1'));
  for (const library of [...libraries, ...more]) put(root, library, library);
  putBusybox(root);
  cpSync(join(npm('root', '--global'), 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  cpSync(join(npm('config', 'get', 'cache'), '_cacache'), join(root, 'npm/_cacache'), { recursive: true });
  const settings = { offline: 'true', cache: '/npm', registry: npm('config', 'get', 'registry'), update_notifier: 'false' };
  const variables = Object.entries(settings).map(([name, value]) => `ENV npm_config_${name}=${value}`);
  const changes = ['ENV PATH=/usr/local/bin:/bin', ...variables].flatMap((change) => ['--change', change]);
  execFileSync('bash', ['-c', 'tar -C "$0" -c . | docker "$@"', root, 'import', ...changes, '-', baseImage], {
    env: { ...process.env, DOCKER_HOST: `unix://${socket}` },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(root, { recursive: true });
}

function put(root: string, from: string, path: string): void {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from, target);
}

/** Paths as the loader prints them: https://man7.org/linux/man-pages/man1/ldd.1.html */
function librariesOf(program: string): string[] {
  const lines = execFileSync('ldd', [program], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => /(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}

function putBusybox(root: string): void {
  put(root, '/usr/bin/busybox', '/bin/busybox');
  for (const applet of applets.split(' ')) symlinkSync('busybox', join(root, 'bin', applet));
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  symlinkSync('../../bin/busybox', join(root, 'usr/bin/env'));
  mkdirSync(join(root, 'tmp'), { mode: 0o1777 });
  mkdirSync(join(root, 'etc'));
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
}
