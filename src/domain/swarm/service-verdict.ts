import type { FailedVersion } from '../check/known-versions.ts';
import { unknownVerdict, verdict, type CheckSubject, type Verdict } from '../check/verdict.ts';
import type { FailedServiceVersion } from '../outside/engine.ts';
import type { VerifiedImage } from '../outside/registry.ts';
import { parseDigest } from '../image/image-reference.ts';
import { readLabels, type ServiceSettings } from '../settings/effective-settings.ts';
import { formatPlatform, type Platform } from '../image/platform.ts';
import { defined } from '../text/plain-data.ts';
import { quoted } from '../text/printable.ts';
import {
  digestIn,
  readServiceImage,
  type SwarmNode,
  type SwarmService,
  type SwarmTask,
} from '../container/swarm-service.ts';
import { dropInPrefix, familyPrefix, journalPrefix, ownPrefix, type Labels } from '../image/labels.ts';
import type { ContainerSummary } from '../container/container.ts';

const noImage = { image: undefined } as const;

/** The verdict without a registry. Undefined if a registry request is needed. */
export function judgeServiceAlone(service: SwarmService): Verdict | undefined {
  const { update } = service;
  const image = readServiceImage(service.image, service.labels);
  if (image.kind === 'unreadable') return unknownVerdict(image.reason, noImage);
  const digest = image.digest;
  if (update?.state === 'paused' || update?.state === 'rollback_paused') {
    const paused = update.state === 'paused' ? 'its last update' : 'the rollback of its last update';
    return { ...verdict('held', `The swarm has paused ${paused}: ${update.message}`, noImage), digest, hold: 'failed' };
  }
  return image.kind === 'pinned' ? { ...verdict('pinned', image.reason, noImage), digest } : undefined;
}

/** The platforms of a service's nodes. */
export function platformsOf(nodes: readonly SwarmNode[]): readonly Platform[] {
  const usable = nodes.filter(({ availability }) => availability !== 'drain');
  const platforms = (usable.length > 0 ? usable : nodes).map(({ platform }) => platform);
  return [...new Map(platforms.map((platform) => [formatPlatform(platform), platform])).values()];
}

/** A service in the form that the registry's check needs. */
export function subjectOfService(
  image: TaggedImage,
  failures: readonly FailedServiceVersion[],
  settings: Pick<CheckSubject, 'effective' | 'retryFailed' | 'ignoresMonitorOnly'>,
): CheckSubject {
  return {
    imageId: image.digest ?? '',
    reference: image.reference,
    image: undefined,
    isNamedByLabel: false,
    failedVersions: failures.map(asFailedVersion),
    ...settings,
    // This engine does not pull, and its images are not those of the nodes.
    effective: { ...settings.effective, noPull: false, tagPolicy: { kind: 'digest' } },
  };
}

/** Combines the verdicts for all platforms. A platform without an image runs no task of the service. */
export function joinVerdicts(
  service: SwarmService,
  image: TaggedImage,
  verdicts: readonly Verdict[],
  { failures, retryFailed }: Known,
): Verdict {
  const answered = verdicts.filter(({ hold }) => hold !== 'not-found');
  const [first] = answered.length > 0 ? answered : verdicts;
  if (first === undefined) return unknownVerdict('The swarm has no node', noImage);
  const worst = gravest.flatMap((each) => answered.find(({ status }) => status === each) ?? [])[0];
  const joined = { ...(worst ?? first), digest: image.digest };
  if (joined.status !== 'stale') return joined;
  if (isJob(service)) {
    return {
      ...joined,
      status: 'held',
      hold: 'other',
      reason: `${joined.reason}, but an update would run the job again`,
    };
  }
  if (!retryFailed && !isRemembered(service, failures) && isRolledBack(service, joined)) {
    const reason = `${joined.reason}, but the swarm has rolled its last update back: ${service.update?.message}`;
    return { ...joined, status: 'held', hold: 'failed', reason };
  }
  if (joined.verified?.isIndexUnsigned && isPulledByNodes(answered, joined.verified)) {
    const { verified: _, ...unverified } = joined;
    const reason = `${joined.reason}, but its index has no signature, and the nodes need several of its images: sign the index`;
    return { ...unverified, status: 'held', hold: 'unsigned', reason };
  }
  if (image.digest !== undefined) return joined;
  const reason = `${quoted(image.text)} is not pinned to a digest, so its nodes may run different images`;
  return { ...joined, reason };
}

