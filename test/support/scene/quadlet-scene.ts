import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Daemon, startDaemon } from '../../lab/engine/daemon.ts';
import type { Lab } from '../../lab/lab.ts';

/** One of Podman's folders, in the lab's own /run. */
const units = '/run/containers/systemd';

export type QuadletScene = {
  /** For Upkeep: its `systemctl` comes first. */
  readonly path: string;
  readonly folder: string;
  /** The path of a `.container` file. */
  readonly fileOf: (name: string) => string;
  readonly systemctl: (...words: readonly string[]) => string;
  /** Writes `NAME.container`, lets systemd read it, and starts its unit. */
  readonly start: (name: string, image: string, more?: string) => void;
  /** A shell command that runs `before` or `after` the next call of `systemctl` with this verb. `$upkeep` is the caller. */
  readonly at: (when: 'before' | 'after' | 'instead', verb: string, command: string) => void;
  readonly clear: () => void;
  readonly remove: () => Promise<void>;
};

/**
 * A manager of systemd with Quadlet's generator, beside the lab's Podman. It is a user's manager, because the lab has no
 * systemd as its first process; a `systemctl` in front of systemd's asks it where Upkeep asks the system's.
 */
export async function startQuadlet(lab: Lab): Promise<QuadletScene> {
  const folder = mkdtempSync(join(lab.dir, 'quadlet-'));
  const runtime = join(folder, 'run');
  const bin = join(folder, 'bin');
  const hooks = join(folder, 'hooks');
  // systemd starts no manager of a user where its first folder is missing.
  for (const each of [runtime, bin, hooks, units, '/run/systemd/system', '/run/systemd/user-generators'])
    mkdirSync(each, { recursive: true, mode: 0o755 });
  chmodSync(runtime, 0o700);
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config') };
  const script = (path: string, text: string) => writeFileSync(path, `#!/bin/sh\n${text}`, { mode: 0o755 });

  const podman = join(bin, 'podman-of-the-lab');
  const path = process.env['PATH'] ?? '';
  script(podman, `export PATH=${path}\n${podmanVariables(dirname(lab.engine.socket))}\nexec podman "$@"\n`);
  const ofManager = '/run/systemd/user-generators/lab-quadlet';
  const settings = `export QUADLET_UNIT_DIRS=${units} PODMAN=${podman}`;
  script(ofManager, `${settings}\nexec chroot ${podmanRoot()} /${generator} --no-kmsg-log "$@"\n`);

  script(
    join(bin, 'systemctl'),
    `export XDG_RUNTIME_DIR=${runtime} upkeep=$PPID
for word; do case $word in --*) ;; *) verb=$word; break;; esac; done
hook() { [ -e ${hooks}/$1-$verb ] || return 1; mv ${hooks}/$1-$verb ${hooks}/used-$1-$verb; sh ${hooks}/used-$1-$verb "$@"; }
hook before
[ "$1" = --system ] || { echo "the test has no other manager" >&2; exit 1; }
shift
hook instead; code=$?
[ -e ${hooks}/used-instead-$verb ] && { rm ${hooks}/used-instead-$verb; exit $code; }
/usr/bin/systemctl --user "$@"; code=$?
hook after
exit $code
`,
  );
  const systemctl = (...words: readonly string[]) => {
    const run = spawnSync('/usr/bin/systemctl', ['--user', ...words], { env, encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`systemctl ${words.join(' ')}: ${run.stdout}${run.stderr}`);
    return run.stdout.trim();
  };
  const manager: Daemon = await startDaemon({
    command: ['/usr/lib/systemd/systemd', '--user', '--unit=basic.target', '--log-target=console'],
    logFile: join(folder, 'systemd.log'),
    env,
    ready: async () => systemctl('show', '--property=Version') !== '',
  });
  const names = new Set<string>();
  const clear = () => {
    for (const name of names) {
      spawnSync('/usr/bin/systemctl', ['--user', 'stop', `${name}.service`], { env });
      rmSync(join(units, `${name}.container`), { force: true });
      rmSync(join(units, `${name}.container.d`), { force: true, recursive: true });
    }
    names.clear();
    rmSync(hooks, { recursive: true });
    mkdirSync(hooks);
    systemctl('daemon-reload');
    spawnSync('/usr/bin/systemctl', ['--user', 'reset-failed'], { env });
  };
  return {
    path: `${bin}:${path}`,
    folder: units,
    fileOf: (name) => join(units, `${name}.container`),
    systemctl,
    start(name, image, more = '') {
      names.add(name);
      const text = `# ${name}\n[Container]\nImage=${image}\nContainerName=${name}\n${more}\n[Service]\nTimeoutStopSec=5\n`;
      writeFileSync(join(units, `${name}.container`), text);
      systemctl('daemon-reload');
      try {
        systemctl('start', `${name}.service`);
      } catch (error) {
        throw new Error(readFileSync(join(folder, 'systemd.log'), 'utf8').slice(-3000), { cause: error });
      }
    },
    at: (when, verb, command) => writeFileSync(join(hooks, `${when}-${verb}`), command),
    clear,
    async remove() {
      clear();
      await manager.stop();
      rmSync(ofManager, { force: true });
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** As `startPodman` starts its service. */
function podmanVariables(dir: string): string {
  const variables = {
    HOME: 'home',
    TMPDIR: 'tmp',
    CONTAINERS_CONF: 'etc/containers.conf',
    CONTAINERS_STORAGE_CONF: 'etc/storage.conf',
    CONTAINERS_REGISTRIES_CONF: 'etc/registries.conf',
    REGISTRY_AUTH_FILE: 'etc/auth.json',
    XDG_RUNTIME_DIR: 'run',
  };
  return Object.entries(variables)
    .map(([name, path]) => `export ${name}=${join(dir, path)}`)
    .join('\n');
}

/** Whether the lab has the programs: Podman 4.4 or newer, and systemd of this machine. */
export function hasQuadlet(): boolean {
  const programs = ['/usr/lib/systemd/systemd', '/usr/bin/systemctl', join(podmanRoot(), generator)];
  return podmanRoot() !== '' && programs.every((path) => existsSync(path));
}

function podmanRoot(): string {
  return process.env['LAB_PODMAN_ROOT'] ?? '';
}

const generator = 'usr/libexec/podman/quadlet';
