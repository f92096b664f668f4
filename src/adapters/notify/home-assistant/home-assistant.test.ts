import { createSecureContext } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  acceptance,
  publication,
  published,
  startScriptedBroker,
} from '../../../../test/support/notify/scripted-broker.ts';
import type { ContainerEntity, Entities } from '../../../domain/home-assistant.ts';
import { createDeferred } from '../mqtt/connection.ts';
import { type HomeAssistant, openHomeAssistant, usualWaits } from './home-assistant.ts';

const web: ContainerEntity = {
  name: 'web',
  title: 'nginx',
  installedVersion: '1',
  latestVersion: '2',
  isOutdated: true,
  summary: '',
  isUpdating: false,
  notInstallable: 'a test',
  attributes: {},
};
const fleet: Entities = {
  containers: [web],
  kept: [],
  isSettled: true,
  updatesAvailable: 1,
  lastCheckAtMs: undefined,
};

type Scene = {
  /** Messages of the client, `TOPIC PAYLOAD`. */
  readonly received: string[];
  readonly send: (messages: readonly (readonly [topic: string, payload: string])[]) => void;
  readonly until: (passes: (received: readonly string[]) => boolean) => Promise<void>;
  readonly opened: HomeAssistant;
};

/** A connected client whose subscriptions are confirmed. */
async function start(
  birthMs: (sinceLastMs: number) => number = () => 5,
  nowMs: () => number = () => 0,
): Promise<Scene> {
  const received: string[] = [];
  const subscribed = createDeferred<void>();
  let subscriptions = 0;
  let send: (bytes: Buffer) => void = () => undefined;
  let look: () => void = () => undefined;
  const broker = await startScriptedBroker((packet, socket) => {
    send = (bytes) => socket.write(bytes);
    socket.write(acceptance(packet) ?? '');
    const message = published(packet);
    if (message !== undefined) received.push(`${message.topic} ${message.payload}`);
    if (packet.head === 0x82 && (subscriptions += 1) === 4) subscribed.resolve();
    look();
  });
  const settings = {
    host: '127.0.0.1',
    port: broker.port,
    isSecure: false,
    user: '',
    password: '',
    prefix: 'homeassistant',
    base: 'upkeep',
    node: 'h1',
    mayInstall: false,
    skipsVerification: false,
    shown: 'homeassistant+mqtt://',
    unknownKeys: [],
  };
  const opened = openHomeAssistant(settings, {
    version: '1.2.3',
    identity: () => Promise.resolve({ node: 'h1', deviceName: 'h1', formerNodes: [] }),
    nowMs,
    random: () => 0.5,
    contextFor: () => Promise.resolve(createSecureContext()),
    warn: () => undefined,
    onInstall: () => undefined,
    onCheck: () => undefined,
    waits: {
      reconnectMs: () => 10,
      birthMs,
      selfTestMs: 5,
    },
  });
  onTestFinished(async () => {
    await opened.close();
    await broker[Symbol.asyncDispose]();
  });
  await subscribed.promise;
  return {
    received,
    opened,
    send: (messages) => send(Buffer.concat(messages.map(([topic, payload]) => publication(topic, payload)))),
    until: (passes) =>
      new Promise((resolve) => {
        look = () => passes(received) && resolve();
        look();
      }),
  };
}

const isRemoval = (line: string) => line.endsWith('/config ') && line.includes('/update/');

test('a broker that is full of entities that nobody knows costs bounded memory', async () => {
  const heard = createDeferred<void>();
  const { received, send, until, opened } = await start(() => {
    heard.resolve();
    return 5;
  });
  const config = (slug: string): string => `homeassistant/update/upkeep_h1/${slug}/config`;
  const long = 'x'.repeat(2000);
  send([
    [config(long), '{}'],
    ...Array.from({ length: 12_000 }, (_, index) => [config(`old-${index}`), '{}'] as const),
    ['homeassistant/status', 'online'],
  ]);
  await heard.promise;
  opened.show(fleet);
  await until((all) => all.at(-1) === 'upkeep/h1/old-9999/attributes ');
  const removed = received.filter(isRemoval);
  expect(removed.filter((line) => line.includes(long))).toEqual([]);
  expect(removed).toHaveLength(10_000);
});

test('Home Assistant that starts many times in a moment is told everything once more', async () => {
  let waits = 0;
  const { received, send, until, opened } = await start(() => {
    waits += 1;
    return 50;
  });
  const states = (all: readonly string[]): number =>
    all.filter((line) => line.startsWith('upkeep/h1/web/update ')).length;
  opened.show(fleet);
  await until((all) => states(all) === 1);
  send(Array.from({ length: 200 }, () => ['homeassistant/status', 'online'] as const));
  await until((all) => states(all) === 2);
  expect(waits).toBe(1);
  send([['homeassistant/status', 'online']]);
  await until((all) => states(all) === 3);
  expect([states(received), waits]).toEqual([3, 2]);
});

test('the answers to starts of Home Assistant are half a minute apart, however often a broker says that it started', async () => {
  const since: number[] = [];
  let now = 0;
  const wait = (sinceLastMs: number): number => {
    since.push(sinceLastMs);
    return 1;
  };
  const { received, send, until, opened } = await start(wait, () => now);
  const states = (all: readonly string[]): number =>
    all.filter((line) => line.startsWith('upkeep/h1/web/update ')).length;
  opened.show(fleet);
  await until((all) => states(all) === 1);
  for (const at of [1000, 3000]) {
    now = at;
    send([['homeassistant/status', 'online']]);
    const before = states(received);
    await until((all) => states(all) === before + 1);
  }
  expect(since).toEqual([Infinity, 2000]);
  const { birthMs } = usualWaits(() => 0.5);
  expect([birthMs(Infinity), birthMs(2000), birthMs(29_500)]).toEqual([3000, 28_000, 3000]);
});

test('a flood of presses maps the containers once, not for each message', async () => {
  const { send, until, opened, received } = await start();
  let reads = 0;
  const counted = {
    ...web,
    get name() {
      reads += 1;
      return 'web';
    },
  };
  opened.show({ ...fleet, containers: [counted] });
  await until((all) => all.some((line) => line.startsWith('upkeep/h1/web/update ')));
  const before = reads;
  send(Array.from({ length: 500 }, (_, index) => [`homeassistant/update/upkeep_h1/x${index}/config`, '{}'] as const));
  await until(() => received.filter((line) => /\/x\d+\/config $/.test(line)).length === 500);
  expect(reads).toBe(before);
});