/** Whether the nodes would choose from the index, because not all of them can run the verified image. */
function isPulledByNodes(answered: readonly Verdict[], { manifestDigest }: VerifiedImage): boolean {
  return answered.some(({ verified }) => verified?.manifestDigest !== manifestDigest);
}

type Known = {
  /** The failures of this service. */
  readonly failures: readonly FailedServiceVersion[];
  readonly retryFailed: boolean;
};

/** Whether the version of the last rollback is among the stored failures. A failure is stored after the rollback. */
function isRemembered({ update }: SwarmService, failures: readonly FailedServiceVersion[]): boolean {
  return failures.some(({ atMs }) => atMs + clockSkewMs >= (update?.startedAtMs ?? 0));
}

const clockSkewMs = 60_000;

const gravest: readonly Verdict['status'][] = ['unknown', 'held', 'stale'];

type TaggedImage = Extract<ReturnType<typeof readServiceImage>, { kind: 'tagged' }>;

/**
 * For a failure that could not be stored: the swarm rolled its last update back, and the tag still points at that
 * version. The swarm shows the version only if the rollback was requested.
 */
function isRolledBack({ update, previous }: SwarmService, { latestDigest, newest }: Verdict): boolean {
  if (update?.state !== 'rollback_completed') return false;
  // The digest of the index, or of its image for the nodes: see `planServices`.
  if (previous !== undefined) return [latestDigest, newest?.manifestDigest].includes(digestIn(previous.image));
  return (newest?.createdAtMs ?? 0) < (update.startedAtMs ?? 0);
}

/** Only the digest of a service's image is known. */
function asFailedVersion({ digest, atMs, configId, askedBy }: FailedServiceVersion): FailedVersion {
  return { tag: configId, imageId: parseDigest(digest) ?? '', nameKey: '', atMs, ...defined({ askedBy }) };
}

/**
 * Why newer versions of a service wait: a label that restrains the updates of a container, and cannot work on a service.
 * A sentence without a final period. Undefined without such a label.
 */
export function whyHeldByLabel(
  service: SwarmService,
  { lifecycleHooks }: Pick<ServiceSettings, 'lifecycleHooks'>,
): string | undefined {
  const found = restraintsOf(service);
  const labels = Object.fromEntries(found.map(({ label, text }) => [label, text]));
  const { noPull, noRestart, fromRegistry, data, healthProbe } = readLabels(labels, {}).labelSettings;
  // A text that cannot be read may be meant as a restriction.
  const restrains: Readonly<Record<string, boolean>> = {
    'no-pull': noPull !== false,
    'no-restart': noRestart !== false,
    'from-registry': fromRegistry !== true,
    data: data?.kind !== 'none',
    'health-probe': healthProbe?.kind !== 'none',
    'lifecycle.pre-update': lifecycleHooks,
  };
  const { label } = found.find(({ name, text }) => text.trim() !== '' && restrains[name] !== false) ?? {};
  if (label === undefined) return undefined;
  return `Its label ${quoted(label)} cannot be followed on a service: ${whyNot(label)}; remove it to update the service`;
}

/** Why an update must not begin, before any change. Undefined without an obstacle. */
type ServiceRefusal = { readonly outcome: 'skipped' | 'deferred'; readonly reason: string };

export function whyNotUpdated(
  service: SwarmService,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): ServiceRefusal | undefined {
  const { mode, update, order, hasHostPorts } = service;
  if (isJob(service)) return { outcome: 'skipped', reason: 'It is a job, and an update would run it again' };
  if (update?.state === 'updating' || update?.state === 'rollback_started') {
    return { outcome: 'deferred', reason: 'The swarm is executing another update of it' };
  }
  if (order === 'start-first' && hasHostPorts && service.replicas !== 0) {
    const taken = new Set(tasks.filter(({ desired }) => desired === 'running').map(({ nodeId }) => nodeId));
    const free = nodes.filter((node) => isUsable(node) && fits(node, service.constraints) && !taken.has(node.id));
    if (mode === 'global' || free.length === 0) {
      const reason =
        'It publishes a port in host mode and starts first, and every node that fits has a task of it: the swarm would wait forever. Set update_config.order to stop-first, or add a node';
      return { outcome: 'skipped', reason };
    }
  }
  return undefined;
}

function isJob({ mode }: Pick<SwarmService, 'mode'>): boolean {
  return mode === 'replicated-job' || mode === 'global-job';
}

function isUsable({ state, availability }: SwarmNode): boolean {
  return state === 'ready' && availability === 'active';
}

/**
 * A constraint that cannot be read here counts as met; the swarm decides.
 * https://docs.docker.com/engine/swarm/services/#placement-constraints
 */
