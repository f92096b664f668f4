import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { refuse, type Answer } from '../../../../test/support/engine/scripted-engine.ts';

const request = { containerId: 'id', networkId: 'net-id', endpoint: { Aliases: ['web'] } };
const taken: Answer = (_, response) => refuse(response, 403, 'endpoint with name web already exists in network blue');
const inNetworks = (Networks: object) => ({ Id: 'id', NetworkSettings: { Networks } });

describe('connectNetwork()', () => {
  test('sends the endpoint', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': (_, response) => void response.end() } });
    expect(await engine.connectNetwork(request)).toEqual({ kind: 'done' });
    expect(server.requests).toMatchObject([
      { path: '/networks/net-id/connect', body: { Container: 'id', EndpointConfig: { Aliases: ['web'] } } },
    ]);
  });

  test.each([
    ['the same network by id', { blue: { NetworkID: 'net-id' } }, 'noop'],
    ['the same network by name', { 'net-id': { NetworkID: '' } }, 'noop'],
    ['another network only', { green: { NetworkID: 'other' } }, 'refused'],
  ])('that the engine finds taken: a container in %s', async (_, networks, kind) => {
    const script = { 'POST /networks/net-id/connect': taken, 'GET /containers/id/json': inNetworks(networks) };
    const { engine } = await connectedEngine({ script });
    expect(await engine.connectNetwork(request)).toMatchObject({ kind });
  });
});

describe('listNetworks()', () => {
  test('tells id, name, driver, and what creates it again', async () => {
    const recipe = { Name: 'blue', Driver: 'bridge', Labels: { a: 'b' }, Unknown: [1] };
    const assigned = { Id: '1', Created: '2026-01-01T00:00:00Z', Scope: 'local', Containers: {} };
    const networks = [{ ...recipe, ...assigned }, { Name: 'odd' }, { Id: '2' }];
    const { engine } = await connectedEngine({ script: { 'GET /networks': networks } });
    expect(await engine.listNetworks()).toEqual([
      { id: '1', name: 'blue', driver: 'bridge', recipe },
      { id: '2', name: '', driver: '', recipe: {} },
    ]);
  });
});

describe('createNetwork()', () => {
  const network = { id: '1', name: 'blue', driver: 'bridge', recipe: { Name: 'blue', Driver: 'bridge' } };

  test('sends the recipe, and asks for a unique name', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': { Id: '2' } } });
    expect(await engine.createNetwork(network)).toEqual({ kind: 'done' });
    expect(server.requests).toMatchObject([
      { path: '/networks/create', body: { Name: 'blue', Driver: 'bridge', CheckDuplicate: true } },
    ]);
  });

  test('is a noop if the name is taken', async () => {
    const taken: Answer = (_, response) => refuse(response, 409, 'network with name blue already exists');
    const { engine } = await connectedEngine({ script: { '*': taken } });
    expect(await engine.createNetwork(network)).toEqual({ kind: 'noop' });
  });
});
