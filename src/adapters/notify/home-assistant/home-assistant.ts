import type { SecureContext } from 'node:tls';
import type { Entities } from '../../../domain/home-assistant.ts';
import { connectMqtt, createDeferred, type Incoming, type MqttConnection } from '../mqtt/connection.ts';
import type { Publication } from '../mqtt/packets.ts';
import { createRedaction } from '../service/answer.ts';
import { objectOf, parseJsonObject } from '../../../domain/text/json.ts';
import {
  deviceTitle,
  entityIn,
  wildcardLevel,
  slug,
  slugsOf,
  topicsOf,
  deviceRemovalsOf,
  eventOf,
  namesIn,
  publicationsOf,
  removalsOf,
  type Topics,
  type EntityContext,
  type RequestTold,
} from './payloads.ts';
import type { HomeAssistantSettings } from './url.ts';
import { setTimeout } from 'node:timers/promises';

export type HomeAssistantDeps = {
  readonly version: string;
  /** Resolves when it is known; it may need the engine. */
  readonly identity: (signal: AbortSignal) => Promise<HomeIdentity>;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** At least 0 and below 1. */
  readonly random: () => number;
  readonly contextFor: (host: string) => Promise<SecureContext>;
  readonly warn: (message: string) => void;
  /** The button of a container was pressed, also of one that has none any more. Only called if the URL allows it. */
  readonly onInstall: (container: string) => void;
  readonly onCheck: () => void;
  /**
   * Waits in milliseconds, shortened in tests: before another connection (by the number of failures), after a start of
   * Home Assistant (by the time since the last one that was answered), and for the self-test.
   */
  readonly waits?: Waits;
};

type Waits = {
  readonly reconnectMs: (failures: number) => number;
  readonly birthMs: (sinceLastMs: number) => number;
  readonly selfTestMs: number;
};

/** The identity of an Upkeep in Home Assistant. It must be the same in the next process, and in the next container. */
export type HomeIdentity = {
  readonly node: string;
  readonly deviceName: string;
  /** Nodes that this Upkeep had before, or would have with other settings. What is left of them is removed. */
  readonly formerNodes: readonly string[];
  /** It has another identity than usual, to which it returns later: nothing of an earlier life is removed. */
  readonly isTemporary?: boolean;
};

export type HomeAssistant = {
  /** Publishes this fleet. Returns at once; the newest fleet wins. */
  readonly show: (fleet: Entities) => void;
  /** Publishes what became of a request. Without a connection nobody hears it. */
  readonly tell: (result: RequestTold) => void;
  /** Publishes that Upkeep is offline. Resolves after that, within 2 s. */
  readonly close: () => Promise<void>;
};

/**
 * Keeps an `update` entity for each container in Home Assistant, by MQTT discovery:
 * https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery. It uses one connection and reconnects when that
 * breaks. Entities of removed containers are removed, including those of earlier processes.
 */
