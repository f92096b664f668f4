import { createSecureContext } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  openHomeAssistant,
  type HomeAssistant,
  type HomeAssistantDeps,
} from '../../src/adapters/notify/home-assistant/home-assistant.ts';
import { connectMqtt, type Incoming, type MqttConnection } from '../../src/adapters/notify/mqtt/connection.ts';
import { parseTargets } from '../../src/adapters/notify/targets.ts';
import type { ContainerEntity, Entities } from '../../src/domain/home-assistant.ts';
import { startRig } from '../support/notify/notify-rig.ts';
import { startBroker, type BrokerOptions, type MqttBroker } from './broker.ts';
import { describeWithReceivers as describe } from './describe-with-receivers.ts';

/** A broker's state, as Home Assistant would see it. */
type Mirror = {
  readonly topics: Map<string, string>;
  readonly connection: MqttConnection;
  /** Resolves when the state passes. */
  readonly until: (passes: (topics: ReadonlyMap<string, string>) => boolean) => Promise<void>;
};

type Scene = {
  readonly broker: MqttBroker;
  readonly mirror: Mirror;
  readonly warnings: string[];
  readonly installed: string[];
  readonly checks: () => number;
  readonly open: (query?: string, login?: string) => Promise<HomeAssistant>;
};

const web: ContainerEntity = {
  name: 'web',
  title: 'nginx',
  installedVersion: '1.27.3',
  latestVersion: '1.27.4',
  isOutdated: true,
  releaseUrl: 'https://example.com/notes',
  pictureUrl: 'https://example.com/nginx.png',
  summary: 'Waits for your approval',
  isUpdating: false,
  attributes: { image: 'nginx:1.27', state: 'running' },
};
const db: ContainerEntity = {
  name: 'my.DB',
  title: 'postgres',
  installedVersion: '16 (aaa110000000)',
  latestVersion: '16 (aaa110000000)',
  isOutdated: false,
  summary: '',
  isUpdating: false,
  notInstallable: 'it is pinned',
  attributes: {},
};
const fleetOf = (containers: readonly ContainerEntity[], more: Partial<Entities> = {}): Entities => ({
  containers,
  kept: [],
  isSettled: true,
  updatesAvailable: 1,
  lastCheckAtMs: undefined,
  ...more,
});
const config = (slug: string): string => `homeassistant/update/upkeep_h1/${slug}/config`;
const state = (slug: string): string => `upkeep/h1/${slug}/update`;

async function createScene(
  options: BrokerOptions = {},
  login: Partial<{ user: string; password: string }> = {},
): Promise<Scene> {
  const broker = await startBroker(options);
  onTestFinished(() => broker[Symbol.asyncDispose]());
  const warnings: string[] = [];
  const installed: string[] = [];
  let checks = 0;
  const rig = await startRig(() => 'drop');
  const deps: HomeAssistantDeps = {
    version: '1.2.3',
    identity: () => Promise.resolve({ node: 'h1', deviceName: 'h1', formerNodes: [] }),
    nowMs: () => 0,
    random: () => 0.5,
    contextFor: () => Promise.resolve(createSecureContext()),
    warn: (message) => void warnings.push(message),
    onInstall: (container) => void installed.push(container),
    onCheck: () => {
      checks += 1;
    },
    waits: { reconnectMs: () => 10, birthMs: () => 5, selfTestMs: 300 },
  };
  return {
    broker,
    warnings,
    installed,
    mirror: await openMirror(broker.port, login),
    checks: () => checks,
    async open(query = '', me = '') {
      const { homeAssistants } = parseTargets([`homeassistant+mqtt://${me}127.0.0.1:${broker.port}${query}`], rig.deps);
      const opened = openHomeAssistant(homeAssistants[0]!, deps);
      onTestFinished(() => opened.close());
      return opened;
    },
  };
}

