import { expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { type Answer, refuse } from '../../../../test/support/engine/scripted-engine.ts';

const podman = { Version: '4.3.1', ApiVersion: '1.41', Components: [{ Name: 'Podman Engine' }] };
const forbidden: Answer = (_, response) => refuse(response, 403, 'forbidden');
const listed = (id: string, State: string) => ({ Id: id, Names: [`/${id}`], State, Status: 'Up 5 minutes' });
const all = [listed('well', 'running'), listed('unprobed', 'running'), listed('ended', 'exited')];
const own = [
  { Id: 'well', Status: 'healthy' },
  { Id: 'unprobed', Status: '' },
  { Id: 'ended', Status: 'healthy' },
];

test.each([
  ['is that of its own list', own, ['healthy', 'none', 'none']],
  ['is unknown where that list is forbidden', forbidden, ['none', 'none', 'none']],
])('the health of running containers of Podman %s', async (_what, answer, healths) => {
  const script = { 'GET /containers/json': all, 'GET /libpod/containers/json': answer };
  const { engine, server } = await connectedEngine({ version: podman, script });
  expect((await engine.listContainers({ label: 'own' })).length).toBe(0);
  expect((await engine.listContainers()).map(({ health }) => health)).toEqual(healths);
  const [first, second] = server.requests;
  expect(second?.query).toEqual(first?.query);
});
