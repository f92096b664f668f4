import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const everyMs = 30_000;

/** Prints the running suites and their finished tests: in place on a terminal, else every half minute. */
export function createProgress({ out = process.stdout } = {}) {
  const running = new Map();
  const isLive = out.isTTY;
  const clear = () => isLive && out.write('\r\u001B[K');
  const line = () =>
    [...running]
      .map(([name, { done, startedAt }]) => `${name} ${done} (${Math.round((performance.now() - startedAt) / 1000)} s)`)
      .join(', ');
  const show = () => {
    if (running.size === 0) return;
    if (isLive) out.write(`\r\u001B[K…    ${line().slice(0, Math.max(20, (out.columns ?? 80) - 6))}`);
    else out.write(`…    ${line()}\n`);
  };
  const timer = setInterval(show, isLive ? 1000 : everyMs).unref();
  return {
    start: (name) => void running.set(name, { done: 0, startedAt: performance.now() }),
    /** The dot reporter prints one character for each test. */
    onEvent(name, chunk) {
      const state = running.get(name);
      if (state) state.done += chunk.toString().match(/[·x*\-✓](?![a-z])/g)?.length ?? 0;
    },
    end: (name) => void running.delete(name),
    print(text) {
      clear();
      out.write(`${text}\n`);
    },
    stop() {
      clearInterval(timer);
      clear();
    },
  };
}

/** Durations of the suites in the last run on this machine, in seconds. */
export function readTimes(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

export function writeTimes(file, times) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(times, undefined, 2)}\n`);
}
