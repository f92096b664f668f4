import { describe, expect, test } from 'vitest';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import {
  asDoorHelper,
  asHelper,
  readHelperOrder,
  readHelperTask,
  writeHelperOrder,
  writeHelperTask,
} from './helper.ts';
import { readJournal } from '../transaction/journal.ts';
import { helperName, isHelperName, isParkedName, parseTransactionName } from '../transaction/transaction-names.ts';

const order = {
  transaction: 'one',
  name: 'upkeep',
  oldId: 'a'.repeat(64),
  oldImageId: 'sha256:1',
  newImageId: 'sha256:2',
  reference: 'upkeep:stable',
};

test('an order is read from labels as it was written, and is no journal', () => {
  expect(readHelperOrder(writeHelperOrder(order))).toEqual(order);
  expect(readJournal(writeHelperOrder(order))).toEqual({ kind: 'none' });
  expect(readHelperOrder({ 'upkeep.tx.name': 'upkeep' })).toBeUndefined();
});

test('its name is nobody’s to select, and no place in a transaction', () => {
  expect(isHelperName(helperName('upkeep'))).toBe(true);
  expect(isHelperName('.upkeep-helper')).toBe(false);
  expect(isParkedName(helperName('upkeep'))).toBe(true);
  expect(parseTransactionName(helperName('upkeep'))).toBeUndefined();
});

test('is made from our own container, without anything by which others find that', () => {
  const own = inspectedContainer('upkeep', {
    config: {
      Env: ['DOCKER_HOST=tcp://proxy:2375'],
      Cmd: ['run', '--interval', '1h'],
      Hostname: 'keeper',
      ExposedPorts: { '8080/tcp': {} },
      Healthcheck: { Test: ['CMD', 'upkeep', '--health-check'] },
    },
    labels: { 'traefik.enable': 'true', 'com.docker.compose.service': 'upkeep' },
    host: {
      Binds: ['/var/run/docker.sock:/var/run/docker.sock'],
      NetworkMode: 'inner',
      PortBindings: { '8080/tcp': [{ HostPort: '8080' }] },
      RestartPolicy: { Name: 'unless-stopped' },
    },
    networks: { inner: { NetworkID: 'n1', Aliases: ['upkeep'], IPAMConfig: { IPv4Address: '10.0.0.2' } } },
  });
  const { Config, HostConfig, Networks } = asHelper(own, { transaction: 'one' }).settings;
  expect(Config).toMatchObject({
    Env: ['DOCKER_HOST=tcp://proxy:2375', 'UPKEEP_FINISH_UPDATE=one'],
    Cmd: ['run', '--interval', '1h'],
    Hostname: '',
    ExposedPorts: {},
    Healthcheck: { Test: ['NONE'] },
    Labels: {},
  });
  expect(HostConfig).toMatchObject({
    Binds: ['/var/run/docker.sock:/var/run/docker.sock'],
    NetworkMode: 'inner',
    PortBindings: {},
    RestartPolicy: { Name: 'always' },
  });
  expect(Networks).toEqual({ inner: { NetworkID: 'n1' } });
});

test.each([
  { transaction: 'one' },
  { transaction: 'one', engine: 'nas' },
  { transaction: 'one', socket: '/run/x@y.sock' },
  { transaction: 'one', engine: 'nas', socket: '/run/upkeep-engine/docker.sock' },
])('a task is read from the variable as it was written: %j', (task) => {
  expect(readHelperTask(writeHelperTask(task))).toEqual({ engine: undefined, socket: undefined, ...task });
});

describe('asDoorHelper()', () => {
  const own = inspectedContainer('upkeep', {
    config: { User: '1000', Env: ['DOCKER_HOST=tcp://gate:2375'] },
    host: { Binds: ['/srv/keys:/keys:ro'], CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges', 'label=type:x'] },
  });
  const holder = (binds: readonly string[], mount: object, host: object = {}) =>
    inspectedContainer('gate', {
      host: { Binds: binds, ...host },
      mounts: [{ Type: 'bind', Destination: '/', ...mount }],
    });

  test.each([
    [
      'the path that the engine was given',
      holder(['/var/run/docker.sock:/var/run/docker.sock:ro'], {
        Source: '/run/host-services/docker.proxy.sock',
        Destination: '/var/run/docker.sock',
      }),
      '/var/run/docker.sock:/run/upkeep-engine.sock',
      '/run/upkeep-engine.sock',
    ],
    [
      'a mount without a short form',
      holder([], { Source: '/run/user/1000/docker.sock', Destination: '/sock' }),
      '/run/user/1000/docker.sock:/run/upkeep-engine.sock',
      '/run/upkeep-engine.sock',
    ],
    [
      'the folder with the socket',
      holder(['/var/run:/host/run'], { Source: '/run', Destination: '/host/run' }),
      '/var/run:/run/upkeep-engine',
      '/run/upkeep-engine/docker.sock',
    ],
  ])('mounts %s', (_, gate, bind, socket) => {
    const { Config, HostConfig } = asDoorHelper(own, gate, { transaction: 'one', engine: 'nas' })!.settings;
    expect(HostConfig.Binds).toEqual(['/srv/keys:/keys:ro', bind]);
    expect(Config.Env).toEqual(['DOCKER_HOST=tcp://gate:2375', `UPKEEP_FINISH_UPDATE=one@nas@${socket}`]);
  });

  test('has the access of the one with the socket, and what else our own has', () => {
    const host = { Privileged: true, UsernsMode: 'host', SecurityOpt: ['label=disable', 'seccomp=x'] };
    const gate = holder([], { Source: '/run/docker.sock' }, host);
    const { Config, HostConfig } = asDoorHelper(own, gate, { transaction: 'one' })!.settings;
    expect(Config.User).toBe('0:0');
    expect(HostConfig).toMatchObject({ Privileged: true, UsernsMode: 'host', CapDrop: null });
    expect(HostConfig['SecurityOpt']).toEqual(['no-new-privileges', 'label=disable']);
  });

  test('cannot be made without the socket', () => {
    expect(asDoorHelper(own, holder([], { Source: '/srv/data' }), { transaction: 'one' })).toBeUndefined();
  });
});
