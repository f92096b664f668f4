import type { ContainerEntity, Entities } from '../../../domain/home-assistant/entities.ts';
import type { Publication } from '../mqtt/packets.ts';
import type { Topics } from './topics.ts';

export type EntityContext = {
  readonly topics: Topics;
  /** Of each container, by its name. */
  readonly slugs: ReadonlyMap<string, string>;
  readonly hostName: string;
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
  const waiting = fleet.containers.filter(isOutdated).length;
  return new Map([...all, ...sensors(fleet, waiting, shown)].map((publication) => [publication.topic, publication]));
}

/** Messages that remove an entity and everything retained for it. */
export function removalsOf(slugged: string, topics: Topics): readonly Publication[] {
  return [topics.config(slugged), topics.state(slugged), topics.attributes(slugged)].map((topic) => text(topic, ''));
}

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
    ...(shown.receivesCommands && container.mayInstall ? command : {}),
    release_url: container.releaseUrl,
    ...common(shown),
  };
}

/** The schema is closed: a message with an additional key, or with null instead of a text, is rejected as a whole. */
function stateOf(container: ContainerEntity): object {
  const { installedVersion, latestVersion, title, releaseUrl, isUpdating } = container;
  return {
    installed_version: installedVersion,
    latest_version: latestVersion,
    title,
    release_url: releaseUrl,
    in_progress: isUpdating,
    update_percentage: null,
  };
}

/** https://www.home-assistant.io/integrations/sensor.mqtt/ and https://www.home-assistant.io/integrations/button.mqtt/ */
function sensors({ lastCheckAtMs }: Entities, waiting: number, shown: EntityContext): readonly Publication[] {
  const { topics } = shown;
  const updates = { name: 'Updates available', unique_id: `${topics.device}_updates`, state_topic: topics.updates };
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
  const checkedAt = lastCheckAtMs === undefined ? [] : [text(topics.lastCheck, new Date(lastCheckAtMs).toISOString())];
  return [
    retained(topics.sensorConfig('updates'), { ...updates, ...common(shown) }),
    retained(topics.sensorConfig('last_check'), { ...lastCheck, ...common(shown) }),
    shown.receivesCommands
      ? retained(topics.buttonConfig('check'), { ...check, ...common(shown) })
      : text(topics.buttonConfig('check'), ''),
    text(topics.updates, String(waiting)),
    ...checkedAt,
  ];
}

function common({ topics, hostName, version }: EntityContext): object {
  return {
    availability_topic: topics.status,
    payload_available: 'online',
    payload_not_available: 'offline',
    device: {
      identifiers: [topics.device],
      name: `Upkeep ${hostName}`,
      manufacturer: 'Upkeep',
      model: 'Docker host',
      sw_version: version,
    },
    origin: { name: 'Upkeep', sw_version: version },
  };
}

function isOutdated({ installedVersion, latestVersion }: ContainerEntity): boolean {
  return installedVersion !== undefined && latestVersion !== undefined && installedVersion !== latestVersion;
}

function retained(topic: string, payload: object): Publication {
  return text(topic, JSON.stringify(payload));
}

function text(topic: string, payload: string): Publication {
  return { topic, payload, qos: 1, retain: true };
}
