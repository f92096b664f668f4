import { expect, test } from 'vitest';
import { everything, setStage } from '../../../../test/failures/rig/stage.ts';
import { logEvents } from './events.ts';

test('set-up ready, and not updated: the log says why a newer version is not applied, where its check says it, and not twice', async () => {
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
  const said = (name: string) => lines.filter((line) => line.startsWith(`${name}: held back`));
  for (let runs = 0; runs < 3; runs += 1) await run();
  expect(said('removed')).toEqual(Array.from({ length: 3 }, () => expect.stringContaining('--rm')));
  expect(said('watched')).toHaveLength(3);
  expect(said('web')).toEqual([]);
  stop();
});
