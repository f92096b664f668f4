import type { Container } from '../../container.ts';

type Field = 'MaskedPaths' | 'ReadonlyPaths';

/**
 * A default list of the engine is left out, so that a newer engine applies its own list. An empty list is the user's
 * (`systempaths=unconfined`), like any other list. For a privileged container the engine shows null.
 */
export function confinedPaths({ settings }: Container, field: Field): unknown {
  const paths = settings.HostConfig[field];
  return isEngineDefault(paths, field) ? undefined : paths;
}

/** Whether the list is a default of any engine version. */
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
