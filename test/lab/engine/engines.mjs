// The engines that the lab can run: Debian's own, and newer ones from its later suites, which work with bookworm's
// libc. They are unpacked beside the installed one and started from there. Podman has more programs of its own, so its
// newer version has a root with all packages that it needs.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPodman } from '../install.mjs';

/**
 * `suite`: the source of newer packages; `version`: their expected version, because a suite moves; `daemon`: dockerd's
 * daemon.json.
 */
export const engines = {
  'docker-20.10': { version: '20.10.' },
  'docker-26': { version: '26.', suite: 'trixie' },
  'docker-28': { version: '28.', suite: 'sid', daemon: { features: { 'containerd-snapshotter': false } } },
  'docker-28-containerd': { version: '28.', suite: 'sid', daemon: { features: { 'containerd-snapshotter': true } } },
  'podman-4.3': { version: '4.3.', podman: true },
  /** For single suites and campaigns. */
  'podman-5.4': { version: '5.4.', suite: 'trixie', podman: true, isApart: true },
};

const cache = fileURLToPath(new URL('../../../node_modules/.cache/upkeep-engines/', import.meta.url));
const enginePackages = ['docker.io', 'docker-cli', 'containerd'];
const podmanPackages = ['podman', 'runc', 'netavark', 'aardvark-dns', 'nftables', 'base-files', 'bash', 'coreutils'];
const programs = ['dockerd', 'docker-proxy', 'docker', 'containerd', 'containerd-shim-runc-v2', 'ctr'];

/** The environment for this engine, or `failure`: the reason why it is not available here, as a message. */
export function obtainEngine(name, { log = () => {} } = {}) {
  const engine = engines[name];
  if (engine === undefined) return { failure: `"${name}" is no engine of the lab: ${Object.keys(engines).join(', ')}` };
  const folder =
    engine.suite === undefined ? undefined : join(cache, engine.podman ? `podman-${engine.suite}` : engine.suite);
  const fetch = engine.podman ? fetchPodman : fetchEngine;
  const failure = folder === undefined ? engine.podman && installPodman({ log }) : fetch(engine.suite, folder, log);
  if (failure) return { failure };
  const PATH = `${folder === undefined ? '' : `${folder}:`}${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`;
  const found = versionOf(engine.podman ? 'podman' : 'dockerd', PATH);
  if (!found.startsWith(engine.version))
    return { failure: `version ${engine.version}x is wanted, here is ${found || 'none'}` };
  return {
    version: found,
    environment: {
      PATH,
      LAB_ENGINE: name,
      LAB_DAEMON_JSON: engine.daemon === undefined ? '' : JSON.stringify(engine.daemon),
      LAB_PODMAN_ROOT: engine.podman && folder !== undefined ? join(folder, 'root') : '',
    },
  };
}

/**
 * `docker compose` and `docker buildx` as plugins, which the installed client lacks: `folder` is for
 * `cliPluginsExtraDirs` of Docker's config.json. About 35 MB, downloaded once.
 */