export function openHomeAssistant(settings: HomeAssistantSettings, deps: HomeAssistantDeps): HomeAssistant {
  const { waits = usualWaits(deps.random) } = deps;
  const cut = createRedaction([settings.password]);
  const stop = new AbortController();
  let fleet: Entities | undefined;
  /** Made once for each fleet, because a broker can send any number of messages. */
  let slugs: ReadonlyMap<string, string> = new Map();
  let bySlug: ReadonlyMap<string, string> = new Map();
  let lastResendAtMs = -Infinity;
  let wake: () => void = () => undefined;
  let connection: MqttConnection | undefined;
  let own: OwnTopics | undefined;
  const over = run();

  return {
    show(next) {
      fleet = next;
      slugs = slugsOf(namesIn(next));
      bySlug = new Map(next.containers.map(({ name }) => [slugs.get(name) ?? '', name]));
      wake();
    },
    tell(result) {
      if (own !== undefined) connection?.publish(eventOf(result, own.topics)).catch(() => undefined);
    },
    async close() {
      const open = connection;
      const goodbye = own && open?.publish(own.offline).then(() => open.close());
      await Promise.race([goodbye?.catch(() => undefined), delay(closeMs, stop.signal)]);
      stop.abort();
      await over;
    },
  };

  async function run(): Promise<void> {
    const identity = await deps.identity(stop.signal).catch(() => undefined);
    if (identity === undefined || stop.signal.aborted) return;
    const { deviceName, formerNodes, isTemporary = false } = identity;
    const node = slug(settings.node === '' ? identity.node : settings.node);
    const topics = topicsOf(settings.prefix, settings.base, node);
    const online: Publication = { topic: topics.status, payload: 'online', qos: 1, retain: true };
    own = { topics, deviceName, online, offline: { ...online, payload: 'offline' } };
    const nodes = isTemporary ? [] : [identity.node, ...formerNodes].map(slug);
    const former = { nodes: new Set(nodes.filter((one) => one !== node)), deviceName, isTemporary };
    for (let failures = 0; !stop.signal.aborted;) {
      try {
        await session(own, former, () => {
          failures = 0;
        });
      } catch (error) {
        if (stop.signal.aborted) return;
        const why = cut(error instanceof Error ? error.message : 'unknown');
        if (failures === 0)
          deps.warn(`Cannot reach Home Assistant at ${settings.shown}: ${why}; it is tried again and again`);
      }
      failures += 1;
      await delay(waits.reconnectMs(failures), stop.signal);
    }
  }

  /** One connection. Throws the reason of its end. */
  async function session(
    { topics, deviceName, online, offline }: OwnTopics,
    former: FormerLives,
    onOpen: () => void,
  ): Promise<void> {
    const knownSlugs = new Set<string>();
    const others = createFormerDevices(settings, former);
    const shown = new Map<string, string>();
    const self = createDeferred<void>();
    let receivesCommands = false;
    /** After starts of Home Assistant, which anyone at the broker can claim. */
    const resend = oneAtATime(async () => {
      await delay(waits.birthMs(deps.nowMs() - lastResendAtMs), stop.signal);
      lastResendAtMs = deps.nowMs();
      shown.clear();
      wake();
    });
    const handleCommand = createCommands({ ...deps, topics, containerOf: (slugged) => bySlug.get(slugged) });
    const handleMessage = (message: Incoming): void => {
      const slugged = wildcardLevel(topics.anyConfig, message.topic);
      if (message.topic === topics.selfTest) self.resolve();
      else if (slugged !== undefined) learn(slugged, message.payload);
      else if (message.topic === topics.birth) {
        if (message.payload === 'online') resend();
      } else if (others.hear(message)) wake();
      else if (receivesCommands) handleCommand(message);
    };
    const learn = (slugged: string, payload: string): void => {
      const isForeign = slugged.length > maxSlug;
      if (payload === '' || isForeign || knownSlugs.has(slugged) || knownSlugs.size >= maxKnown) return;
      knownSlugs.add(slugged);
      wake();
    };
    const { host, port, isSecure } = settings;
    const broker = {
      ...settings,
      clientId: `${topics.device}_${Math.floor(deps.random() * 0xffffff).toString(16)}`,
      cleanSession: true,
      secureContext: isSecure ? await deps.contextFor(`${host}:${port}`) : undefined,
      will: offline,
    };
    const open = await connectMqtt(broker, stop.signal, handleMessage);
    connection = open;
    try {
      await open.publish(online);
      for (const topic of [topics.birth, topics.anyConfig]) await open.subscribe(topic).catch(deniedSubscription);
      // A client that may not read these has no earlier device to remove.
      for (const topic of [topics.everyStatus, topics.everyConfig]) await open.subscribe(topic).catch(() => undefined);
      receivesCommands = settings.mayInstall && (await receivesOwnMessage(open, topics, self.promise));
      onOpen();
      const context = { topics, deviceName, version: deps.version, receivesCommands };
      await showWhileOpen(open, { knownSlugs, shown, others, context });
    } finally {
      connection = undefined;
      await open.close();
    }
  }

  function deniedSubscription(): void {
    deps.warn(
      `Home Assistant at ${settings.shown}: a subscription was refused; entities of removed containers may stay`,
    );
  }

  /** A broker may accept a subscription and deliver nothing, so Upkeep must receive its own message. */
  async function receivesOwnMessage(open: MqttConnection, topics: Topics, received: Promise<void>): Promise<boolean> {
    try {
      await open.subscribe(topics.anyInstall);
      await open.subscribe(topics.check);
      await open.publish({ topic: topics.selfTest, payload: 'self-test', qos: 1, retain: false });
      const isReceived = await Promise.race([
        received.then(() => true),
        delay(waits.selfTestMs, stop.signal).then(() => false),
      ]);
      if (isReceived) return true;
    } catch (error) {
      if (stop.signal.aborted) throw error;
    }
    deps.warn(
      `Home Assistant at ${settings.shown}: the broker delivers no commands to this user, so there are no buttons`,
    );
    return false;
  }

  type Session = {
    readonly knownSlugs: Set<string>;
    readonly shown: Map<string, string>;
    readonly others: FormerDevices;
    readonly context: Omit<EntityContext, 'slugs'>;
  };

  async function showWhileOpen(open: MqttConnection, { knownSlugs, shown, others, context }: Session): Promise<void> {
    const { topics } = context;
    const shownSlugs = new Set<string>();
    let made: { readonly of: Entities; readonly wanted: ReturnType<typeof publicationsOf> } | undefined;
    for (;;) {
      const isWoken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (fleet !== undefined) {
        const { isSettled } = fleet;
        if (made?.of !== fleet) made = { of: fleet, wanted: publicationsOf(fleet, { ...context, slugs }) };
        const { wanted } = made;
        const current = new Set(slugs.values());
        // An entity of an earlier process may be of a container that is absent for a moment.
        const removed = [...knownSlugs].filter((one) => !current.has(one) && (isSettled || shownSlugs.has(one)));
        const removals = [...removed.flatMap((one) => removalsOf(one, topics)), ...others.removals(current)];
        // A new description of an entity makes Home Assistant forget its state.
        for (const { topic, payload } of wanted.values())
          if (shown.has(topic) && shown.get(topic) !== payload) {
            const slugged = wildcardLevel(topics.anyConfig, topic);
            if (slugged !== undefined) shown.delete(topics.state(slugged));
          }
        const changed = [...wanted.values()].filter(({ topic, payload }) => shown.get(topic) !== payload);
        // Before the messages are confirmed, so that a start of Home Assistant meanwhile causes all of them again.
        for (const { topic, payload } of changed) shown.set(topic, payload);
        for (const { topic } of removals) shown.delete(topic);
        await forEachConcurrently([...changed, ...removals], maxInFlight, (publication) => open.publish(publication));
        for (const slugged of removed) knownSlugs.delete(slugged);
        for (const slugged of bySlug.keys()) shownSlugs.add(slugged);
        for (const slugged of current) knownSlugs.add(slugged);
      }
      const why = await Promise.race([isWoken, open.closed]);
      if (why !== undefined) throw why;
    }
  }
}

