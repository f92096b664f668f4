import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfiguration } from './load.ts';

test('the compose file of docs/migrating-from-watchtower.md starts as it is', () => {
  const page = readFileSync(new URL('../../docs/migrating-from-watchtower.md', import.meta.url), 'utf8');
  const compose: ComposeFile = parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? '');
  const { command, environment } = compose.services.watchtower;
  const loaded = loadConfiguration(command.split(' '), environment);
  expect(loaded).toMatchObject({
    kind: 'command',
    aliases: ['WATCHTOWER_LABEL_ENABLE', 'WATCHTOWER_TIMEOUT', 'WATCHTOWER_CLEANUP', 'WATCHTOWER_SCHEDULE'],
    warnings: [
      'WATCHTOWER_NOTIFICATION_URL has no effect: notifications are not sent yet',
      '--http-api-metrics will go with version 2: use --http-api-endpoints metrics instead',
    ],
  });
});

type ComposeFile = {
  readonly services: {
    readonly watchtower: { readonly command: string; readonly environment: Record<string, string> };
  };
};