export function obtainPlugins({ log = () => {} } = {}) {
  const folder = join(cache, 'cli-plugins');
  if (existsSync(join(folder, 'docker-compose'))) return { folder };
  const mirror = debianMirror();
  if (mirror === undefined) return { failure: 'no Debian mirror is configured on this machine' };
  log('fetching docker-compose of Debian trixie');
  mkdirSync(cache, { recursive: true });
  const aside = mkdtempSync(join(tmpdir(), 'upkeep-plugins-'));
  try {
    const failure = unpackPackages(aside, { suite: 'trixie', mirror, packages: ['docker-compose', 'docker-buildx'] });
    if (failure) return { failure };
    const unpacked = mkdtempSync(join(cache, 'new-'));
    const plugins = [join(aside, 'root'), '-type', 'f', '-path', '*cli-plugins/docker-*'];
    run('find', [...plugins, '-exec', 'cp', '{}', unpacked, ';']);
    rmSync(folder, { recursive: true, force: true });
    renameSync(unpacked, folder);
    return { folder };
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

function versionOf(program, PATH) {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', env: { ...process.env, PATH } });
  return /version (\d[\w.]*)/.exec(stdout ?? '')?.[1] ?? '';
}

/** Undefined if the programs are available now; otherwise the reason. About 75 MB. */
function fetchEngine(suite, folder, log) {
  if (existsSync(join(folder, 'dockerd'))) return undefined;
  const mirror = debianMirror();
  if (mirror === undefined) return 'no Debian mirror is configured on this machine';
  log(`fetching the engine of Debian ${suite}`);
  mkdirSync(cache, { recursive: true });
  const aside = mkdtempSync(join(tmpdir(), 'upkeep-engine-'));
  try {
    const failure = unpackPackages(aside, { suite, mirror, packages: enginePackages });
    if (failure) return failure;
    const unpacked = mkdtempSync(join(cache, 'new-'));
    for (const program of programs)
      run('find', [
        join(aside, 'root'),
        '-type',
        'f',
        '-path',
        '*bin/*',
        '-name',
        program,
        '-exec',
        'cp',
        '{}',
        unpacked,
        ';',
      ]);
    if (!readdirSync(unpacked).includes('dockerd')) return `the packages of Debian ${suite} hold no dockerd`;
    rmSync(folder, { recursive: true, force: true });
    renameSync(unpacked, folder);
    return undefined;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** A root with Podman and its dependencies, 220 MB, and the program `podman` that runs in it. The lab mounts the rest there. */
function fetchPodman(suite, folder, log) {
  if (existsSync(join(folder, 'podman'))) return undefined;
  const mirror = debianMirror();
  if (mirror === undefined) return 'no Debian mirror is configured on this machine';
  log(`fetching Podman of Debian ${suite}`);
  mkdirSync(cache, { recursive: true });
  const aside = mkdtempSync(join(cache, 'new-'));
  try {
    const failure = unpackPackages(aside, { suite, mirror, packages: podmanPackages, withDependencies: true });
    if (failure) return failure;
    for (const file of ['hosts', 'resolv.conf']) writeFileSync(join(aside, 'root/etc', file), '');
    writeFileSync(join(aside, 'podman'), podmanScript, { mode: 0o755 });
    for (const part of ['lists', 'cache', 'debs']) rmSync(join(aside, part), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
    renameSync(aside, folder);
    return undefined;
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Outside of the lab it can only tell its version, for which it needs /proc. */
const podmanScript = `#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
[ -e "$root/proc/self" ] || exec unshare --mount sh -c 'mount --rbind /proc "$0/proc" && exec chroot "$0" /usr/bin/podman "$@"' "$root" "$@"
exec chroot "$root" /usr/bin/podman "$@"
`;

/** With its own lists and settings: the installed packages of this machine are not changed. */
function unpackPackages(dir, { suite, mirror, packages, withDependencies = false }) {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'debs', 'root'])
    mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(
    join(dir, 'sources.list'),
    `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} ${suite} main\n`,
  );
  const settings = {
    'Dir::Etc::sourcelist': join(dir, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::State::lists': join(dir, 'lists'),
    'Dir::State::status': '/dev/null',
    'APT::Install-Recommends': 'false',
    'Dir::Cache': join(dir, 'cache'),
    'APT::Sandbox::User': 'root',
    'Acquire::Retries': '3',
  };
  writeFileSync(
    join(dir, 'apt.conf'),
    Object.entries(settings)
      .map(([key, value]) => `${key} "${value}";\n`)
      .join(''),
  );
  const options = { cwd: join(dir, 'debs'), env: { ...process.env, APT_CONFIG: join(dir, 'apt.conf') } };
  const [verb, debs] = withDependencies
    ? [['install', '--download-only'], join(dir, 'cache/archives')]
    : [['download'], join(dir, 'debs')];
  const failure = run('apt-get', ['update', '-qq'], options) ?? run('apt-get', [...verb, '-qq', ...packages], options);
  if (failure) return `apt could not fetch ${packages.join(', ')} of Debian ${suite}: ${failure}`;
  // First the one with the links /bin and /lib, which other packages use.
  const files = readdirSync(debs).filter((file) => file.endsWith('.deb'));
  const [first, others] = [true, false].map((is) => files.filter((file) => file.startsWith('base-files_') === is));
  if (files.length === 0) return `apt has fetched none of ${packages.join(', ')} of Debian ${suite}`;
  for (const file of [...first, ...others]) {
    const broken = run('dpkg', ['-x', join(debs, file), join(dir, 'root')]);
    if (broken) return `dpkg could not unpack ${file}: ${broken}`;
  }
  return undefined;
}

/** The archive that this machine installs from. */
function debianMirror() {
  const parts = '/etc/apt/sources.list.d';
  const files = [
    '/etc/apt/sources.list',
    ...(existsSync(parts) ? readdirSync(parts).map((file) => join(parts, file)) : []),
  ];
  const text = files
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
  return /^(?:URIs:|deb(?: \[[^\]]*\])?) +(https?:\S+\/debian)\/?(?: .*)?$/m.exec(text)?.[1];
}

/** Undefined if the command succeeds; otherwise the end of its output. */
function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });
  if (result.status === 0) return undefined;
  return (result.stderr || result.stdout || String(result.error)).trim().split('\n').slice(-5).join(' / ');
}
