import type { ContainerEntity, Entities } from '../../../domain/home-assistant.ts';
import type { Publication } from '../mqtt/packets.ts';
import type { Topics } from './topics.ts';

export type EntityContext = {
  readonly topics: Topics;
  /** Of each container, shown or not, by its name. */
  readonly slugs: ReadonlyMap<string, string>;
  readonly deviceName: string;
  readonly version: string;
  /** Whether commands are allowed and have been shown to arrive. */
  readonly receivesCommands: boolean;
};

/** All retained messages for a fleet, by topic. */
export function publicationsOf(fleet: Entities, shown: EntityContext): ReadonlyMap<string, Publication> {
  const { topics, slugs } = shown;
  const all = fleet.containers.flatMap((container) => {
    const slugged = slugs.get(container.name) ?? '';
    return [
      retained(topics.config(slugged), discovery(container, slugged, shown)),
      retained(topics.state(slugged), stateOf(container)),
      {
        ...retained(topics.attributes(slugged), { container: container.name, ...container.attributes }),
        qos: 0 as const,
      },
    ];
  });
  return new Map([...all, ...sensors(fleet, shown)].map((publication) => [publication.topic, publication]));
}

/** Of all containers there are, shown or not, so that a slug does not change when a container is stopped. */
export function namesIn({ containers, kept }: Entities): readonly string[] {
  return [...containers.map(({ name }) => name), ...kept];
}

/** Messages that remove an entity and everything retained for it. */
export function removalsOf(slugged: string, topics: Topics): readonly Publication[] {
  return [topics.config(slugged), topics.state(slugged), topics.attributes(slugged)].map((topic) => text(topic, ''));
}

/** Messages that remove what a whole device has besides the entities of containers. */
export function deviceRemovalsOf(topics: Topics): readonly Publication[] {
  const configs = [
    topics.sensorConfig('updates'),
    topics.sensorConfig('last_check'),
    topics.buttonConfig('check'),
    topics.eventConfig('event'),
  ];
  return [...configs, topics.updates, topics.lastCheck, topics.status].map((topic) => text(topic, ''));
}

/** The result of a request, for the event entity. */
export function eventOf({ kind, container, text: why }: RequestTold, topics: Topics): Publication {
  const payload = { event_type: kind, ...(container !== '' && { container }), text: why };
  return { topic: topics.event, payload: JSON.stringify(payload), qos: 1, retain: false };
}

/** `refused`: nothing was done. */
export type RequestTold = {
  readonly kind: (typeof eventTypes)[number];
  /** Empty: all. */
  readonly container: string;
  readonly text: string;
};

const eventTypes = ['updated', 'failed', 'refused'] as const;

/** https://www.home-assistant.io/integrations/update.mqtt/ */
function discovery(container: ContainerEntity, slugged: string, shown: EntityContext): object {
  const { topics } = shown;
  const id = `${topics.device}_${slugged}`;
  const command = { command_topic: topics.install(slugged), payload_install: 'install', qos: 1, retain: false };
  return {
    name: container.name,
    unique_id: id,
    default_entity_id: `update.${id.replaceAll('-', '_')}`,
    title: container.title,
    state_topic: topics.state(slugged),
    json_attributes_topic: topics.attributes(slugged),
    ...(shown.receivesCommands && container.notInstallable === undefined ? command : {}),
    release_url: container.releaseUrl,
    entity_picture: container.pictureUrl,
    ...common(shown),
  };
}

/**
 * The schema is closed: a message with an additional key, or with null instead of a text, is rejected as a whole. A
 * value that is left out stays as it was, so an empty text ends a summary.
 */
function stateOf(container: ContainerEntity): object {
  const { installedVersion, latestVersion, title, releaseUrl, summary, isUpdating, percent } = container;
  return {
    installed_version: installedVersion,
    latest_version: latestVersion,
    title,
    release_url: releaseUrl,
    release_summary: shortened(summary),
    in_progress: isUpdating,
    update_percentage: isUpdating ? (percent ?? null) : null,
  };
}

function shortened(summary: string): string {
  const characters = Array.from(summary);
  return characters.length > longestSummary ? `${characters.slice(0, longestSummary - 1).join('')}…` : summary;
}

/** More is cut off by Home Assistant. */
const longestSummary = 255;

/**
 * https://www.home-assistant.io/integrations/sensor.mqtt/, button.mqtt and event.mqtt. A sensor without a message is
 * unknown, which is the truth before the first check.
 */
function sensors({ lastCheckAtMs, updatesAvailable }: Entities, shown: EntityContext): readonly Publication[] {
  const { topics } = shown;
  const updates = {
    name: 'Updates available',
    unique_id: `${topics.device}_updates`,
    state_topic: topics.updates,
    state_class: 'measurement',
  };
  const lastCheck = {
    name: 'Last check',
    unique_id: `${topics.device}_last_check`,
    state_topic: topics.lastCheck,
    device_class: 'timestamp',
  };
  const check = {
    name: 'Check now',
    unique_id: `${topics.device}_check`,
    command_topic: topics.check,
    payload_press: 'check',
  };
  const event = {
    name: 'Last request',
    unique_id: `${topics.device}_event`,
    state_topic: topics.event,
    event_types: eventTypes,
  };
  const waiting = updatesAvailable === undefined ? [] : [text(topics.updates, String(updatesAvailable))];
  const checkedAt = lastCheckAtMs === undefined ? [] : [text(topics.lastCheck, new Date(lastCheckAtMs).toISOString())];
  return [
    retained(topics.sensorConfig('updates'), { ...updates, ...common(shown) }),
    retained(topics.sensorConfig('last_check'), { ...lastCheck, ...common(shown) }),
    shown.receivesCommands
      ? retained(topics.buttonConfig('check'), { ...check, ...common(shown) })
      : text(topics.buttonConfig('check'), ''),
    shown.receivesCommands
      ? retained(topics.eventConfig('event'), { ...event, ...common(shown) })
      : text(topics.eventConfig('event'), ''),
    ...waiting,
    ...checkedAt,
  ];
}

function common({ topics, deviceName, version }: EntityContext): object {
  return {
    availability_topic: topics.status,
    payload_available: 'online',
    payload_not_available: 'offline',
    device: {
      identifiers: [topics.device],
      name: `Upkeep ${deviceName}`,
      manufacturer: 'Upkeep',
      model: 'Docker host',
      sw_version: version,
    },
    origin: { name: 'Upkeep', sw_version: version },
  };
}

function retained(topic: string, payload: object): Publication {
  return text(topic, JSON.stringify(payload));
}

function text(topic: string, payload: string): Publication {
  return { topic, payload, qos: 1, retain: true };
}
