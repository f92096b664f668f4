import type { ContainerEntity, Entities } from '../../../domain/home-assistant.ts';
import type { Publication } from '../mqtt/packets.ts';
import { plainFor } from '../service/markup.ts';
import { createHash } from 'node:crypto';

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
    // Home Assistant shows it as Markdown, and it may have words of a registry or of release notes.
    release_summary: shortened(plainFor('ntfy', { text: summary })),
    in_progress: isUpdating,
    update_percentage: isUpdating ? (percent ?? null) : null,
  };
}

function shortened(summary: string): string {
  const characters = Array.from(summary);
  return characters.length > maxSummary ? `${characters.slice(0, maxSummary - 1).join('')}…` : summary;
}

/** More is cut off by Home Assistant. */
const maxSummary = 255;

/** https://www.home-assistant.io/integrations/sensor.mqtt/, button.mqtt and event.mqtt */
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
  // `None` is unknown to a sensor of numbers. Without it the number of an earlier process, which the broker has kept, would stay.
  const waiting = text(topics.updates, updatesAvailable === undefined ? 'None' : String(updatesAvailable));
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
    waiting,
    ...checkedAt,
  ];
}

export function deviceTitle(deviceName: string): string {
  return `Upkeep ${deviceName}`;
}

function common({ topics, deviceName, version }: EntityContext): object {
  return {
    availability_topic: topics.status,
    payload_available: 'online',
    payload_not_available: 'offline',
    device: {
      identifiers: [topics.device],
      name: deviceTitle(deviceName),
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

/** A name in the form for topics and ids. */
export function slug(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '_');
}

/**
 * A slug for each name. If several names have the same slug, all but one get six hex digits of a hash. The order of the
 * names does not matter.
 */
export function slugsOf(names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const taken = new Set<string>();
  // A name that is already a slug keeps it when other containers are added or removed.
  const order = [...new Set(names)].toSorted(
    (a, b) => Number(slug(b) === b) - Number(slug(a) === a) || (a < b ? -1 : 1),
  );
  for (const name of order) {
    const plain = slug(name);
    const own = taken.has(plain) ? `${plain}_${createHash('sha256').update(name).digest('hex').slice(0, 6)}` : plain;
    taken.add(own);
    found.set(name, own);
  }
  return found;
}

/** The topics of one host. */
export type Topics = ReturnType<typeof topicsOf>;

export function topicsOf(prefix: string, base: string, node: string) {
  const own = `${base}/${node}`;
  // Home Assistant discovers no id with a slash.
  const device = `${base.replaceAll('/', '_')}_${node}`;
  return {
    device,
    status: `${own}/status`,
    check: `${own}/check`,
    updates: `${own}/updates`,
    lastCheck: `${own}/last_check`,
    /** Not retained: what became of a request. */
    event: `${own}/event`,
    /** No container's slug begins with an underscore. */
    selfTest: `${own}/_self_test/install`,
    anyInstall: `${own}/+/install`,
    birth: `${prefix}/status`,
    anyConfig: `${prefix}/update/${device}/+/config`,
    /** Of all devices, those of other programs too. */
    everyConfig: `${prefix}/update/+/+/config`,
    everyStatus: `${base}/+/status`,
    config: (slugged: string) => `${prefix}/update/${device}/${slugged}/config`,
    sensorConfig: (name: string) => `${prefix}/sensor/${device}/${name}/config`,
    buttonConfig: (name: string) => `${prefix}/button/${device}/${name}/config`,
    eventConfig: (name: string) => `${prefix}/event/${device}/${name}/config`,
    state: (slugged: string) => `${own}/${slugged}/update`,
    attributes: (slugged: string) => `${own}/${slugged}/attributes`,
    install: (slugged: string) => `${own}/${slugged}/install`,
  };
}

/** The node and the slug of an entity of any Upkeep with this prefix and base; undefined for another topic. */
export function entityIn(
  { prefix, base }: { readonly prefix: string; readonly base: string },
  topic: string,
): { readonly node: string; readonly slugged: string } | undefined {
  const start = `${prefix}/update/${base.replaceAll('/', '_')}_`;
  const [node = '', slugged = '', end, ...more] = topic.startsWith(start) ? topic.slice(start.length).split('/') : [];
  return end === 'config' && more.length === 0 && node !== '' && slugged !== '' ? { node, slugged } : undefined;
}

/** The level that a `+` matches; undefined for another topic. */
export function wildcardLevel(pattern: string, topic: string): string | undefined {
  const [before = '', after = ''] = pattern.split('+');
  if (!topic.startsWith(before) || !topic.endsWith(after)) return undefined;
  const level = topic.slice(before.length, topic.length - after.length);
  return level === '' || level.includes('/') ? undefined : level;
}
