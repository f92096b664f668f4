import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Docker } from './docker.ts';
import { needs } from './needs.ts';

/** The default of the Dockerfile. */
const baseImage = 'node:24-alpine';

const applets =
  'sh cat chmod cp df du env find id ln ls mkdir mktemp readlink rm sleep stat sync touch true false wget head tail grep';

/** The programs that Alpine's packages would bring, with the libraries that the base does not have. */
const gnu = 'cp df du find head ln mkdir rm stat sync';

/** Stands in for Alpine's, which needs the network: it "installs" this machine's programs below `--root`. */
const apk = `#!/bin/sh
[ "$1" = --print-arch ] && echo x86_64 && exit
while [ $# -gt 0 ]; do [ "$1" = --root ] && root=$2; shift; done
mkdir -p "$root/usr/bin" "$root/usr/lib"
cp /gnu/* "$root/usr/bin/"
`;

/**
 * Imports a base image into the engine: Node 24 from its package, npm and its cache from this machine, the shared
 * libraries of Node, busybox. It has the name of the real one, so that every command is as people write it.
 */
export async function importBase(labDir: string, docker: Docker): Promise<void> {
  const root = join(labDir, 'base');
  putNode(root);
  putBusybox(root);
  putPackages(root);
  const npm = (...args: readonly string[]) => execFileSync('npm', args, { encoding: 'utf8' }).trim();
  cpSync(join(npm('root', '--global'), 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  cpSync(join(npm('config', 'get', 'cache'), '_cacache'), join(root, 'npm/_cacache'), { recursive: true });
  const settings = { offline: 'true', cache: '/npm', registry: npm('config', 'get', 'registry') };
  const variables = Object.entries(settings).map(([name, value]) => `ENV npm_config_${name}=${value}`);
  const changes = ['ENV PATH=/usr/local/bin:/bin:/sbin', ...variables].flatMap((change) => ['--change', change]);
  const archive = join(labDir, 'base.tar');
  execFileSync('tar', ['--directory', root, '--create', '--file', archive, '.']);
  rmSync(root, { recursive: true });
  await docker('import', ...changes, archive, baseImage);
  rmSync(archive);
}

function putNode(root: string): void {
  put(root, needs.node, '/usr/local/bin/node');
  const libraries = librariesOf(needs.node);
  // The native part of the bundler needs one more than Node.
  const runtime = libraries.flatMap((path) => (path.endsWith('/libdl.so.2') ? join(dirname(path), 'librt.so.1') : []));
  for (const library of [...libraries, ...runtime]) put(root, library, library);
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

function putPackages(root: string): void {
  for (const program of gnu.split(' ')) {
    put(root, `/usr/bin/${program}`, `/gnu/${program}`);
    for (const library of librariesOf(`/usr/bin/${program}`)) put(root, library, library);
  }
  mkdirSync(join(root, 'etc/apk/keys'), { recursive: true });
  mkdirSync(join(root, 'usr/share/apk/keys'), { recursive: true });
  writeFileSync(join(root, 'etc/apk/repositories'), '');
  mkdirSync(join(root, 'sbin'));
  writeFileSync(join(root, 'sbin/apk'), apk, { mode: 0o755 });
}
