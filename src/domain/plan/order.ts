/** The order of the transactions of a plan: by the networks that a pull needs, and canaries first. */

import type { ContainerSummary } from '../container/container.ts';
import type { EngineInfo } from '../outside/engine.ts';
import { repositoryName, tryParseImageReference, type Digest } from '../image/image-reference.ts';
import type { PlannedTransaction, UpdatePlan, CanaryGroup, PlannedMember } from './update-plan.ts';
import { strongComponents } from './dependency-graph.ts';
import { composeReferenceOf } from './replacement.ts';
import { addTo } from '../text/plain-data.ts';
import type { Staleness } from '../check/verdict.ts';
import type { Hold } from '../decision/decisions.ts';
import type { ContainerOutcome } from '../run/session.ts';
import { labelValuesOf, type ServiceSettings } from '../settings/effective-settings.ts';
import { quoted } from '../text/printable.ts';

/** Which transactions of a plan wait for others because of the network that pulls need, or of a tag. */
export type NetworkOrder = {
  /** In an order that respects `after`, canaries and `follows`. */
  readonly transactions: readonly PlannedTransaction[];
  /** Ids of transactions that replace what pulls need: DNS, a registry, a mirror, a proxy. */
  readonly carriers: ReadonlySet<string>;
  /** Ids of transactions that must have ended first, well or not, by the id of the one that waits. */
  readonly follows: ReadonlyMap<string, readonly string[]>;
};

type Facts = {
  readonly plan: Pick<UpdatePlan, 'transactions' | 'canaries'>;
  /** All containers of the engine. */
  readonly containers: readonly ContainerSummary[];
  readonly engine: Pick<EngineInfo, 'hubMirrors' | 'proxies'>;
  /** Ids of transactions whose images could not be pulled ahead. */
  readonly unpulled: ReadonlySet<string>;
};

/**
 * Containers that carry the network of pulls are replaced last, when all others have their images. A transaction whose pull has
 * failed comes after it and pulls again, because its update may be what the pull needs. Dependencies and canaries come
 * before both rules. A container that leaves the tag of its compose file comes after those that get a new image of that tag, because
 * its successor's label names what the engine has under it.
 */
export function orderByNetwork({ plan, containers, engine, unpulled }: Facts): NetworkOrder {
  const carrierIds = networkCarriers({ containers, hosts: hostsOf(plan, engine) });
  const all = plan.transactions;
  const carriers = new Set(
    all.filter(({ members }) => members.some(({ container }) => carrierIds.has(container.id))).map(({ id }) => id),
  );
  const follows = new Map<string, readonly string[]>();
  const needs = needsOf(plan);
  const movers = moversOf(all);
  if (carriers.size === 0 && movers.length === 0) return { transactions: all, carriers, follows };
  const isLate = (id: string) => carriers.has(id) || unpulled.has(id);
  const early = all.filter(({ id }) => !isLate(id) && ![...needs(id)].some(isLate)).map(({ id }) => id);
  const ready = [...carriers].filter((id) => !unpulled.has(id));
  for (const { id } of all) {
    if (carriers.has(id) && !unpulled.has(id)) follows.set(id, early);
    else if (unpulled.has(id))
      follows.set(
        id,
        ready.filter((carrier) => !needs(carrier).has(id)),
      );
  }
  const before = (id: string) => [...needs(id), ...(follows.get(id) ?? [])];
  for (const { id, tagged } of movers)
    for (const other of tagged) if (!isReached(id, other, before)) follows.set(id, [...(follows.get(id) ?? []), other]);
  const byId = new Map(all.map((transaction) => [transaction.id, transaction]));
  const order = strongComponents([...byId.keys()], before).flat();
  return { transactions: order.flatMap((id) => byId.get(id) ?? []), carriers, follows };
}

/** The transactions that leave the tag of a compose file, each with those that get a new image of that tag. */
function moversOf(
  all: readonly PlannedTransaction[],
): readonly { readonly id: string; readonly tagged: readonly string[] }[] {
  const byTag = new Map<string, string[]>();
  for (const { id, members } of all)
    for (const { cause, reference, formerReference } of members)
      if (cause === 'stale' && formerReference === undefined) addTo(byTag, tagOf(reference), id);
  return all.flatMap(({ id, members }) => {
    const left = members.flatMap((member) => composeReferenceOf(member, member.container) ?? []);
    const tagged = left.flatMap((reference) => byTag.get(tagOf(reference)) ?? []).filter((other) => other !== id);
    return tagged.length === 0 ? [] : { id, tagged };
  });
}

/** The same text for the same tag, however it is written. */
function tagOf(reference: string): string {
  const parsed = tryParseImageReference(reference);
  return parsed === undefined ? reference : `${repositoryName(parsed)}:${parsed.tag}`;
}

/** Whether one waits for the other, directly or not. */
function isReached(id: string, from: string, before: (id: string) => readonly string[]): boolean {
  const reached = new Set([from]);
  for (const one of reached) for (const earlier of before(one)) reached.add(earlier);
  return reached.has(id);
}