type OwnTopics = {
  readonly topics: Topics;
  readonly deviceName: string;
  readonly online: Publication;
  readonly offline: Publication;
};

type FormerDevices = {
  /** Whether a message has told something new of another Upkeep on this broker. */
  readonly hear: (message: Incoming) => boolean;
  /** Messages that remove what earlier lives of this Upkeep have left, each once. `current`: the slugs of our containers. */
  readonly removals: (current: ReadonlySet<string>) => readonly Publication[];
};

type FormerLives = Pick<HomeIdentity, 'deviceName'> & {
  readonly nodes: ReadonlySet<string>;
  readonly isTemporary: boolean;
};

/**
 * Devices of other Upkeeps on the broker, which are offline. One is ours if it has one of our former nodes and one of
 * our containers, or if its node is an id, of a container or of a state folder that is gone, its device is called as
 * ours or by that id, and all its containers are ours.
 */
function createFormerDevices(
  settings: Pick<HomeAssistantSettings, 'prefix' | 'base'>,
  { nodes: former, deviceName, isTemporary }: FormerLives,
): FormerDevices {
  const slugsOfNode = new Map<string, Set<string>>();
  const offline = new Set<string>();
  const statusOf = `${settings.base}/+/status`;
  let count = 0;
  return {
    hear({ topic, payload }) {
      const node = wildcardLevel(statusOf, topic);
      if (node !== undefined) {
        if (payload !== 'offline') offline.delete(node);
        else if (offline.size < maxKnownNodes) offline.add(node);
        return offline.has(node);
      }
      const entity = entityIn(settings, topic);
      if (entity === undefined || payload === '' || topic.length > maxSlug || count >= maxKnown) return false;
      if (isTemporary) return false;
      if (!former.has(entity.node) && !(isId.test(entity.node) && isNamed(payload, [deviceName, entity.node])))
        return false;
      const slugs = slugsOfNode.get(entity.node) ?? new Set();
      slugsOfNode.set(entity.node, slugs.add(entity.slugged));
      count += 1;
      return true;
    },
    removals(current) {
      const isOurs = (slugged: string) => current.has(slugged);
      const gone = [...slugsOfNode].filter(
        ([node, slugs]) => offline.has(node) && (former.has(node) ? [...slugs].some(isOurs) : [...slugs].every(isOurs)),
      );
      for (const [node] of gone) slugsOfNode.delete(node);
      return gone.flatMap(([node, slugs]) => {
        const topics = topicsOf(settings.prefix, settings.base, node);
        return [...[...slugs].flatMap((one) => removalsOf(one, topics)), ...deviceRemovalsOf(topics)];
      });
    },
  };
}

