import { expect, onTestFinished, test } from 'vitest';
import { startScriptedEngine } from '../../../../test/support/engine/scripted-engine.ts';
import { createSystemClock } from '../../process/clock.ts';
import { createDockerEngine } from '../engine.ts';

const serviceIn = (ID: string, Mode: object, ServiceStatus: object) => ({
  ID,
  Version: { Index: 1 },
  Spec: { Name: ID, Mode, TaskTemplate: { ContainerSpec: { Image: 'web:1' } } },
  ServiceStatus,
});
const taskOf = (ServiceID: string, DesiredState: string) => ({
  ID: `task of ${ServiceID}`,
  ServiceID,
  DesiredState,
  Status: { State: 'ready' },
});
const none = { RunningTasks: 0, DesiredTasks: 0 };

test('a global service with tasks that wait for their restart is told from one that no node fits', async () => {
  const script = {
    'GET /services': [
      serviceIn('failing', { Global: {} }, none),
      serviceIn('alone', { Global: {} }, none),
      serviceIn('running', { Global: {} }, { RunningTasks: 2, DesiredTasks: 2 }),
      serviceIn('empty', { Replicated: { Replicas: 0 } }, none),
    ],
    'GET /tasks': [taskOf('failing', 'ready'), taskOf('failing', 'shutdown'), taskOf('alone', 'shutdown')],
  };
  const server = await startScriptedEngine({ script });
  const { swarm, close } = createDockerEngine({ clock: createSystemClock(), host: server.host });
  onTestFinished(async () => {
    await close();
    await server.close();
  });
  const services = await swarm.services();
  expect(services.map(({ name, count }) => [name, count?.running, count?.wanted])).toEqual([
    ['failing', 0, 1],
    ['alone', 0, 0],
    ['running', 2, 2],
    ['empty', 0, 0],
  ]);
});
