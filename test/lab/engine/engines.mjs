// The engines that the lab can run: Debian's own, and newer ones from its later suites, which work with bookworm's
// libc. They are unpacked beside the installed one and started from there.
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
};

const cache = fileURLToPath(new URL('../../../node_modules/.cache/upkeep-engines/', import.meta.url));
const enginePackages = ['docker.io', 'docker-cli', 'containerd'];
const programs = ['dockerd', 'docker-proxy', 'docker', 'containerd', 'containerd-shim-runc-v2', 'ctr'];

/** The environment for this engine, or `failure`: the reason why it is not available here, as a message. */
export function obtainEngine(name, { log = () => {} } = {}) {
  const engine = engines[name];
  if (engine === undefined) return { failure: `"${name}" is no engine of the lab: ${Object.keys(engines).join(', ')}` };
  const folder = engine.suite === undefined ? undefined : join(cache, engine.suite);
  const failure = engine.podman ? installPodman({ log }) : folder && fetchEngine(engine.suite, folder, log);
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

/** With its own lists and settings: the installed packages of this machine are not changed. */
function unpackPackages(dir, { suite, mirror, packages }) {
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
  const failure =
    run('apt-get', ['update', '-qq'], options) ?? run('apt-get', ['download', '-qq', ...packages], options);
  if (failure) return `apt could not fetch ${packages.join(', ')} of Debian ${suite}: ${failure}`;
  for (const file of readdirSync(join(dir, 'debs'))) run('dpkg', ['-x', join(dir, 'debs', file), join(dir, 'root')]);
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