/** The ids of all transactions that one waits for, directly or not: its dependencies, and the canaries before it. */
function needsOf({ transactions, canaries = [] }: Facts['plan']): (id: string) => ReadonlySet<string> {
  const direct = new Map(transactions.map(({ id, after }) => [id, [...after]]));
  for (const { transactions: group } of canaries)
    for (const [place, id] of group.entries()) direct.get(id)?.push(...group.slice(0, place));
  const known = new Map<string, ReadonlySet<string>>();
  return (id) => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const needs = new Set(direct.get(id));
    // A Set may grow during iteration; added ids are visited too.
    for (const need of needs) for (const further of direct.get(need) ?? []) needs.add(further);
    known.set(id, needs);
    return needs;
  };
}

type Host = { readonly name: string; readonly port: number };

/** Where the engine pulls from: the registries of a plan, mirrors and proxies. */
function hostsOf({ transactions }: Facts['plan'], { hubMirrors, proxies = [] }: Facts['engine']): readonly Host[] {
  const registries = transactions.flatMap(({ members }) =>
    members.flatMap(({ reference, cause }) =>
      cause === 'stale' ? (tryParseImageReference(reference)?.registry ?? []) : [],
    ),
  );
  const urls = [...new Set(registries)].map((registry) => `https://${registry}`);
  return [...urls, ...hubMirrors, ...proxies].flatMap((text) => {
    if (!URL.canParse(text)) return [];
    const { hostname, port, protocol } = new URL(text);
    return {
      name: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    };
  });
}

/**
 * The containers that may carry the network of an engine's pulls. A wrong guess costs only the order, so a published
 * port is evidence enough, unless a public registry is meant.
 */
export function networkCarriers({
  containers,
  hosts,
}: {
  readonly containers: readonly ContainerSummary[];
  readonly hosts: readonly Host[];
}): ReadonlySet<string> {
  const isEntrance = (one: ContainerSummary) => isDns(one) || hosts.some((host) => servesHost(one, host));
  const entrances = containers.filter(isEntrance);
  const networks = new Set(entrances.flatMap(({ reach }) => reach?.networks.map(({ id }) => id) ?? []));
  // A reverse proxy has the port, and the registry itself is behind it.
  const isBehind = (one: ContainerSummary) =>
    isRegistry(one) && one.reach?.networks.some(({ id }) => networks.has(id)) === true;
  return new Set(containers.filter((one) => isEntrance(one) || isBehind(one)).map(({ id }) => id));
}

const dnsPort = 53;

/** The list shows no ports of a container in the network of the host, in a macvlan or an ipvlan. */
function isDns({ reach, networkMode, name, image }: ContainerSummary): boolean {
  const ports = reach?.ports ?? [];
  if (ports.some(({ port, hostPort }) => hostPort === dnsPort || port === dnsPort)) return true;
  return (networkMode === 'host' || ports.length === 0) && dnsNames.test(`${name} ${image}`);
}

const dnsNames = /pi-?hole|adguard|unbound|dnsmasq|coredns|technitium|blocky|\bbind9?\b|\bdns\b|stubby|dnscrypt/i;

function servesHost(one: ContainerSummary, { name, port }: Host): boolean {
  const { reach, networkMode } = one;
  if (one.name === name || reach?.networks.some(({ address }) => address === name)) return true;
  if (publicRegistries.test(name)) return false;
  if (networkMode === 'host') return isRegistry(one) || /proxy|squid|mirror|cache/i.test(`${one.name} ${one.image}`);
  return reach?.ports.some(({ protocol, hostPort }) => protocol === 'tcp' && hostPort === port) === true;
}

/** No container at home serves these names, although one may publish their port 443. */
const publicRegistries =
  /(?:^|\.)(?:docker\.io|docker\.com|ghcr\.io|quay\.io|gcr\.io|lscr\.io|mcr\.microsoft\.com|amazonaws\.com|ecr\.aws|azurecr\.io|pkg\.dev|gitlab\.com|codeberg\.org|k8s\.io|redhat\.com|redhat\.io|nvcr\.io|docker\.elastic\.co)$/;

function isRegistry({ name, image }: ContainerSummary): boolean {
  return /registry|zot|harbor|gitea|forgejo|nexus|artifactory|gitlab/i.test(`${name} ${image}`);
}

/**
 * Adds canaries to a plan: if three or more stale containers get the same new image, or if one of several has the
 * label. A canary is updated before the rest of its group. The waits cannot form a cycle, because groups and
 * dependencies both follow the order of the plan.
 */
