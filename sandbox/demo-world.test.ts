import { expect, test } from 'vitest';
import { createFakeClock } from '../test/support/clock/fake-clock.ts';
import { createApplication } from '../src/application/create-application.ts';
import { defaultSettings } from '../src/domain/settings/effective-settings.ts';
import { createDemoWorld, demoSettings } from './demo.ts';

test('each round of the demonstration comes out as its story says, and every container runs at the end', async () => {
  const clock = createFakeClock({ auto: true });
  const world = await createDemoWorld(clock);
  const { engine, registry, prober } = world;
  const silent = () => {};
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  const instance = {
    owner: 'demo',
    containerId: undefined,
    isMainProcess: false,
    transactions: new Set<string>(),
    ownerState: () => 'unknown' as const,
  };
  let ids = 0;
  const newId = () => `id-${(ids += 1)}`;
  const application = createApplication(
    { engine, registry, prober, clock, log, instance, newId },
    { ...defaultSettings, ...demoSettings },
  );
  const played: Record<string, string>[] = [];
  for (let round = 1; round <= 7; round += 1) {
    expect(world.nextRound().length).toBeGreaterThan(0);
    const { containers } = await application.update({ images: [], containers: [], trigger: 'schedule' });
    const notable = containers.filter(({ outcome }) => outcome !== 'fresh');
    played.push(Object.fromEntries(notable.map(({ name, outcome }) => [name, outcome])));
    expect(world.countContainers()).toEqual({ containers: 14, running: 14 });
  }
  world.close();
  expect(played).toEqual([
    { grafana: 'rolled_back', vaultwarden: 'updated', traefik: 'updated' },
    { grafana: 'updated', gluetun: 'updated', qbittorrent: 'restarted' },
    { 'immich-server': 'rolled_back', 'nextcloud-db': 'updated' },
    { 'home-assistant': 'unknown', 'immich-server': 'unknown' },
    { 'home-assistant': 'updated', 'immich-server': 'updated', mosquitto: 'skipped' },
    { grafana: 'rolled_back', vaultwarden: 'updated', traefik: 'updated', mosquitto: 'skipped' },
    { grafana: 'updated', gluetun: 'updated', qbittorrent: 'restarted', mosquitto: 'skipped' },
  ]);
});
