import { expect, onTestFinished, test } from 'vitest';
import { everything, setStage } from '../../../../test/failures/rig/stage.ts';
import { logEvents } from './events.ts';

test('set-up ready, and not updated: the log says why a newer version is not applied, once until the reason ends', async () => {
  const stage = await setStage({
    removed: { body: { HostConfig: { AutoRemove: true } } },
    watched: { body: { Labels: { 'upkeep.monitor-only': 'true' } } },
    young: { body: { Labels: { 'upkeep.cooldown-delay': '7d' } } },
    misspelt: { body: { Labels: { 'upkeep.policy': 'majorr' } } },
    web: {},
  });
  const { registry, clock } = stage.scene;
  const { application } = stage.live();
  const lines: string[] = [];
  const repeated: string[] = [];
  const note = (line: string) => void lines.push(line);
  const log = { debug: (line: string) => void repeated.push(line), info: note, warn: note, error: note };
  onTestFinished(logEvents(application, log, { failedChecks: 'warn' }));
  const run = () => clock.run(() => application.update(everything));
  const said = (name: string, all = lines) => all.filter((line) => line.startsWith(`${name}: held back`));
  for (let runs = 0; runs < 3; runs += 1) {
    await run();
    await clock.run(() => clock.sleep(40 * 60_000));
  }
  expect(said('removed')).toEqual([expect.stringContaining('--rm')]);
  expect(said('watched')).toEqual([expect.stringContaining('monitored only')]);
  expect(said('young')).toEqual([expect.stringContaining('too young')]);
  expect(lines.filter((line) => line.startsWith('misspelt: could not be checked'))).toHaveLength(1);
  expect(said('watched', repeated)).toHaveLength(2);
  expect(said('web')).toEqual([]);

  registry.store.publish('watched:1', { version: 'watched:1 old' });
  await run();
  registry.store.publish('watched:1', { version: 'watched:1 again' });
  await run();
  expect(said('watched')).toHaveLength(2);
  expect(said('removed')).toHaveLength(1);
});
