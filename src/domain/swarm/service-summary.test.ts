import { expect, test } from 'vitest';
import type { SwarmService, SwarmUpdateStatus } from '../container/swarm-service.ts';
import { summaryOfService } from './service-verdict.ts';

const service = (more: Partial<SwarmService>) =>
  ({
    id: 's',
    name: 'web',
    image: 'web:1',
    labels: {},
    containerLabels: {},
    createdAtMs: 0,
    replicas: 2,
    count: { running: 0, wanted: 2 },
    update: undefined,
    ...more,
  }) as SwarmService;
const inState = (state: SwarmUpdateStatus) => service({ update: { state, message: '' } as SwarmService['update'] });

test.each<[string, SwarmService, 'running' | 'restarting']>([
  ['whose tasks run', service({ count: { running: 1, wanted: 2 } }), 'running'],
  ['that is to have no tasks', service({ replicas: 0, count: { running: 0, wanted: 0 } }), 'running'],
  ['that no node fits', service({ mode: 'global', replicas: undefined, count: { running: 0, wanted: 0 } }), 'running'],
  [
    'of each node, of which no task runs',
    service({ mode: 'global', replicas: undefined, count: { running: 0, wanted: 1 } }),
    'restarting',
  ],
  ['whose tasks were not counted', service({ count: undefined }), 'running'],
  ['of which no task runs', service({}), 'restarting'],
  ['of which no task runs after an update', inState('completed'), 'restarting'],
  ['of which no task runs after a way back', inState('rollback_completed'), 'restarting'],
  ['of which no task runs in the middle of an update', inState('updating'), 'running'],
  ['of which no task runs in the middle of a way back', inState('rollback_started'), 'running'],
  ['of which no task runs, and which the swarm has paused', inState('paused'), 'running'],
  ['of which no task runs, and whose way back the swarm has paused', inState('rollback_paused'), 'running'],
])('a service %s', (_, given, status) => {
  expect(summaryOfService(given).status).toBe(status);
});
