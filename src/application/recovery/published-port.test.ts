import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { createSelfUpdateState } from './self-update.ts';

test.each([
  ['a published port and a header that is believed', { PortBindings: { '8080/tcp': [{}] } }, 'Remote-User', 1],
  ['no published port', {}, 'Remote-User', 0],
  ['no header that is believed', { PortBindings: { '8080/tcp': [{}] } }, undefined, 0],
])('with %s, %i warnings name the way past the proxy', async (_, HostConfig, believedHeader, count) => {
  const { sandbox, registry, startProcess } = createSandboxScene();
  registry.store.publish('upkeep:1', { version: 'one' });
  const { outside, complaints } = startProcess();
  await outside.engine.pullImage({ reference: 'upkeep:1' });
  const containerId = sandbox.control.runContainer('upkeep', { Image: 'upkeep:1', Labels: {}, HostConfig });
  const instance = { ...outside.instance, containerId, isMainProcess: true };
  for (const selfUpdate of ['unless-published', 'off'] as const) {
    const before = complaints.length;
    const state = { selfUpdate, ...(believedHeader !== undefined && { believedHeader }) };
    await createSelfUpdateState({ ...outside, instance }, state).look();
    const warned = complaints.slice(before).filter((line) => line.includes('past the proxy whose header Remote-User'));
    expect(warned).toHaveLength(count);
  }
});
