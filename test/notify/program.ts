import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A server program from a Debian package, with its output by lines. */
export type Program = {
  readonly child: ChildProcess;
  /** The next line that passes; earlier lines are dropped. */
  readonly line: (passes?: (line: string) => boolean) => Promise<string>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export function startProgram(command: string, args: readonly string[]): Program {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  const waiting: (() => void)[] = [];
  const wake = (): void => waiting.splice(0).forEach((go) => go());
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
  });
  let hasEnded = false;
  const keep = (line: string): void => {
    lines.push(line);
    wake();
  };
  createInterface({ input: child.stdout }).on('line', keep);
  createInterface({ input: child.stderr }).on('line', keep);
  void ended.then(() => {
    hasEnded = true;
    wake();
  });
  return {
    child,
    async line(passes = () => true) {
      for (;;) {
        for (let next = lines.shift(); next !== undefined; next = lines.shift()) if (passes(next)) return next;
        if (hasEnded) throw new Error(`${command} has ended`);
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
