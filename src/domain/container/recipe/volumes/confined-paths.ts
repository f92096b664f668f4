import type { Container } from '../../container.ts';

type Field = 'MaskedPaths' | 'ReadonlyPaths';

/**
 * A list of the engine's own is left out, so that a newer engine protects as much as it now does.
 * An empty list is the user's (`systempaths=unconfined`), as is any other; null is the engine's for
 * a privileged container.
 */
export function confinedPaths({ settings }: Container, field: Field): unknown {
  const paths = settings.HostConfig[field];
  return isEngineDefault(paths, field) ? undefined : paths;
}

/** Whether an engine, of whatever version, chose the list. */
export function isEngineDefault(paths: unknown, field: Field): boolean {
  if (!Array.isArray(paths)) return paths === null || paths === undefined;
  const { always, sometimes } = defaults[field];
  return (
    always.every((path) => paths.includes(path)) &&
    paths.every((path) => always.includes(String(path)) || sometimes.test(String(path)))
  );
}

/** `always` is the list of 20.10; newer engines add to it: https://github.com/moby/moby/blob/v28.3.0/oci/defaults.go */
const defaults: Readonly<Record<Field, { readonly always: readonly string[]; readonly sometimes: RegExp }>> = {
  MaskedPaths: {
    always: [
      '/proc/asound',
      '/proc/acpi',
      '/proc/kcore',
      '/proc/keys',
      '/proc/latency_stats',
      '/proc/timer_list',
      '/proc/timer_stats',
      '/proc/sched_debug',
      '/proc/scsi',
      '/sys/firmware',
    ],
    sometimes:
      /^(?:\/proc\/interrupts|\/sys\/devices\/virtual\/powercap|\/sys\/devices\/system\/cpu\/cpu\d+\/thermal_throttle)$/,
  },
  ReadonlyPaths: {
    always: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    sometimes: /^$/,
  },
};
