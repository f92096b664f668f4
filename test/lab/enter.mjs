// `npm run lab -- <command>`: runs a command in the lab. See README.md beside this file.
//   LAB_ENGINE=podman-4.3 npm run lab -- <command>     with another engine of engines.mjs
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { obtainEngine } from './engine/engines.mjs';
import { installLab } from './install.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = fileURLToPath(new URL('../../', import.meta.url));
/** Short, because a unix socket's path has at most 107 bytes. Contains our pid, so that the next run recognises remains. */
const prefix = 'upk-';
const temporary = '/tmp';

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const command = process.argv.slice(2);
  const reason = installLab({ log: (message) => console.error(`lab: ${message}`) });
  const name = process.env.LAB_ENGINE;
  const log = (message) => console.error(`lab: ${message}`);
  const engine = reason || !name ? {} : obtainEngine(name, { log });
  const failure = reason ?? (engine.failure && `no engine ${name}: ${engine.failure}`);
  if (failure) {
    console.error(`lab: cannot run here: ${failure}`);
    process.exitCode = 1;
  } else {
    process.exitCode = await enterLab(command.length > 0 ? command : ['bash'], engine);
  }
}

/**
 * Runs the command with private namespaces, an engine and a registry; resolves to its exit code. Everything ends with
 * it. `environment`: from `obtainEngine()`, for another engine than the installed one.
 */
export async function enterLab(command, { stdio = 'inherit', onChild = () => {}, environment = {} } = {}) {
  removeLeftovers();
  const dir = mkdtempSync(join(temporary, `${prefix}${process.pid}-`));
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    build(join(dir, 'bin'));
    return await run(dir, command, { stdio, onChild, environment });
  } finally {
    process.off('SIGINT', ignore);
    clean(dir);
  }
}

/** The lab's TypeScript, compiled for a Node that cannot run it directly. */
function build(outDir) {
  const tsc = join(root, 'node_modules/.bin/tsc');
  const result = spawnSync(tsc, ['-p', join(here, 'tsconfig.json'), '--outDir', outDir], { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`Cannot build the lab: ${result.stdout || result.error?.message}`);
  writeFileSync(join(outDir, 'package.json'), '{"type":"module"}');
}

/** Killing this process ends the lab: setpriv ties unshare to us, --kill-child ties the namespace's first process to unshare. */
function run(dir, command, { stdio, onChild, environment }) {
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc'];
  const inside = ['bash', join(here, 'inside.sh'), dir, process.execPath, join(dir, 'bin/inside.js'), ...command];
  return new Promise((resolve, reject) => {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', 'unshare', ...namespaces, '--', ...inside], {
      env: {
        ...process.env,
        PATH: `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`,
        ...environment,
        LAB_DIR: dir,
      },
      stdio,
    });
    onChild(child);
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** Removes the remains of killed runs. */
function removeLeftovers() {
  for (const name of readdirSync(temporary)) {
    const pid = /^upk-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) clean(join(temporary, name));
  }
}

function clean(dir) {
  const cgroups = '/sys/fs/cgroup';
  for (const hierarchy of existsSync(cgroups) ? ['', ...readdirSync(cgroups)] : []) {
    const folder = join(cgroups, hierarchy);
    if (!existsSync(join(folder, 'cgroup.procs'))) continue;
    for (const name of readdirSync(folder).filter((name) => name.startsWith(`${basename(dir)}-`)))
      removeCgroup(join(folder, name));
  }
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

/** The files of a cgroup cannot be removed, its folders can, from the leaves. A busy one is left to the next run. */
function removeCgroup(folder) {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeCgroup(join(folder, entry.name));
    rmdirSync(folder);
  } catch {
    // Its last process is still being reaped.
  }
}
