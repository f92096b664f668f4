import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type UpkeepRun = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type UpkeepOptions = {
  /** Of the engine; `--host` is added. */
  readonly socket?: string;
  /** The whole environment but PATH. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called once the process is there, to kill or signal it. */
  readonly onStart?: (child: ChildProcess) => void;
};

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Runs the built executable as a person would, without any of this process's environment. */
export function runUpkeep(
  args: readonly string[],
  { socket, env = {}, onStart }: UpkeepOptions = {},
): Promise<UpkeepRun> {
  const host = socket === undefined ? [] : ['--host', `unix://${socket}`];
  const child = spawn(process.execPath, [main, ...args, ...host], {
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onStart?.(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}
