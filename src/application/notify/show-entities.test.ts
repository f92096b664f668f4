import { expect, test } from 'vitest';
import { createFakeApplication, containerOutcome } from '../../../test/support/scene/fake-application.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { aTrackedContainer } from '../../../test/support/scene/tracked-container.ts';
import type { Inventory, TrackedContainer } from '../../domain/inventory/inventory.ts';
import type { Entities } from '../../domain/home-assistant/entities.ts';
import { showEntities } from './show-entities.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const web = aTrackedContainer();

test('containers are shown when they are known, and again when one of them is otherwise', async () => {
  const clock = createFakeClock();
  const application = createFakeApplication();
  let inventory: Inventory = application.inventory();
  const next = (containers: readonly TrackedContainer[]) =>
    (inventory = { ...inventory, known: true, revision: inventory.revision + 1, containers });
  const shown: Entities[] = [];
  const stop = new AbortController();
  const { subscribe } = application;
  const over = showEntities(
    { inventory: () => inventory, subscribe, clock, show: (fleet) => shown.push(fleet) },
    stop.signal,
  );
  await clock.advance(5000);
  expect(shown).toEqual([]);

  next([web]);
  await clock.advance(5000);
  expect(shown).toMatchObject([
    {
      lastCheckAtMs: undefined,
      containers: [{ name: 'web', title: 'nginx', installedVersion: '1.27 (aaaaaaaaaaaa)' }],
    },
  ]);
  expect(shown[0]?.containers[0]?.latestVersion).toBeUndefined();
  expect(shown[0]?.containers[0]).not.toHaveProperty('releaseUrl');

  next([{ ...web, staleness: 'fresh', checkedAtMs: 7 }]);
  await clock.advance(1000);
  expect(shown[1]).toMatchObject({
    lastCheckAtMs: 7,
    containers: [{ latestVersion: '1.27 (aaaaaaaaaaaa)', mayInstall: true }],
  });

  next([
    {
      ...web,
      staleness: 'held',
      updateAvailable: true,
      latestDigest: digest('b'),
      monitorOnly: true,
      checkedAtMs: 9,
      sourceUrl: 'https://github.com/nginx/docker-nginx.git',
    },
  ]);
  await clock.advance(1000);
  expect(shown[2]).toMatchObject({
    containers: [
      {
        latestVersion: '1.27 (bbbbbbbbbbbb)',
        releaseUrl: 'https://github.com/nginx/docker-nginx/releases',
        mayInstall: false,
        isUpdating: false,
      },
    ],
  });

  const run = { runId: 'r', atMs: 0 };
  application.publish({ kind: 'update_started', container: 'web', image: 'nginx:1.27', from: '', to: '', ...run });
  await clock.advance(1000);
  expect(shown[3]).toMatchObject({ containers: [{ isUpdating: true }] });
  application.publish({ kind: 'update_failed', outcome: containerOutcome('web', { outcome: 'failed' }), ...run });
  await clock.advance(1000);
  expect(shown[4]).toMatchObject({ containers: [{ isUpdating: false }] });
  await clock.advance(60_000);
  expect(shown).toHaveLength(5);

  stop.abort();
  await over;
  expect([application.listeners(), clock.sleepers()]).toEqual([0, 0]);
});