export function withCanaries(plan: UpdatePlan, { canary }: Pick<ServiceSettings, 'canary'>): UpdatePlan {
  const groups = canary ? groupsIn(plan.transactions) : [];
  if (groups.length === 0) return plan;
  const grouped = new Set(groups.flatMap(({ transactions }) => transactions));
  const rank = (transaction: PlannedTransaction) => (grouped.has(transaction.id) ? rankOf(transaction) : ranks.other);
  const byRank = plan.transactions.toSorted((one, other) => rank(one) - rank(other));
  const byId = new Map(byRank.map((transaction) => [transaction.id, transaction]));
  const order = strongComponents([...byId.keys()], (id) => byId.get(id)?.after ?? []).flat();
  const placeOf = new Map(order.map((id, index) => [id, index]));
  const place = (id: string) => placeOf.get(id) ?? 0;
  return {
    ...plan,
    transactions: order.flatMap((id) => byId.get(id) ?? []),
    canaries: groups.map(({ image, transactions }) => ({
      image,
      transactions: transactions.toSorted((one, other) => place(one) - place(other)),
    })),
  };
}

/**
 * Why stale containers wait, by id: another container of a group with a canary has the same new version marked as
 * failed. Otherwise each run would try a version that is known to be bad in yet another container. A person who goes
 * back from a version in one container says nothing about the others.
 */
export function failedInAnother(
  checked: readonly CheckedVersion[],
  { canary }: Pick<ServiceSettings, 'canary'>,
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  if (!canary) return reasons;
  const hasFailed = ({ status, hold }: CheckedVersion) => status === 'held' && hold === 'failed';
  const going = checked.filter((one) => one.status === 'stale' || hasFailed(one));
  const byVersion = new Map<string, CheckedVersion[]>();
  for (const one of going) {
    const version = one.pullDigest ?? one.latestDigest;
    if (version !== undefined) addTo(byVersion, version, one);
  }
  for (const group of byVersion.values()) {
    const failed = group.find(hasFailed);
    const isGroup = group.length >= minForCanary || group.some(({ isCanary }) => isCanary);
    if (failed === undefined || !isGroup) continue;
    for (const { id, status } of group)
      if (status === 'stale') reasons.set(id, `The new version failed in ${quoted(failed.name)}`);
  }
  return reasons;
}

/** Equal texts mean the same new image: its id or digest, else the reference that the engine resolves. */
export function newImageOf({ imageId, digest, reference }: PlannedMember): string {
  return imageId ?? digest ?? reference;
}

/** The verdict on a container, with the fields about its new version. */
type CheckedVersion = {
  readonly id: string;
  readonly name: string;
  readonly status: Staleness;
  readonly hold?: Hold | undefined;
  /** It has the label. */
  readonly isCanary?: true;
  readonly pullDigest: Digest | undefined;
  readonly latestDigest: Digest | undefined;
};

/** `untested`: the new image was not started, so the next transaction of the group becomes the canary. */
export type CanaryVerdict = 'passed' | 'failed' | 'untested';

/** The result of one transaction for the images that its stale members got. */
export function judgeCanary(
  { members }: PlannedTransaction,
  outcomes: readonly Pick<ContainerOutcome, 'outcome' | 'phases'>[],
): CanaryVerdict {
  const hasFailed = outcomes.some(
    ({ outcome, phases }) => outcome === 'rolled_back' || (outcome === 'failed' && phases?.starting !== undefined),
  );
  if (hasFailed) return 'failed';
  if (outcomes.every(({ outcome }) => outcome === 'fresh')) return 'passed';
  const isDone = outcomes.every(({ outcome }) => outcome === 'updated' || outcome === 'restarted');
  return isDone && members.some(provesItself) ? 'passed' : 'untested';
}

function groupsIn(transactions: readonly PlannedTransaction[]): readonly CanaryGroup[] {
  const byImage = new Map<string, { ids: Set<string>; members: PlannedMember[] }>();
  for (const { id, members } of transactions)
    for (const member of members.filter(({ cause }) => cause === 'stale')) {
      const image = newImageOf(member);
      const group = byImage.get(image) ?? { ids: new Set(), members: [] };
      group.ids.add(id);
      group.members.push(member);
      byImage.set(image, group);
    }
  return [...byImage]
    .filter(([, { ids, members }]) => ids.size > 1 && members.some(provesItself) && wantsCanary(members))
    .map(([image, { ids }]) => ({ image, transactions: [...ids] }));
}

function wantsCanary(members: readonly PlannedMember[]): boolean {
  return members.length >= minForCanary || members.some(isLabelled);
}

/** A group of two gets a canary only by label. */
const minForCanary = 3;

const ranks = { labelled: 0, other: 1, unproven: 2 } as const;

function rankOf({ members }: PlannedTransaction): number {
  if (!members.some(provesItself)) return ranks.unproven;
  return members.some((member) => provesItself(member) && isLabelled(member)) ? ranks.labelled : ranks.other;
}

function isLabelled({ container }: PlannedMember): boolean {
  return labelValuesOf(container).canary === true;
}

/** A container that stays stopped proves nothing about its image. */
function provesItself({ cause, desiredEndState }: PlannedMember): boolean {
  return cause === 'stale' && desiredEndState !== 'stopped';
}
