import type {
  ContainerFilter,
  CallOutcome,
  CreateOutcome,
  StopOptions,
  ConnectRequest,
} from '../../../domain/outside/engine.ts';
import {
  isAlive,
  type Container,
  type ContainerSummary,
  type Network,
  type Volume,
  type ContainerRecipe,
  type RestartPolicy,
} from '../../../domain/container/container.ts';
import { quoted } from '../../../domain/text/printable.ts';
import { capabilitiesOf, readInspected, errorPatterns, change, changeAndRead, readExisting, refusal } from './calls.ts';
import type { Client } from '../transport/client.ts';
import { readList } from './lists.ts';
import { completeContainer, withHealth, bodyForPodman } from './podman.ts';
import { readContainer, readContainerSummary, readNetwork } from './translate.ts';
import { isDefined, pathSegment, fields, text, textMap, maxAnswerBytes, readJson } from '../transport/answer.ts';
import { formatPlatform, runsOtherThan } from '../../../domain/image/platform.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { EngineFailure } from '../transport/request.ts';
import type { Labels } from '../../../domain/image/labels.ts';
import { isJsonObject } from '../../../domain/text/json.ts';

/** The engine filters first and so sends less. The result is filtered again, because engines match differently. */
export async function listContainers(
  client: Client,
  filter: ContainerFilter = {},
  signal?: AbortSignal,
): Promise<readonly ContainerSummary[]> {
  const { ids, namePrefix, label } = filter;
  // An engine reads an empty list of ids as every container.
  if (ids?.length === 0) return [];
  const filters = {
    ...(ids !== undefined && ids.length <= maxSentIds && { id: ids }),
    ...(namePrefix !== undefined && { name: [startOfName(namePrefix)] }),
    ...(label !== undefined && { label: [label] }),
  };
  const query = { all: '1', filters: JSON.stringify(filters) };
  const list = { thing: 'container', path: '/containers/json', query, signal } as const;
  const answer = await readList(client, list);
  const version = await client.version(signal);
  const { dockerWords } = capabilitiesOf(version);
  const entries = dockerWords ? answer : await withHealth(client, list, answer);
  const summaries = entries.map(readContainerSummary).filter(isDefined).filter(matching(filter));
  return summaries.map((summary) => {
    const { platform, ...rest } = summary;
    return platform === undefined || runsOtherThan(version, platform) ? summary : rest;
  });
}

/** As a pattern. Podman matches names without the leading slash, Docker with it. */
function startOfName(prefix: string): string {
  return `^/?${prefix.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}`;
}

/** More ids make a URL that proxies refuse (from 8 kB). The whole list is then read and filtered here. */
const maxSentIds = 100;

export async function inspectContainer(
  client: Client,
  idOrName: string,
  signal?: AbortSignal,
): Promise<Container | undefined> {
  const answer = await readInspected(client, {
    doing: `inspect the container ${quoted(idOrName)}`,
    path: `${containerPath(idOrName)}/json`,
    signal,
  });
  if (answer === undefined) return undefined;
  const { dockerWords } = capabilitiesOf(await client.version(signal));
  if (dockerWords) return readContainer(answer);
  const whole = await completeContainer(client, answer, signal);
  return whole && readContainer(whole.inspected, whole.obstacle);
}

export function containerPath(idOrName: string): string {
  return `/containers/${pathSegment(idOrName)}`;
}

function matching({ ids, namePrefix, label }: ContainerFilter): (container: ContainerSummary) => boolean {
  const wanted = ids && new Set(ids);
  return ({ id, name, labels }) =>
    (wanted === undefined || wanted.has(id)) &&
    name.startsWith(namePrefix ?? '') &&
    (label === undefined || hasLabel(labels, label));
}

