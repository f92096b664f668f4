import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Daemon, startDaemon } from './daemon.ts';
import type { EngineOptions, LabEngine } from './engine.ts';
import { engineClient } from './engine-client.ts';
import { removeWithMounts } from '../remains.ts';

/** Whether Podman is installed, for tests with Podman beside Docker. Inside the lab it cannot be installed. */
export const hasPodman = spawnSync('podman', ['--version']).status === 0;

/** Whether this lab's engine is Podman instead of Docker. */
export const isPodman = process.env['LAB_ENGINE']?.startsWith('podman') ?? false;

/**
 * Podman's service of the Docker API, with its own storage, networks and configuration. Its containers continue without
 * it. Without a daemon that stops them, `powerCut()` throws.
 */
export async function startPodman(labDir: string, options: EngineOptions): Promise<LabEngine> {
  const { name, args = [], startedBy = ['env'] } = options;
  if (args.length > 0) throw new Error(`Cannot start "${name}": Podman does not know ${args.join(' ')}`);
  const dir = join(labDir, name);
  const socket = join(dir, 'docker.sock');
  const client = engineClient(socket);
  const env = configure(dir);
  let daemon: Daemon | undefined;

  const start = async (): Promise<void> => {
    daemon = await startDaemon({
      command: [...startedBy, 'podman', 'system', 'service', '--time=0', `unix://${socket}`],
      logFile: join(dir, 'podman.log'),
      env,
      ready: async () => (await client.call('GET', '/_ping')).status === 200,
    });
  };
  await start();
  // The service does not store its pid.
  writeFileSync(join(dir, 'pid'), String(daemon?.pid));
  return {
    ...client,
    name,
    dir,
    socket,
    pid: () => daemon?.pid ?? 0,
    kill: async () => daemon?.kill(),
    stop: async () => daemon?.stop(),
    start,
    powerCut: () => Promise.reject(new Error('Podman has no daemon whose end stops its containers')),
    remove: async () => {
      const [program, ...words] = [...startedBy, 'podman', 'rm', '--all', '--force', '--time', '0'];
      execFileSync(program, words, { env: { ...process.env, ...env }, stdio: 'ignore' });
      await daemon?.kill();
      await removeWithMounts(dir);
    },
  };
}

/** Writes Podman's files; returns the environment in which it finds them. */
function configure(dir: string): Readonly<Record<string, string>> {
  const folder = (part: string): string => {
    mkdirSync(join(dir, part), { recursive: true });
    return join(dir, part);
  };
  const file = (part: string, text: string): string => {
    writeFileSync(join(folder('etc'), part), text);
    return join(dir, 'etc', part);
  };
  return {
    HOME: folder('home'),
    XDG_RUNTIME_DIR: folder('run'),
    TMPDIR: folder('tmp'),
    CONTAINERS_CONF: file('containers.conf', containersConf(folder('libpod'), folder('networks'))),
    CONTAINERS_STORAGE_CONF: file(
      'storage.conf',
      `[storage]\ndriver="overlay"\ngraphroot="${join(dir, 'data')}"\nrunroot="${join(dir, 'x')}"\n`,
    ),
    CONTAINERS_REGISTRIES_CONF: file('registries.conf', registriesConf),
    REGISTRY_AUTH_FILE: file('auth.json', '{}'),
  };
}

/** runc, because crun refuses mixed cgroups; no systemd, hence no journal, and no health checks either. */
const containersConf = (runFolder: string, networkFolder: string): string => `[engine]
cgroup_manager="cgroupfs"
events_logger="file"
runtime="runc"
tmp_dir="${runFolder}"
helper_binaries_dir=["/usr/lib/podman","/usr/libexec/podman"]
[network]
network_backend="netavark"
network_config_dir="${networkFolder}"
[containers]
log_driver="k8s-file"
apparmor_profile="unconfined"
`;

const registriesConf = `unqualified-search-registries=["docker.io"]
short-name-mode="permissive"
[[registry]]
location="127.0.0.1"
insecure=true
`;