async function openMirror(port: number, login: Partial<{ user: string; password: string }>): Promise<Mirror> {
  const topics = new Map<string, string>();
  let wake = (): void => undefined;
  const onEvent = ({ topic, payload }: Incoming): void => {
    if (payload === '') topics.delete(topic);
    else topics.set(topic, payload);
    wake();
  };
  const broker = {
    host: '127.0.0.1',
    port,
    clientId: `mirror-${port}-${Math.random()}`,
    user: '',
    password: '',
    ...login,
  };
  const more = { cleanSession: true, secureContext: undefined, skipsVerification: false };
  const connection = await connectMqtt({ ...broker, ...more }, new AbortController().signal, onEvent);
  onTestFinished(() => connection.close());
  await connection.subscribe('#');
  return {
    topics,
    connection,
    async until(passes) {
      while (!passes(topics))
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
  };
}

const json = (mirror: Mirror, topic: string): Record<string, unknown> =>
  JSON.parse(mirror.topics.get(topic) ?? '{}') as Record<string, unknown>;

describe('Home Assistant', () => {
  test('finds an entity for each container, whose messages are those that it accepts', async () => {
    const { mirror, open } = await createScene();
    (await open()).show(fleetOf([web, db], { lastCheckAtMs: 1_795_330_813_000 }));
    await mirror.until((topics) => topics.has('upkeep/h1/last_check'));
    expect(mirror.topics.get('upkeep/h1/status')).toBe('online');
    expect(json(mirror, config('web'))).toEqual({
      name: 'web',
      unique_id: 'upkeep_h1_web',
      default_entity_id: 'update.upkeep_h1_web',
      title: 'nginx',
      state_topic: 'upkeep/h1/web/update',
      json_attributes_topic: 'upkeep/h1/web/attributes',
      release_url: 'https://example.com/notes',
      entity_picture: 'https://example.com/nginx.png',
      availability_topic: 'upkeep/h1/status',
      payload_available: 'online',
      payload_not_available: 'offline',
      device: {
        identifiers: ['upkeep_h1'],
        name: 'Upkeep h1',
        manufacturer: 'Upkeep',
        model: 'Docker host',
        sw_version: '1.2.3',
      },
      origin: { name: 'Upkeep', sw_version: '1.2.3' },
    });
    expect(json(mirror, state('web'))).toEqual({
      installed_version: '1.27.3',
      latest_version: '1.27.4',
      title: 'nginx',
      release_url: 'https://example.com/notes',
      release_summary: 'Waits for your approval',
      in_progress: false,
      update_percentage: null,
    });
    expect(json(mirror, 'upkeep/h1/web/attributes')).toEqual({
      container: 'web',
      image: 'nginx:1.27',
      state: 'running',
    });
    expect(json(mirror, state('my_db'))['installed_version']).toBe(json(mirror, state('my_db'))['latest_version']);
    expect(mirror.topics.get('upkeep/h1/updates')).toBe('1');
    expect(mirror.topics.get('upkeep/h1/last_check')).toBe('2026-11-22T07:00:13.000Z');
    expect(mirror.topics.has('homeassistant/button/upkeep_h1/check/config')).toBe(false);
  });

  test('loses the entities of containers that are gone, those of an earlier process too', async () => {
    const { broker, mirror, open } = await createScene();
    for (const slug of ['ghost', 'web'])
      await mirror.connection.publish({ topic: config(slug), payload: '{}', qos: 1, retain: true });
    const opened = await open();
    opened.show(fleetOf([web, db]));
    await mirror.until((topics) => topics.has(state('my_db')) && !topics.has(config('ghost')));
    opened.show(fleetOf([db]));
    await mirror.until((topics) => !topics.has(config('web')) && !topics.has(state('web')));
    await opened.close();
    await mirror.until((topics) => topics.get('upkeep/h1/status') === 'offline');
    const later = await openMirror(broker.port, {});
    await later.until((topics) => topics.has(config('my_db')) && topics.get('upkeep/h1/status') === 'offline');
    expect([...later.topics.keys()].filter((topic) => /web|ghost/.test(topic))).toEqual([]);
  });

  test('sees an update under way, and its end', async () => {
    const { mirror, open } = await createScene();
    const opened = await open();
    opened.show(fleetOf([web]));
    opened.show(fleetOf([{ ...web, isUpdating: true }]));
    await mirror.until(() => json(mirror, state('web'))['in_progress'] === true);
    opened.show(fleetOf([{ ...web, installedVersion: web.latestVersion }]));
    await mirror.until(() => json(mirror, state('web'))['in_progress'] === false);
    expect(json(mirror, state('web'))['installed_version']).toBe(web.latestVersion);
  });

  test('may press buttons where the URL allows it, each once, and a retained press is none', async () => {
    const { mirror, open, installed, checks } = await createScene();
    const press = (topic: string, payload = 'install', retain = false) =>
      mirror.connection.publish({ topic, payload, qos: 1, retain });
    await press('upkeep/h1/web/install', 'install', true);
    (await open('?install=yes')).show(fleetOf([web, db]));
    await mirror.until(
      (topics) => topics.has('homeassistant/button/upkeep_h1/check/config') && topics.has(state('my_db')),
    );
    expect(json(mirror, config('web'))).toMatchObject({
      command_topic: 'upkeep/h1/web/install',
      payload_install: 'install',
    });
    expect(json(mirror, config('my_db'))).not.toHaveProperty('command_topic');
    expect(installed).toEqual([]);
    // A press of a button that is gone is answered too, each once in half a minute.
    for (const topic of ['my_db', 'nobody', 'web', 'web']) await press(`upkeep/h1/${topic}/install`);
    await press('upkeep/h1/web/install', 'INSTALL');
    await press('upkeep/h1/check', 'check');
    // It arrived after all of these.
    await expect.poll(checks).toBe(1);
    expect(installed).toEqual(['my.DB', 'web']);
  });

  test('has no buttons where the broker delivers nothing to us', async () => {
    const me = { user: 'me', password: 'br0ker-Pa55' };
    const rights = [
      'user me',
      'topic write upkeep/#',
      'topic readwrite homeassistant/#',
      'user all',
      'topic readwrite #',
    ];
    const scene = await createScene(
      { passwords: { me: me.password, all: 'x' }, rights },
      { user: 'all', password: 'x' },
    );
    const { mirror, open, warnings } = scene;
    (await open('?install=yes', 'me:br0ker-Pa55@')).show(fleetOf([web]));
    await mirror.until((topics) => topics.has(config('web')));
    expect(json(mirror, config('web'))).not.toHaveProperty('command_topic');
    expect(warnings).toEqual([expect.stringContaining('there are no buttons')]);
    expect(warnings.join()).not.toContain(me.password);
  });

  test('is told everything again when it or the broker has started anew', async () => {
    const { broker, mirror, open, warnings } = await createScene();
    const containers = Array.from({ length: 100 }, (_, number) => ({ ...web, name: `c${number}` }));
    (await open()).show(fleetOf(containers, { lastCheckAtMs: 0 }));
    await mirror.until((topics) => topics.has('upkeep/h1/last_check') && topics.has(state('c99')));
    mirror.topics.clear();
    await mirror.connection.publish({ topic: 'homeassistant/status', payload: 'online', qos: 1, retain: false });
    await mirror.until((topics) => topics.has('upkeep/h1/last_check') && topics.has(state('c99')));
    await broker.restart();
    const later = await openMirror(broker.port, {});
    await later.until((topics) => topics.has('upkeep/h1/last_check') && topics.has(state('c99')));
    expect([...later.topics.keys()].filter((topic) => topic.endsWith('/config'))).toHaveLength(102);
    expect(warnings).toEqual([expect.stringContaining('it is tried again and again')]);
  });
});
