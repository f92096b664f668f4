import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type UpkeepRun = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type UpkeepOptions = {
  /** The engine's socket; `--host` is added. */
  readonly socket?: string;
  /** The whole environment except for PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called once the process exists, to kill or signal it. */
  readonly onStart?: (child: ChildProcess) => void;
  /** User of the process, if it is not this process's; needs root. */
  readonly uid?: number;
  /** Limit of open files. */
  readonly openFiles?: number;
  /** Path of another Node than this process's. */
  readonly node?: string;
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
};

/** A running process. */
export type UpkeepProcess = {
  readonly child: ChildProcess;
  /** Resolves once the text is on standard output or error; rejects if the process ends without it. */
  readonly seen: (text: string) => Promise<void>;
  readonly ended: Promise<UpkeepRun>;
  /** Output so far. */
  readonly output: () => string;
};

const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

/** Runs the built executable, without this process's environment. */
export function runUpkeep(args: readonly string[], options: UpkeepOptions = {}): Promise<UpkeepRun> {
  const { child, ended } = startUpkeep(args, options);
  options.onStart?.(child);
  return ended;
}

export function startUpkeep(args: readonly string[], options: Omit<UpkeepOptions, 'onStart'> = {}): UpkeepProcess {
  const { socket, env = {}, uid, openFiles, node = process.execPath, nodeOptions = [] } = options;
  const host = socket === undefined ? [] : ['--host', `unix://${socket}`];
  const command = [node, ...nodeOptions, main, ...args, ...host];
  const limit = openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles}; exec "$0" "$@"`];
  const [program = '', ...words] = [...limit, ...command];
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<UpkeepRun>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  const seen = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if ((stdout + stderr).includes(text)) resolve();
      };
      for (const stream of [child.stdout, child.stderr]) stream.on('data', look);
      look();
      void ended.then(() => reject(new Error(`It ended without ${JSON.stringify(text)}:\n${stdout}${stderr}`)));
    });
  return { child, seen, ended, output: () => stdout + stderr };
}
