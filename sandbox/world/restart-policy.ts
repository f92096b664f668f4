import type { SandboxContainer } from './world.ts';

/** Whether the engine starts it again after an exit without a stop request. */
export function restartsByItself({ hostConfig, restartCount }: SandboxContainer, exitCode: number): boolean {
  const { Name: name = '', MaximumRetryCount: most = 0 } = hostConfig.RestartPolicy ?? {};
  if (name === 'on-failure') return exitCode !== 0 && (most === 0 || restartCount < most);
  return name === 'always' || name === 'unless-stopped';
}

/** 100 ms, doubled with every failure, one minute at most: https://docs.docker.com/reference/cli/docker/container/run/#restart */
export function restartDelayMs(failuresInARow: number): number {
  return Math.min(100 * 2 ** Math.max(0, failuresInARow - 1), 60_000);
}