/** `label` is a name, or a name and a value after the first `=`. */
function hasLabel(labels: ContainerSummary['labels'], label: string): boolean {
  const equals = label.indexOf('=');
  if (equals === -1) return Object.hasOwn(labels, label);
  const name = label.slice(0, equals);
  return Object.hasOwn(labels, name) && labels[name] === label.slice(equals + 1);
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerCreate */
export async function createContainer(client: Client, name: string, recipe: ContainerRecipe): Promise<CreateOutcome> {
  const version = await client.version().catch(() => undefined);
  const acceptsDockerBody = version === undefined || capabilitiesOf(version).dockerWords;
  const outcome = await changeAndRead(client, {
    path: '/containers/create',
    query: { name, platform: recipe.platform && formatPlatform(recipe.platform) },
    body: acceptsDockerBody ? recipe.body : bodyForPodman(recipe),
  });
  if (outcome.kind === 'noop') return { kind: 'unknown', message: 'the engine answered 304 to a create' };
  if (outcome.kind === 'refused') return withNameConflict(outcome);
  if (outcome.kind === 'unknown') return outcome;
  const id = text(fields(outcome.answer)['Id']);
  return id === ''
    ? { kind: 'unknown', message: 'the engine created a container and returned no id' }
    : { kind: 'done', id };
}

export async function renameContainer(client: Client, id: string, name: string): Promise<CallOutcome> {
  const outcome = await change(client, { path: `${containerPath(id)}/rename`, query: { name } });
  return outcome.kind === 'refused' ? withNameConflict(outcome) : outcome;
}

export function updateRestartPolicy(client: Client, id: string, policy: RestartPolicy): Promise<CallOutcome> {
  return change(client, { path: `${containerPath(id)}/update`, body: { RestartPolicy: policy } });
}

export async function startContainer(client: Client, id: string): Promise<CallOutcome> {
  const outcome = await change(client, { path: `${containerPath(id)}/start` });
  if (outcome.kind !== 'refused') return outcome;
  if (errorPatterns.commandUnusable.test(outcome.message)) return { ...outcome, commandUnusable: true };
  return errorPatterns.linkBroken.test(outcome.message) ? { ...outcome, linkBroken: true } : outcome;
}

/** Podman answers 500 with its own message. */
function withNameConflict<Refused extends CallOutcome & { readonly kind: 'refused' }>(refused: Refused): Refused {
  return errorPatterns.nameTaken.test(refused.message) ? { ...refused, status: 409 } : refused;
}

/**
 * Stops a container. The engine continues a stop after its caller disconnects, so the deadline is later than the kill.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerStop
 */
export async function stopContainer(client: Client, id: string, options: StopOptions): Promise<CallOutcome> {
  const stop = (): Promise<CallOutcome> => stopOrRestart(client, id, 'stop', options);
  const outcome = await stop();
  if (outcome.kind !== 'noop') return outcome;
  const version = await client.version().catch(() => undefined);
  if (version === undefined || capabilitiesOf(version).stopsBetweenTries) return outcome;
  return await stopBetweenRestarts(client, id, stop);
}

/**
 * Stops a container between two attempts of its restart policy, when Podman reports it as stopped. Repeats the stop
 * until it finds a process, or until the container is stopped and its policy does not start it again. The result is
 * `refused` after the deadline.
 */
async function stopBetweenRestarts(client: Client, id: string, stop: () => Promise<CallOutcome>): Promise<CallOutcome> {
  const { clock } = client;
  const untilMs = clock.monotonicMs() + client.deadlines.stopMarginMs;
  try {
    for (let stops = 0; clock.monotonicMs() < untilMs; stops += 1) {
      if (stops % stopsPerInspection === 0 && (await isAtRest(client, id))) return { kind: 'noop' };
      const outcome = await stop();
      if (outcome.kind !== 'noop') return outcome;
      await clock.sleep(pauseMs);
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { kind: 'unknown', message: describeError(error) };
  }
  return { kind: 'refused', status: 409, message: 'its restart policy starts it again before it can be stopped' };
}

/** A process that exits at once exists for about 50 ms of every half second, less on a busy machine. */
const pauseMs = 5;

/** An inspection takes as long as a stop. The short-lived process could run and exit meanwhile. */
const stopsPerInspection = 10;

async function isAtRest(client: Client, id: string): Promise<boolean> {
  const container = await inspectContainer(client, id);
  return container === undefined || !isAlive(container.state.status);
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerRestart */
export function restartContainer(client: Client, id: string, options: StopOptions): Promise<CallOutcome> {
  return stopOrRestart(client, id, 'restart', options);
}

async function stopOrRestart(
  client: Client,
  id: string,
  how: 'stop' | 'restart',
  options: StopOptions,
): Promise<CallOutcome> {
  const seconds = options.timeoutSeconds === undefined ? undefined : Math.max(0, Math.ceil(options.timeoutSeconds));
  const signal = await stopSignal(client, options);
  return await change(client, {
    path: `${containerPath(id)}/${how}`,
    query: { t: seconds?.toString(), signal },
    deadlineMs: (seconds ?? (await ownStopSeconds(client, id))) * 1000 + client.deadlines.stopMarginMs,
  });
}

/** Only a signal depends on the API version. If the version is unknown, the stop itself fails with the reason. */
async function stopSignal(client: Client, { signal }: StopOptions): Promise<string | undefined> {
  if (signal === undefined) return undefined;
  const version = await client.version().catch(() => undefined);
  return version && capabilitiesOf(version).stopSignal ? signal : undefined;
}

/** https://docs.docker.com/reference/cli/docker/container/stop/ */
const engineStopSeconds = 10;
/** Used for a container with `StopTimeout: -1`, which means no limit. */
const maxStopSeconds = 3_600;

async function ownStopSeconds(client: Client, id: string): Promise<number> {
  const container = await inspectContainer(client, id).catch(() => undefined);
  const own = container?.settings.Config.StopTimeout ?? engineStopSeconds;
  return own < 0 ? maxStopSeconds : own;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerWait */
export async function waitUntilStopped(
  client: Client,
  id: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  try {
    const reply = await client.send({
      method: 'POST',
      path: `${containerPath(id)}/wait`,
      query: { condition: 'not-running' },
      socket: 'own',
      timeLimit: { for: 'whole', ms: timeoutMs },
      signal,
    });
    if (reply.kind === 'ok') return isJsonObject(await readJson(reply.body, maxAnswerBytes));
    if (reply.status === 404 && reply.fromEngine) return true;
    throw refusal(`wait for the container ${quoted(id)}`, reply);
  } catch (error) {
    if (error instanceof EngineFailure && error.code === 'timeout') return false;
    throw error;
  }
}

/**
 * Removes a container with `v=0`, so that its volumes stay.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerDelete
 */
export async function removeContainer(client: Client, id: string): Promise<CallOutcome> {
  const outcome = await change(client, {
    method: 'DELETE',
    path: containerPath(id),
    query: { force: '1', v: '0' },
    absentIsNoop: true,
  });
  const underWay = outcome.kind === 'refused' && errorPatterns.removalInProgress.test(outcome.message);
  return underWay ? await waitUntilGone(client, id, outcome) : outcome;
}

/**
 * Removes a link; its target stays.
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerDelete
 */
export function removeLink(client: Client, name: string, alias: string): Promise<CallOutcome> {
  return change(client, {
    method: 'DELETE',
    path: `${containerPath(name)}/${pathSegment(alias)}`,
    query: { link: '1', force: '0', v: '0' },
    absentIsNoop: true,
  });
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Volume/operation/VolumeDelete */
export function removeVolume(client: Client, name: string): Promise<CallOutcome> {
  return change(client, { method: 'DELETE', path: `/volumes/${encodeURIComponent(name)}`, absentIsNoop: true });
}

/**
 * The engine answers 201 with the present labels if the name is taken:
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Volume/operation/VolumeCreate
 */
export async function createVolume(client: Client, name: string, labels: Labels): Promise<CallOutcome> {
  const outcome = await changeAndRead(client, { path: '/volumes/create', body: { Name: name, Labels: labels } });
  if (outcome.kind !== 'done') return outcome;
  const { Labels, Driver, Options } = fields(outcome.answer);
  const present = textMap(Labels);
  const hasLabels = Object.entries(labels).every(([label, value]) => present[label] === value);
  // Anybody can write labels. With options, a volume can be any folder of the host.
  const isOurs = hasLabels && Driver === 'local' && Object.keys(fields(Options)).length === 0;
  return isOurs ? { kind: 'done' } : { kind: 'refused', status: 409, message: `the volume ${quoted(name)} exists` };
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Volume/operation/VolumeList */
export async function listVolumes(
  client: Client,
  label: string | undefined,
  signal?: AbortSignal,
): Promise<readonly Volume[]> {
  const query = label === undefined ? {} : { filters: JSON.stringify({ label: [label] }) };
  const answer = await readExisting(client, { doing: 'list volumes', path: '/volumes', query, signal });
  const entries = fields(answer)['Volumes'];
  return (Array.isArray(entries) ? entries : []).map((entry: unknown) => {
    const { Name, Labels, CreatedAt } = fields(entry);
    return { name: text(Name), labels: textMap(Labels), createdAtMs: Date.parse(text(CreatedAt)) || 0 };
  });
}

const removalPollMs = 100;

async function waitUntilGone(client: Client, id: string, refused: CallOutcome): Promise<CallOutcome> {
  const { clock, deadlines } = client;
  const untilMs = clock.monotonicMs() + deadlines.removalMs;
  try {
    while ((await inspectContainer(client, id)) !== undefined) {
      if (clock.monotonicMs() >= untilMs) return refused;
      await clock.sleep(removalPollMs);
    }
    return { kind: 'done' };
  } catch (error) {
    return { kind: 'unknown', message: describeError(error) };
  }
}

export async function listNetworks(client: Client, signal?: AbortSignal): Promise<readonly Network[]> {
  const entries = await readList(client, { thing: 'network', path: '/networks', signal });
  return entries.map(readNetwork).filter(isDefined);
}

/**
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Network/operation/NetworkCreate: below API 1.44 a name
 * is unique only on request.
 */
export async function createNetwork(client: Client, { recipe }: Network): Promise<CallOutcome> {
  const outcome = await change(client, { path: '/networks/create', body: { ...recipe, CheckDuplicate: true } });
  const isTaken = outcome.kind === 'refused' && errorPatterns.networkTaken.test(outcome.message);
  return isTaken ? { kind: 'noop' } : outcome;
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Network/operation/NetworkConnect */
export async function connectNetwork(client: Client, request: ConnectRequest): Promise<CallOutcome> {
  const outcome = await change(client, {
    path: `/networks/${pathSegment(request.networkId)}/connect`,
    body: { Container: request.containerId, EndpointConfig: request.endpoint },
  });
  const isRefused = outcome.kind === 'refused' && errorPatterns.alreadyConnected.test(outcome.message);
  return isRefused && (await isConnected(client, request)) ? { kind: 'noop' } : outcome;
}

/** The engine answers the same while another container of that name still has the endpoint. */
async function isConnected(client: Client, { containerId, networkId }: ConnectRequest): Promise<boolean> {
  const container = await inspectContainer(client, containerId).catch(() => undefined);
  const networks = Object.entries(container?.settings.Networks ?? {});
  if (networks.some(([name, { NetworkID }]) => name === networkId || NetworkID === networkId)) return true;
  // Podman reports no network ids here.
  const named = (await listNetworks(client).catch(() => [])).find(({ id }) => id === networkId);
  return networks.some(([name, { NetworkID }]) => NetworkID === '' && name === named?.name);
}
