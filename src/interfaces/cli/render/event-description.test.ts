import { expect, test } from 'vitest';
import { everything, setStage } from '../../../../test/failures/rig/stage.ts';
import { logEvents } from './event-description.ts';

test('the log says why a container with a ready update was not updated, once for each reason', async () => {
  const stage = await setStage({
    removed: { body: { HostConfig: { AutoRemove: true } } },
    watched: { body: { Labels: { 'upkeep.monitor-only': 'true' } } },
    web: {},
  });
  const { application } = stage.live();
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const log = { debug: () => {}, info: note, warn: note, error: note };
  const stop = logEvents(application, log, { failedChecks: 'warn' });
  const run = () => stage.scene.clock.run(() => application.update(everything));
  const skipped = (name: string) => lines.filter((line) => line.startsWith(`${name}: skipped`));
  for (let runs = 0; runs < 3; runs += 1) await run();
  expect(skipped('removed')).toEqual([expect.stringContaining('--rm')]);
  // Its check has said so.
  expect(skipped('watched')).toEqual([]);
  expect(lines.filter((line) => line.startsWith('watched: '))).toHaveLength(3);
  expect(skipped('web')).toEqual([]);
  stop();
});
