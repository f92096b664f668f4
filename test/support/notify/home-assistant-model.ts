import { onTestFinished } from 'vitest';
import { connectMqtt, type Incoming, type MqttConnection } from '../../../src/adapters/notify/mqtt/connection.ts';
import { brokerAt } from './scripted-broker.ts';

/**
 * Home Assistant's MQTT integration, as far as Upkeep meets it: what it does with a message, and what a person sees and
 * can press. From homeassistant/components of https://github.com/home-assistant/core:
 *
 * - mqtt/discovery.py: topics, an empty message, a message for a known entity
 * - mqtt/entity.py (mixins.py in 2024): availability, attributes, removal from the registry
 * - mqtt/schemas.py: device, origin
 * - mqtt/update.py: in 2024 a key that is there replaces its value; since 2025 MQTT_JSON_UPDATE_SCHEMA rejects a message
 *   with another key, or with null instead of a text
 * - mqtt/sensor.py, button.py, event.py
 * - update/__init__.py: the state, and what the service `update.install` refuses
 *
 * It is stricter than the original where that differs between versions: an address must be http or https.
 */
export type HomeAssistantModel = {
  /** By unique id. */
  readonly entities: () => ReadonlyMap<string, EntityView>;
  /** Messages that it has rejected or logged as an error. */
  readonly complaints: readonly string[];
  /** Unique ids that discovery has removed, in order. */
  readonly removed: readonly string[];
  /** Gives an entity a name, as a person does. It is lost when the entity is removed. */
  readonly rename: (uniqueId: string, name: string) => void;
  /** The service `update.install` or `button.press`. Throws what the person would read. */
  readonly press: (uniqueId: string) => Promise<void>;
  readonly until: (passes: (entities: ReadonlyMap<string, EntityView>) => boolean) => Promise<void>;
  /** Loses all states, connects again, and says that it is online. */
  readonly restart: () => Promise<void>;
  /** Resolves when it has received what the broker had received before. */
  readonly sync: () => Promise<void>;
  /** Connects again after the broker was away. */
  readonly reconnect: () => Promise<void>;
};

export type EntityView = {
  readonly component: string;
  readonly name: string;
  readonly device: string;
  readonly state: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly hasButton: boolean;
  /** All states since the entity was added, without repeats. */
  readonly states: readonly string[];
};

export type HomeAssistantVersion = '2024.3' | '2026.11';

type Entity = {
  readonly component: string;
  readonly hash: string;
  config: Readonly<Record<string, unknown>>;
  values: Record<string, unknown>;
  extra: Record<string, unknown>;
  isAvailable: boolean;
  readonly states: string[];
};