function fits(node: SwarmNode, constraints: readonly string[]): boolean {
  return constraints.every((constraint) => {
    const [, key = '', operator = '', wanted = ''] = /^\s*(\S+?)\s*(==|!=)\s*(.*?)\s*$/.exec(constraint) ?? [];
    const value = valueOf(node, key);
    if (value === undefined) return true;
    return (value.toLowerCase() === wanted.toLowerCase()) === (operator === '==');
  });
}

function valueOf({ id, hostname, role, labels, platform }: SwarmNode, key: string): string | undefined {
  if (key.startsWith('node.labels.')) return labels[key.slice('node.labels.'.length)] ?? '';
  const values = { 'node.id': id, 'node.hostname': hostname, 'node.role': role, 'node.platform.os': platform.os };
  return new Map(Object.entries(values)).get(key);
}

/**
 * The platforms to write into a spec with its new image. Undefined if the spec keeps its own. Docker's client writes an
 * index's platforms when it pins an image, and the swarm then starts tasks only on nodes with these platforms:
 * https://github.com/docker/cli/blob/master/vendor/github.com/moby/moby/client/service_create.go
 */
export function newPlatforms(
  written: readonly Platform[] | undefined,
  offered: readonly Platform[],
): readonly Platform[] | undefined {
  if (written === undefined || written.length === 0 || offered.length === 0) return undefined;
  const [before, after] = [keysOf(written), keysOf(offered)];
  return before.size === after.size && [...after.keys()].every((key) => before.has(key))
    ? undefined
    : [...after.values()];
}

/** A spec has no variants, and no architecture for arm, which nodes report by its variant. */
function keysOf(platforms: readonly Platform[]): ReadonlyMap<string, Platform> {
  return new Map(
    platforms.map((platform) => {
      const { os, architecture } = platform;
      return [`${os}/${architecture === 'arm' ? '' : architecture}`, platform];
    }),
  );
}

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
    .filter(
      (label) => !hasEffect(label) && !restraints.includes(nameOf(label) ?? '') && !label.startsWith(journalPrefix),
    )
    .slice(0, maxWarnings)
    .map((label) => `The label ${quoted(label)} has no effect on a service: ${whyNot(label)}`);
}

const maxWarnings = 20;

/** Its own labels over those of its containers. */
function labelsOfService({ labels, containerLabels }: SwarmService): Labels {
  return { ...containerLabels, ...labels };
}

function hasEffect(label: string): boolean {
  const name = nameOf(label);
  return name === undefined || supportedNames.includes(name);
}

/** Without its prefix. Undefined for a label of a tool outside Watchtower's family. */
function nameOf(label: string): string | undefined {
  const prefix = [ownPrefix, dropInPrefix].find((each) => label.startsWith(each));
  if (prefix !== undefined) return label.slice(prefix.length);
  return label.startsWith(familyPrefix) ? label : undefined;
}

/**
 * Its labels that restrain the updates of a container, and cannot be followed on a service, so that they hold it back:
 * see `whyHeldByLabel`. `name` is without the prefix.
 */
function restraintsOf(service: SwarmService): readonly { label: string; name: string; text: string }[] {
  return Object.entries(labelsOfService(service)).flatMap(([label, text]) => {
    const name = nameOf(label);
    return name !== undefined && restraints.includes(name) ? [{ label, name, text }] : [];
  });
}

const restraints: readonly string[] = [
  'no-pull',
  'no-restart',
  'from-registry',
  'data',
  'health-probe',
  'lifecycle.pre-update',
];

const supportedNames: readonly string[] = [
  'enable',
  'monitor-only',
  'scope',
  'cooldown-delay',
  'approve',
  'window',
  'verify',
  'verify-identity',
  'verify-annotation',
  'depends-on',
  'health-window',
  'health-timeout',
  'notify',
];

/** Why a label cannot be followed on a service: a clause. */
function whyNot(label: string): string {
  if (/lifecycle|pre-|post-|health-probe/.test(label))
    return 'it needs a shell, or an address, on the node of each task';
  if (/start-first|stop-|keep-old|no-restart|auto-remove/.test(label))
    return "the swarm replaces its tasks, by the service's own update_config";
  if (/\.data\b/.test(label)) return 'the swarm starts and stops its tasks by itself, so their data cannot be copied';
  if (label.endsWith('no-pull')) return 'the nodes pull its image themselves';
  return `a service supports only ${supportedNames.slice(0, -1).join(', ')} and ${supportedNames.at(-1)}`;
}
