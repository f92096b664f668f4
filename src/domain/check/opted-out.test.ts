import { expect, test } from 'vitest';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import { whyOptedOut } from './opted-out.ts';
import { defaultSettings } from '../settings/settings.ts';

test.each<readonly [Readonly<Record<string, string>>, Partial<typeof defaultSettings>, string | undefined]>([
  [{}, {}, undefined],
  [{ 'upkeep.scope': 'other' }, { labelEnable: true }, undefined],
  [{}, { names: ['db'], monitorImageNames: ['redis'], enableContainersByLabel: ['tier=db'] }, undefined],
  [{ 'upkeep.enable': 'false' }, {}, 'is disabled by its label'],
  [{}, { disableContainers: ['web'] }, 'is disabled by disable-containers'],
  [{ tier: 'db' }, { disableContainersByLabel: ['tier=db'] }, 'is disabled by disable-containers-by-label'],
  [{}, { skipImageNames: ['ngin.*'] }, 'runs an image of skip-image-names'],
  [{ 'upkeep.monitor-only': 'true' }, {}, 'is monitored only'],
  [{}, { monitorOnly: true }, 'is monitored only'],
])('whyOptedOut() with labels %j, settings %j: %j', (labels, settings, expected) => {
  const container = containerSummary('web', { labels, image: 'nginx:1.27' });
  expect(whyOptedOut(container, { ...defaultSettings, ...settings })).toBe(expected);
});
