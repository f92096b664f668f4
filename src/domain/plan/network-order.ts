import type { ContainerSummary } from '../container/container.ts';
import type { EngineInfo } from '../outside/engine.ts';
import { tryParseImageReference } from '../image/image-reference.ts';
import type { PlannedTransaction } from './planned-transaction.ts';
import type { UpdatePlan } from './update-plan.ts';
import { strongComponents } from './graph/strong-components.ts';

/** Which transactions of a plan wait for others because of the network that pulls need. */
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
 * before both rules.
 */
export function orderByNetwork({ plan, containers, engine, unpulled }: Facts): NetworkOrder {
  const carrierIds = networkCarriers({ containers, hosts: hostsOf(plan, engine) });
  const all = plan.transactions;
  const carriers = new Set(
    all.filter(({ members }) => members.some(({ container }) => carrierIds.has(container.id))).map(({ id }) => id),
  );
  const follows = new Map<string, readonly string[]>();
  if (carriers.size === 0) return { transactions: all, carriers, follows };
  const needs = needsOf(plan);
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
  const byId = new Map(all.map((transaction) => [transaction.id, transaction]));
  const order = strongComponents([...byId.keys()], (id) => [...needs(id), ...(follows.get(id) ?? [])]).flat();
  return { transactions: order.flatMap((id) => byId.get(id) ?? []), carriers, follows };
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

/** The list shows no ports of a container in the network of the host. */
function isDns({ reach, networkMode, name, image }: ContainerSummary): boolean {
  if (reach?.ports.some(({ port, hostPort }) => hostPort === dnsPort || port === dnsPort)) return true;
  return networkMode === 'host' && dnsNames.test(`${name} ${image}`);
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
