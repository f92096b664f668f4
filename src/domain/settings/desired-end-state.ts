import { type Container, isAlive } from '../container/container.ts';
import { effectiveSettings } from './effective-settings.ts';
import { labelValuesOf } from './labels.ts';
import type { ServiceSettings } from './service-settings.ts';

/**
 * The state of a successor at the end of its update. `running`: it runs and is proven. `completed`: it is a job that
 * has exited with code 0. `stopped`: it was never started, so nothing is proven.
 */
export type DesiredEndState = (typeof desiredEndState)[number];

export const desiredEndState = ['running', 'completed', 'stopped'] as const;

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
 * it.
 */
export function desiredEndStateOf(
  container: Container,
  { isLinked, isJob }: MemberRole,
  settings: DesiredEndStateSettings,
): DesiredEndState {
  const { noRestart } = effectiveSettings(settings, labelValuesOf(container));
  const isStarted = isAlive(container.state.status) || (settings.reviveStopped && !isLinked);
  if (!isStarted || noRestart) return 'stopped';
  return isJob ? 'completed' : 'running';
}
