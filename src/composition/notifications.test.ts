import { expect, test } from 'vitest';
import { createCommandScene } from '../../test/support/scene/command-scene.ts';
import { createSandboxScene } from '../../test/support/scene/sandbox-outside.ts';
import { openNotifications } from './notifications.ts';

test.each([
  ['that is asked to stop meanwhile is not told', true, 0],
  ['is told', false, 1],
])('a start %s', async (_what, isStopped, count) => {
  const { context, interrupt, logged } = createCommandScene(['run', '--notification-url', 'logger://']);
  const { engine } = createSandboxScene().sandbox;
  const info = () => {
    if (isStopped) interrupt.abort();
    return engine.info();
  };
  const program = { version: '1', assetsFolder: '', dashboardFolder: '' };
  const sender = await openNotifications(
    { engine: { ...engine, info }, engines: [], application: context.application },
    context.settings,
    { ...context, program, isLogOnly: false },
    context.signal,
  );
  await sender.announceStart({
    schedule: 'Updates every 1d',
    nextRunAtMs: undefined,
    runOnce: false,
    updateOnStart: false,
    servesApi: false,
  });
  await sender.close();
  expect(logged.filter(([, message]) => message.includes('Updates every 1d'))).toHaveLength(count);
});
