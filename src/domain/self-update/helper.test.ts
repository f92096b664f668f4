import { expect, test } from 'vitest';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import { asHelper, readHelperOrder, writeHelperOrder } from './helper.ts';
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
  const { Config, HostConfig, Networks } = asHelper(own, 'one').settings;
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
