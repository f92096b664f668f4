import type { Container } from '../container/container.ts';
import { networkOfRepeatedMac, hasHostNetwork, sharesNetwork } from '../container/recipe/networks.ts';
import { effectiveSettings, labelValuesOf, type ServiceSettings } from '../settings/effective-settings.ts';
import { quoted } from '../text/printable.ts';
import { removesItself } from '../transaction/auto-remove.ts';

/**
 * Whether the successor may start and prove itself beside the old container, so that there is no downtime. Otherwise
 * the old one is stopped first. `reason` follows its name: `publishes a port`.
 */
export type StartOrder =
  | { readonly kind: 'stop-first' }
  | { readonly kind: 'start-first' }
  | { readonly kind: 'impossible'; readonly reason: string };

/**
 * The start order of a container. The option applies if two instances can run together, by the container's settings.
 * The label also allows shared writable volumes, because its author knows the program.
 */
export function startOrderOf(container: Container, settings: Pick<ServiceSettings, 'startFirst'>): StartOrder {
  const labelValues = labelValuesOf(container);
  if (!effectiveSettings(settings, labelValues).startFirst) return { kind: 'stop-first' };
  const reason =
    whyNotSideBySide(container) ?? (labelValues.startFirst === true ? undefined : whyNotBesideItself(container));
  return reason === undefined ? { kind: 'start-first' } : { kind: 'impossible', reason };
}

/** Checks for resources that an engine gives to one container at a time. */
function whyNotSideBySide(container: Container): string | undefined {
  const { Config, HostConfig, Networks } = container.settings;
  if (container.state.status !== 'running') return 'does not run';
  if (removesItself(container)) return 'is removed by the engine as soon as it stops (--rm)';
  if (hasHostNetwork(container) || sharesNetwork(container)) return 'has no network of its own';
  const bindings = Object.values(HostConfig.PortBindings ?? {}).flatMap((bound) => bound ?? []);
  if (bindings.some(({ HostPort = '' }) => HostPort !== '' && HostPort !== '0')) return 'publishes a fixed port';
  if (Config.MacAddress) return 'has a fixed hardware address';
  const repeating = networkOfRepeatedMac(container);
  if (repeating !== undefined) return `has a hardware address in ${quoted(repeating, 64)} that both would have`;
  const isFixed = Object.values(Networks).some(({ IPAMConfig }) => Object.values(IPAMConfig ?? {}).some(isGiven));
  return isFixed ? 'has a fixed address' : undefined;
}

function whyNotBesideItself({ settings }: Container): string | undefined {
  const shared = settings.Mounts.find(({ Type, RW }) => Type !== 'tmpfs' && RW !== false);
  return shared === undefined ? undefined : 'has a volume or folder that both could write to';
}

function isGiven(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== null && value !== '';
}
