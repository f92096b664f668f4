import type { Container } from '../container/container.ts';
import { ownJournal } from './journal.ts';

/** Whether the engine removes the container as soon as it stops (`--rm`). */
export function removesItself({ settings }: Container): boolean {
  return settings.HostConfig.AutoRemove === true;
}

/**
 * Whether the container's successor must be `--rm`: the container is `--rm`, or it is a replica that replaced one in a
 * rollback and still has no restart policy. A container with `--rm` cannot have a policy.
 */
export function hasSelfRemovingSuccessor(container: Container): boolean {
  const { settings, imageLabels } = container;
  const { Config, HostConfig } = settings;
  const policy = HostConfig.RestartPolicy?.Name ?? '';
  if (removesItself(container)) return true;
  if (policy !== '' && policy !== 'no') return false;
  return ownJournal(Config.Labels ?? {}, imageLabels ?? {})?.role === 'standin';
}

/** The same container, as if created with or without `--rm`. */
export function withAutoRemove(container: Container, AutoRemove: boolean): Container {
  const { settings } = container;
  if ((settings.HostConfig.AutoRemove === true) === AutoRemove) return container;
  return { ...container, settings: { ...settings, HostConfig: { ...settings.HostConfig, AutoRemove } } };
}
