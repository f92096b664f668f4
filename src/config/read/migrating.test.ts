import { expect, test } from 'vitest';
import { readMigratingPage } from '../../../test/support/pages/migrating-page.ts';
import { loadConfiguration } from './load.ts';

test('the compose file of docs/migrating-from-watchtower.md starts as it is, and its schedule counts', () => {
  const { argv, environment } = readMigratingPage();
  const loaded = loadConfiguration(argv, environment);
  expect(loaded).toMatchObject({
    kind: 'command',
    aliases: [
      'WATCHTOWER_LABEL_ENABLE',
      'WATCHTOWER_TIMEOUT',
      'WATCHTOWER_CLEANUP',
      'WATCHTOWER_SCHEDULE',
      'WATCHTOWER_NOTIFICATION_URL',
    ],
    alarms: [],
    warnings: ['--http-api-metrics is deprecated: use --http-api-endpoints metrics'],
    settings: {
      http: { groups: ['metrics'] },
      run: { periodicPolls: true, schedule: { words: 'every day at 04:00 (Europe/Berlin)' } },
    },
  });
});