const isId = /^[0-9a-f]{12}$/;

/** Whether a description of an entity is of a device with one of these names. */
function isNamed(payload: string, names: readonly string[]): boolean {
  const device = payload.length > maxDescription ? undefined : objectOf(parseJsonObject(payload)?.['device']);
  return names.some((name) => device?.['name'] === deviceTitle(name));
}

const maxDescription = 16_384;
const maxKnownNodes = 1000;

/** Entities of earlier processes, which any client of the broker can add. */
const maxKnown = 10_000;
const maxSlug = 300;
/** Unconfirmed messages at a time. */
const maxInFlight = 20;
const closeMs = 2000;

/** Home Assistant itself needs longer to start. */
const minBetweenResendsMs = 30_000;

/** The random parts spread the load of many instances. */
export function usualWaits(random: () => number): Waits {
  const jitter = 0.9 + random() * 0.2;
  return {
    reconnectMs: (failures) => Math.min(60_000, 1000 * 2 ** Math.min(failures, 6)) * jitter,
    birthMs: (sinceLastMs) => Math.max(1000 + random() * 4000, minBetweenResendsMs - sinceLastMs),
    selfTestMs: 5000,
  };
}

type CommandOptions = {
  readonly topics: Topics;
  /** The container with the slug; undefined without one. */
  readonly containerOf: (slugged: string) => string | undefined;
  readonly nowMs: () => number;
  readonly onInstall: (container: string) => void;
  readonly onCheck: () => void;
};

/** Reads messages of the broker. Everything that is not a current command is ignored. */
export function createCommands(options: CommandOptions): (message: Incoming) => void {
  const { topics, containerOf, nowMs, onInstall, onCheck } = options;
  const lastAtMs = new Map<string, number>();
  let looks = { sinceMs: -Infinity, count: 0 };
  return ({ topic, payload, isRetained }) => {
    // A retained command would be repeated with every connection.
    if (isRetained) return;
    if (topic === topics.check) {
      if (payload === 'check' && isDue(topic)) onCheck();
      return;
    }
    const slugged = wildcardLevel(topics.anyInstall, topic);
    if (slugged === undefined || payload !== 'install' || !mayLook()) return;
    const container = containerOf(slugged);
    if (container !== undefined && isDue(container)) onInstall(container);
  };

  /** Looking for a container takes time, and a broker can send any number of commands. */
  function mayLook(): boolean {
    const now = nowMs();
    if (now - looks.sinceMs >= 1000 || now < looks.sinceMs) looks = { sinceMs: now, count: 0 };
    looks.count += 1;
    return looks.count <= maxLooksPerSecond;
  }

  /** At most one command for each container in 30 s. */
  function isDue(key: string): boolean {
    const now = nowMs();
    if (now - (lastAtMs.get(key) ?? -Infinity) < betweenMs) return false;
    if (lastAtMs.size >= commandsMostKnown) lastAtMs.clear();
    lastAtMs.set(key, now);
    return true;
  }
}

/** More buttons than a person presses. */
const maxLooksPerSecond = 100;

const betweenMs = 30_000;
const commandsMostKnown = 10_000;

/** Resolves after `ms`, or at the abort. */
async function delay(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

/** Starts the work, unless it is still under way. */
function oneAtATime(work: () => Promise<void>): () => void {
  let isUnderWay = false;
  return () => {
    if (isUnderWay) return;
    isUnderWay = true;
    void work().finally(() => (isUnderWay = false));
  };
}

/** Runs a bounded number at once. Rejects with the first failure, and starts no more after it. */
async function forEachConcurrently<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items].values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker));
}
