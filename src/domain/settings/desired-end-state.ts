import { type Container, isAlive, restartPolicyOf } from '../container/container.ts';
import type { RestartPolicy } from '../container/container-settings.ts';
import { effectiveSettings } from './effective-settings.ts';
import { labelValuesOf } from './labels.ts';
import type { ServiceSettings } from './service-settings.ts';

/**
 * The state of a successor at the end of its update. `running`: it runs and is proven. `started`: the same, or it has
 * exited with code 0. `completed`: it is a job that others wait for and has exited with code 0. `stopped`: it was never
 * started, so nothing is proven.
 */
export type DesiredEndState = (typeof desiredEndState)[number];

export const desiredEndState = ['running', 'started', 'completed', 'stopped'] as const;

export type DesiredEndStateSettings = Pick<ServiceSettings, 'noRestart' | 'reviveStopped' | 'labelTakesPrecedence'>;

export type MemberRole = {
  /**
   * True for a container that is only re-created because of another one. If it was stopped, it stays stopped under all
   * settings.
   */
  readonly isLinked: boolean;
  /** Other containers wait for it to complete. */
  readonly isJob: boolean;
};

/**
 * A running container is started again and a stopped one stays stopped, unless `no-restart` or `revive-stopped` change
 * it. A stopped one that its restart policy lets end may be a job.
 */
export function desiredEndStateOf(
  container: Container,
  { isLinked, isJob }: MemberRole,
  settings: DesiredEndStateSettings,
): DesiredEndState {
  const { noRestart } = effectiveSettings(settings, labelValuesOf(container));
  const isStarted = isAlive(container.state.status) || (settings.reviveStopped && !isLinked);
  if (!isStarted || noRestart) return 'stopped';
  if (isJob) return 'completed';
  return !isAlive(container.state.status) && mayEnd(restartPolicyOf(container)) ? 'started' : 'running';
}

/** Whether the engine leaves a process ended that has exited with code 0. */
function mayEnd({ Name }: RestartPolicy): boolean {
  return Name !== 'always' && Name !== 'unless-stopped';
}