export async function openHomeAssistantModel(port: number, version: HomeAssistantVersion): Promise<HomeAssistantModel> {
  const isClosed = version !== '2024.3';
  let connection: MqttConnection;
  let found = new Map<string, Entity>();
  const names = new Map<string, string>();
  const complaints: string[] = [];
  const removed: string[] = [];
  const waiting = new Set<() => void>();

  let echo = (_payload: string): void => undefined;
  const echoTopic = `test/${Math.random()}`;

  const onEvent = ({ topic, payload, isRetained }: Incoming): void => {
    if (topic === echoTopic) return echo(payload);
    const [, component = '', node, object] =
      /^homeassistant\/(\w+)\/(?:([\w-]+)\/)?([\w-]+)\/config$/.exec(topic) ?? [];
    if (component !== '') discover(component, `${component} ${node} ${object}`, payload);
    else if (/^homeassistant\/.*config$/.test(topic)) complaints.push(`illegal discovery topic ${topic}`);
    for (const entity of found.values()) receive(entity, topic, payload, isRetained);
    for (const entity of found.values()) {
      const state = stateOf(entity);
      if (entity.states.at(-1) !== state) entity.states.push(state);
    }
    for (const look of waiting) look();
  };

  function discover(component: string, hash: string, payload: string): void {
    const known = found.get(hash);
    if (payload === '') {
      if (known === undefined) return;
      found.delete(hash);
      const id = String(known.config['unique_id']);
      removed.push(id);
      names.delete(id);
      return;
    }
    const config = JSON.parse(payload) as Record<string, unknown>;
    const fault = faultOfConfig(component, config);
    if (fault !== undefined) return void complaints.push(`${hash}: ${fault}`);
    const values = setUp(config);
    if (known !== undefined) {
      // The subscriptions to the same topics stay, so nothing retained comes again.
      for (const key of ['title', 'release_summary', 'release_url', 'entity_picture']) known.values[key] = values[key];
      known.config = config;
      return;
    }
    const entity = { component, hash, config, values, extra: {}, isAvailable: false, states: [] };
    found.set(hash, entity);
    subscribeTo(entity);
  }

  function subscribeTo({ config }: Entity): void {
    for (const key of ['availability_topic', 'state_topic', 'json_attributes_topic'])
      if (typeof config[key] === 'string') connection.subscribe(config[key]).catch(() => undefined);
  }

  function receive(entity: Entity, topic: string, payload: string, isRetained: boolean): void {
    const { config, component, hash } = entity;
    if (topic === config['availability_topic']) {
      if (payload === config['payload_available']) entity.isAvailable = true;
      else if (payload === config['payload_not_available']) entity.isAvailable = false;
    }
    if (topic === config['json_attributes_topic'] && payload !== '')
      entity.extra = JSON.parse(payload) as Record<string, unknown>;
    if (topic !== config['state_topic'] || payload === '') return;
    if (component === 'event') return receiveEvent(entity, payload, isRetained);
    if (component === 'sensor') {
      const fault = faultOfSensor(config, payload);
      if (fault === undefined) entity.values['state'] = payload === 'None' ? undefined : payload;
      else complaints.push(`${hash}: ${fault}`);
      return;
    }
    const state = JSON.parse(payload) as Record<string, unknown>;
    const fault = isClosed ? faultOfState(state) : undefined;
    if (fault !== undefined) return void complaints.push(`${hash}: ${fault}`);
    for (const key of [
      'installed_version',
      'latest_version',
      'title',
      'release_summary',
      'release_url',
      'entity_picture',
    ])
      if (key in state) entity.values[key] = state[key];
    if (!isClosed) return;
    if ('update_percentage' in state) {
      entity.values['update_percentage'] = state['update_percentage'];
      entity.values['in_progress'] = state['update_percentage'] !== null;
    }
    if ('in_progress' in state) entity.values['in_progress'] = state['in_progress'];
  }

  function receiveEvent(entity: Entity, payload: string, isRetained: boolean): void {
    if (isRetained) return;
    const { event_type: type, ...attributes } = JSON.parse(payload) as Record<string, unknown>;
    const types = entity.config['event_types'] as readonly unknown[];
    if (!types.includes(type)) return void complaints.push(`${entity.hash}: invalid event type ${String(type)}`);
    entity.values['state'] = type;
    entity.extra = attributes;
  }

  async function connect(): Promise<void> {
    connection = await connectMqtt(
      brokerAt(port, { clientId: `home-${Math.random()}` }),
      new AbortController().signal,
      onEvent,
    );
    for (const topic of ['homeassistant/+/+/config', 'homeassistant/+/+/+/config', echoTopic])
      await connection.subscribe(topic);
  }

  const entities = () =>
    new Map(
      [...found.values()].map((entity): [string, EntityView] => {
        const { component, config, values, extra, states } = entity;
        const id = String(config['unique_id']);
        const device = config['device'] as { name: string; identifiers: readonly string[] };
        const view = {
          component,
          name: names.get(id) ?? String(config['name']),
          device: `${device.identifiers.join()} (${device.name})`,
          state: stateOf(entity),
          attributes: { ...extra, ...values },
          hasButton: config['command_topic'] !== undefined,
          states,
        };
        return [id, view];
      }),
    );

  await connect();
  onTestFinished(() => connection.close());
  return {
    entities,
    complaints,
    removed,
    rename: (id, name) => void names.set(id, name),
    async press(id) {
      const entity = [...found.values()].find(({ config }) => config['unique_id'] === id);
      if (entity === undefined) throw new Error(`Referenced entity ${id} is missing`);
      const { config, values, component } = entity;
      if (config['command_topic'] === undefined) throw new Error(`${id} does not support this service`);
      if (component === 'update') {
        const { installed_version: installed, latest_version: latest } = values;
        if (latest === undefined || installed === latest) throw new Error(`No update available for ${id}`);
        if (values['in_progress'] === true) throw new Error(`Update installation already in progress for ${id}`);
      }
      const payload = textOf(config['payload_install'] ?? config['payload_press']);
      await connection.publish({ topic: textOf(config['command_topic']), payload, qos: 1, retain: false });
    },
    until: (passes) =>
      new Promise((resolve) => {
        const look = () => {
          if (!passes(entities())) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    async sync() {
      const payload = `${Math.random()}`;
      const arrived = new Promise<void>((resolve) => {
        const before = echo;
        echo = (text) => (text === payload ? resolve() : before(text));
      });
      await connection.publish({ topic: echoTopic, payload, qos: 1, retain: false });
      await arrived;
    },
    async reconnect() {
      await connection.close();
      await connect();
      for (const entity of found.values()) subscribeTo(entity);
    },
    async restart() {
      await connection.close();
      found = new Map();
      await connect();
      await connection.publish({ topic: 'homeassistant/status', payload: 'online', qos: 1, retain: false });
    },
  };
}

function setUp(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { title, release_summary: summary, release_url: url, entity_picture: picture } = config;
  return { title, release_summary: summary, release_url: url, entity_picture: picture };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function stateOf({ component, isAvailable, values }: Entity): string {
  if (!isAvailable) return 'unavailable';
  if (component !== 'update') return textOf(values['state'] ?? 'unknown');
  const { installed_version: installed, latest_version: latest } = values;
  if (typeof installed !== 'string' || typeof latest !== 'string') return 'unknown';
  if (installed === latest) return 'off';
  return isNewer(latest, installed) ? 'on' : 'off';
}

/** AwesomeVersion: versions that it cannot read are not compared, and count as newer. */
function isNewer(latest: string, installed: string): boolean {
  const [old, young] = [installed, latest].map((version) =>
    /^v?(\d+(?:\.\d+)*)(?:[-.+]?(?:a|b|c|rc|alpha|beta|dev|post)?[-.]?\d*)$/.exec(version)?.[1]?.split('.').map(Number),
  );
  if (old === undefined || young === undefined) return true;
  const places = Array.from(
    { length: Math.max(old.length, young.length) },
    (_, at) => (young[at] ?? 0) - (old[at] ?? 0),
  );
  return (places.find((difference) => difference !== 0) ?? 0) > 0;
}

const texts = ['installed_version', 'latest_version', 'title', 'release_summary'];
const addresses = ['release_url', 'entity_picture'];

function faultOfState(state: Readonly<Record<string, unknown>>): string | undefined {
  for (const [key, value] of Object.entries(state)) {
    if (texts.includes(key)) {
      if (typeof value !== 'string') return `expected str for ${key}`;
    } else if (addresses.includes(key)) {
      if (!isAddress(value)) return `invalid url for ${key}`;
    } else if (key === 'in_progress') {
      if (typeof value !== 'boolean') return 'invalid boolean value for in_progress';
    } else if (key === 'update_percentage') {
      if (value !== null && !(typeof value === 'number' && value >= 0 && value <= 100))
        return `${key} is no percentage`;
    } else return `extra keys not allowed: ${key}`;
  }
  return undefined;
}

/** The keys of our components; all others are removed before the schema. */
function faultOfConfig(component: string, config: Readonly<Record<string, unknown>>): string | undefined {
  const required: Readonly<Record<string, readonly string[]>> = {
    update: ['state_topic'],
    sensor: ['state_topic'],
    button: ['command_topic'],
    event: ['state_topic', 'event_types'],
  };
  const needed = required[component];
  if (needed === undefined) return `integration ${component} is not supported`;
  for (const key of [...needed, 'unique_id', 'name', 'device', 'origin'])
    if (config[key] === undefined) return `required key not provided: ${key}`;
  const isText = ['name', 'title', 'unique_id', 'payload_install', 'payload_press', 'payload_available'];
  for (const key of isText) if (key in config && typeof config[key] !== 'string') return `expected str for ${key}`;
  for (const key of addresses) if (key in config && !isAddress(config[key])) return `invalid url for ${key}`;
  for (const [key, value] of Object.entries(config))
    if (key.endsWith('_topic') && !/^[^+#\0]+$/.test(String(value))) return `invalid topic for ${key}`;
  const device = config['device'] as Readonly<Record<string, unknown>>;
  if (!Array.isArray(device['identifiers']) || device['identifiers'].length === 0) return 'device has no identifier';
  const closed = [
    'identifiers',
    'connections',
    'manufacturer',
    'model',
    'model_id',
    'name',
    'hw_version',
    'serial_number',
  ];
  const more = ['sw_version', 'via_device', 'suggested_area', 'configuration_url'];
  const extra = Object.keys(device).find((key) => ![...closed, ...more].includes(key));
  if (extra !== undefined) return `extra keys not allowed: device.${extra}`;
  const origin = config['origin'] as Readonly<Record<string, unknown>>;
  const strange = Object.keys(origin).find((key) => !['name', 'sw_version', 'support_url'].includes(key));
  return strange === undefined ? undefined : `extra keys not allowed: origin.${strange}`;
}

function faultOfSensor(config: Readonly<Record<string, unknown>>, payload: string): string | undefined {
  if (config['device_class'] === 'timestamp')
    return /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/.test(payload)
      ? undefined
      : `invalid state message ${payload}`;
  if (config['state_class'] === undefined || payload === 'None') return undefined;
  return Number.isFinite(Number(payload)) ? undefined : `sensor has the non-numeric value ${payload}`;
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}
