import { expect, onTestFinished, test } from 'vitest';
import { startScriptedEngine } from '../../../../test/support/engine/scripted-engine.ts';
import { createSystemClock } from '../../process/clock.ts';
import { createDockerEngine } from '../engine.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const labels = {
  'upkeep.failed.service': 'web-id',
  'upkeep.failed.name': 'web',
  'upkeep.failed.digest': digest,
  'upkeep.failed.at': '2026-01-01T00:00:00Z',
  'upkeep.failed.reason': 'it crashed',
};

test("only a config with the name of its failure is a failure: a person's config with such labels is never deleted", async () => {
  const server = await startScriptedEngine({ script: { 'POST /configs/create': { ID: 'x' } } });
  const { swarm, close } = createDockerEngine({ clock: createSystemClock(), host: server.host });
  onTestFinished(async () => {
    await close();
    await server.close();
  });
  const failure = { serviceId: 'web-id', serviceName: 'web', digest, atMs: 1_767_225_600_000, reason: 'it crashed' };
  await swarm.noteFailure(failure);
  const [Name] = server.requests.map(({ body }) => (body as { readonly Name: string }).Name);
  server.script({
    'GET /configs': [
      { ID: 'ours', Spec: { Name, Labels: labels } },
      { ID: 'copied', Spec: { Name: 'nginx.conf', Labels: labels } },
      { ID: 'of another version', Spec: { Name, Labels: { ...labels, 'upkeep.failed.digest': 'sha256:b' } } },
    ],
  });
  expect(await swarm.failures()).toEqual([{ ...failure, configId: 'ours' }]);
});
