import type { SecureContext } from 'node:tls';
import type { Entities } from '../../../domain/home-assistant/entities.ts';
import { connectMqtt, type Incoming, type MqttConnection } from '../mqtt/connection.ts';
import { createDeferred } from '../mqtt/deferred.ts';
import type { Publication } from '../mqtt/packets.ts';
import { createRedaction } from '../wire/redaction.ts';
import { createCommands } from './commands.ts';
import { wildcardLevel, slug, slugsOf, topicsOf } from './topics.ts';
import { publicationsOf, removalsOf } from './payloads.ts';
import { forEachConcurrently, delay, oneAtATime } from './async.ts';
import type { HomeAssistantSettings } from './url.ts';

export type HomeAssistantDeps = {
  readonly version: string;
  readonly hostName: string;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** At least 0 and below 1. */
  readonly random: () => number;
  readonly contextFor: (host: string) => Promise<SecureContext>;
  readonly warn: (message: string) => void;
  /** The button of a container was pressed. Only called if the URL allows it. */
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

export type HomeAssistant = {
  /** Publishes this fleet. Returns at once; the newest fleet wins. */
  readonly show: (fleet: Entities) => void;
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
  const topics = topicsOf(settings.prefix, settings.base, slug(settings.node === '' ? deps.hostName : settings.node));
  const cut = createRedaction([settings.password]);
  const stop = new AbortController();
  let fleet: Entities | undefined;
  /** Made once for each fleet, because a broker can send any number of messages. */
  let slugs: ReadonlyMap<string, string> = new Map();
  let installable: ReadonlyMap<string, string> = new Map();
  let lastResendAtMs = -Infinity;
  let wake: () => void = () => undefined;
  let connection: MqttConnection | undefined;
  const online: Publication = { topic: topics.status, payload: 'online', qos: 1, retain: true };
  const offline: Publication = { ...online, payload: 'offline' };
  const over = run();

  return {
    show(next) {
      fleet = next;
      slugs = slugsOf(next.containers.map(({ name }) => name));
      installable = new Map(
        next.containers.flatMap(({ name, mayInstall }) => (mayInstall ? [[slugs.get(name) ?? '', name]] : [])),
      );
      wake();
    },
    async close() {
      const open = connection;
      const goodbye = open?.publish(offline).then(() => open.close());
      await Promise.race([goodbye?.catch(() => undefined), delay(closeMs, stop.signal)]);
      stop.abort();
      await over;
    },
  };

  async function run(): Promise<void> {
    for (let failures = 0; !stop.signal.aborted;) {
      try {
        await session(() => {
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
  async function session(onOpen: () => void): Promise<void> {
    const knownSlugs = new Set<string>();
    const shown = new Map<string, string>();
    const self = createDeferred<void>();
    let receivesCommands = false;
    /** After starts of Home Assistant, which anybody at the broker can claim. */
    const resend = oneAtATime(async () => {
      await delay(waits.birthMs(deps.nowMs() - lastResendAtMs), stop.signal);
      lastResendAtMs = deps.nowMs();
      shown.clear();
      wake();
    });
    const handleCommand = createCommands({
      ...deps,
      topics,
      containerOf: (slugged) => installable.get(slugged),
    });
    const handleMessage = (message: Incoming): void => {
      const slugged = wildcardLevel(topics.anyConfig, message.topic);
      if (message.topic === topics.selfTest) self.resolve();
      else if (slugged !== undefined) learn(slugged, message.payload);
      else if (message.topic === topics.birth) {
        if (message.payload === 'online') resend();
      } else if (receivesCommands) handleCommand(message);
    };
    const learn = (slugged: string, payload: string): void => {
      const isForeign = slugged.length > longestSlug;
      if (payload === '' || isForeign || knownSlugs.has(slugged) || knownSlugs.size >= mostKnown) return;
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
      receivesCommands = settings.mayInstall && (await receivesOwnMessage(open, self.promise));
      onOpen();
      await showWhileOpen(open, { knownSlugs, shown, receivesCommands });
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
  async function receivesOwnMessage(open: MqttConnection, received: Promise<void>): Promise<boolean> {
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
    readonly receivesCommands: boolean;
  };

  async function showWhileOpen(open: MqttConnection, { knownSlugs, shown, receivesCommands }: Session): Promise<void> {
    let made: { readonly of: Entities; readonly wanted: ReturnType<typeof publicationsOf> } | undefined;
    for (;;) {
      const isWoken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (fleet !== undefined) {
        const { hostName, version } = deps;
        if (made?.of !== fleet)
          made = { of: fleet, wanted: publicationsOf(fleet, { topics, slugs, hostName, version, receivesCommands }) };
        const { wanted } = made;
        const current = new Set(slugs.values());
        const removed = [...knownSlugs].filter((slugged) => !current.has(slugged));
        const changed = [...wanted.values()].filter(({ topic, payload }) => shown.get(topic) !== payload);
        const removals = removed.flatMap((slugged) => removalsOf(slugged, topics));
        // Before the messages are confirmed, so that a start of Home Assistant meanwhile causes all of them again.
        for (const { topic, payload } of changed) shown.set(topic, payload);
        for (const { topic } of removals) shown.delete(topic);
        await forEachConcurrently([...removals, ...changed], mostInFlight, (publication) => open.publish(publication));
        for (const slugged of removed) knownSlugs.delete(slugged);
        for (const slugged of current) knownSlugs.add(slugged);
      }
      const why = await Promise.race([isWoken, open.closed]);
      if (why !== undefined) throw why;
    }
  }
}

/** Entities of earlier processes, which any client of the broker can add. */
const mostKnown = 10_000;
const longestSlug = 300;
/** Unconfirmed messages at a time. */
const mostInFlight = 20;
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
