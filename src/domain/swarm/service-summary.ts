import type { ContainerSummary } from '../container/container.ts';
import { familyPrefix, journalPrefix, type Labels, ownPrefix } from '../image/image-labels.ts';
import { quoted } from '../text/printable.ts';
import { readServiceImage } from './service-image.ts';
import type { SwarmService } from './swarm-service.ts';

/**
 * A service in the form of a container, for the rules of selection, without an image of this engine. Its own labels
 * take precedence over those of its containers. Labels without effect on a service are omitted.
 */
export function summaryOfService(service: SwarmService): ContainerSummary {
  const { id, name, image, createdAtMs } = service;
  return {
    id,
    name,
    image: readServiceImage(image, service.labels).text,
    imageId: '',
    status: isRestarting(service) ? 'restarting' : 'running',
    health: 'none',
    labels: Object.fromEntries(Object.entries(labelsOfService(service)).filter(([label]) => hasEffect(label))),
    // Docker's lists have whole seconds.
    createdAtMs: Math.floor(createdAtMs / 1000) * 1000,
    networkMode: '',
  };
}

/**
 * Whether its tasks end as soon as they start. During an update, no task may run for a moment. A global service that no
 * node fits wants no task.
 */
function isRestarting({ count, mode, replicas, update }: SwarmService): boolean {
  if (count === undefined || count.running > 0 || replicas === 0) return false;
  if (mode === 'global' && count.wanted === 0) return false;
  return update === undefined || update.state === 'completed' || update.state === 'rollback_completed';
}

/** Warnings about its labels without effect on a service, with the reasons; safe to print. */
export function labelsWithoutEffect(service: SwarmService): readonly string[] {
  return Object.keys(labelsOfService(service))
    .filter((label) => !hasEffect(label) && !holdsBack(label) && !label.startsWith(journalPrefix))
    .slice(0, mostWarnings)
    .map((label) => `The label ${quoted(label)} has no effect on a service: ${whyNot(label)}`);
}

const mostWarnings = 20;

/** Its own labels over those of its containers. */
export function labelsOfService({ labels, containerLabels }: SwarmService): Labels {
  return { ...containerLabels, ...labels };
}

function hasEffect(label: string): boolean {
  const name = nameOf(label);
  return name === undefined || supportedNames.includes(name);
}

/** Without its prefix. Undefined for a label of another tool. */
export function nameOf(label: string): string | undefined {
  if (label.startsWith(ownPrefix)) return label.slice(ownPrefix.length);
  return label.startsWith(familyPrefix) ? label.slice(label.lastIndexOf('.') + 1) : undefined;
}

/** A label that restrains updates, and cannot be followed: it holds the service back. See `whyHeldByLabel`. */
function holdsBack(label: string): boolean {
  return ['no-pull', 'health-probe', 'lifecycle.pre-update', 'pre-update'].includes(nameOf(label) ?? '');
}

const supportedNames: readonly string[] = [
  'enable',
  'monitor-only',
  'scope',
  'cooldown-delay',
  'approve',
  'window',
  'verify',
  'depends-on',
  'health-window',
  'health-timeout',
  'notify',
];

/** Why a label cannot be followed on a service: a clause. */
export function whyNot(label: string): string {
  if (/lifecycle|pre-|post-|health-probe/.test(label))
    return 'it needs a shell, or an address, on the node of each task';
  if (/start-first|stop-|keep-old|no-restart|auto-remove/.test(label))
    return "the swarm replaces its tasks, by the service's own update_config";
  if (label.endsWith('no-pull')) return 'the nodes pull its image themselves';
  return `a service supports only ${supportedNames.slice(0, -1).join(', ')} and ${supportedNames.at(-1)}`;
}
