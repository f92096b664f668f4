import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { publicationsOf, wildcardLevel, slugsOf, topicsOf } from './payloads.ts';

test('slugsOf() gives every name another slug, whatever their order, that is one level of a topic', () => {
  const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,8}$/);
  fc.assert(
    fc.property(fc.uniqueArray(name), (names) => {
      const slugs = slugsOf(names);
      expect(new Set(slugs.values()).size).toBe(names.length);
      expect(Object.fromEntries(slugsOf(names.toReversed()))).toEqual(Object.fromEntries(slugs));
      const { install, anyInstall } = topicsOf('homeassistant', 'upkeep', 'h1');
      for (const slugged of slugs.values()) {
        expect(slugged).toMatch(/^[a-z0-9][a-z0-9_-]*$/);
        expect(wildcardLevel(anyInstall, install(slugged))).toBe(slugged);
      }
    }),
  );
});

test('slugsOf() leaves a name that is a slug as it is, whoever else comes', () => {
  expect(Object.fromEntries(slugsOf(['My.App', 'my_app', 'MY_APP']))).toEqual({
    my_app: 'my_app',
    'My.App': expect.stringMatching(/^my_app_[0-9a-f]{6}$/),
    MY_APP: expect.stringMatching(/^my_app_[0-9a-f]{6}$/),
  });
});

test('Home Assistant discovers the entities of a base with several levels', () => {
  // https://github.com/home-assistant/core/blob/dev/homeassistant/components/mqtt/discovery.py
  const discovered = /^homeassistant\/\w+\/(?:[a-zA-Z0-9_-]+\/)?[a-zA-Z0-9_-]+\/config$/;
  const topics = topicsOf('homeassistant', 'home/upkeep', 'h1');
  for (const topic of [topics.config('web'), topics.sensorConfig('updates'), topics.buttonConfig('check')])
    expect(topic).toMatch(discovered);
  expect(topics.state('web')).toBe('home/upkeep/h1/web/update');
});

test.each([
  'Cannot check "web": [Sign in](https://evil.example/login)',
  '![logo](https://evil.example/x.png)',
  '[Sign in][1] [1]: https://evil.example',
  '<a href="https://evil.example">Sign in</a> <img src=x>',
  `${'x'.repeat(250)}[a](https://evil.example)`,
])('a summary has no link of a stranger, because Home Assistant shows it as Markdown: %s', (summary) => {
  const topics = topicsOf('homeassistant', 'upkeep', 'h1');
  const web = { name: 'web', title: 'web', installedVersion: '1', latestVersion: '2', isOutdated: true, summary };
  const shown = { topics, slugs: slugsOf(['web']), deviceName: 'h1', version: '1', receivesCommands: false };
  const containers = [{ ...web, isUpdating: false, attributes: {} }];
  const fleet = { containers, kept: [], isSettled: true, updatesAvailable: 1, lastCheckAtMs: undefined };
  const state = publicationsOf(fleet, shown).get(topics.state('web'));
  const { release_summary: written } = JSON.parse(String(state?.payload)) as { release_summary: string };
  expect(written).not.toMatch(/\](?=[([:])|<(?=[a-z])/);
  expect(written.length).toBeLessThanOrEqual(255);
  expect(summary.startsWith(written.replaceAll('\u200b', '').replace(/…$/, ''))).toBe(true);
});

test.each([
  [undefined, 'None'],
  [0, '0'],
  [3, '3'],
])(
  'the number of updates %j is %s, so that no number of an earlier process stays for unknown',
  (updatesAvailable, payload) => {
    const topics = topicsOf('homeassistant', 'upkeep', 'h1');
    const fleet = { containers: [], kept: [], isSettled: true, updatesAvailable, lastCheckAtMs: undefined };
    const shown = { topics, slugs: slugsOf([]), deviceName: 'h1', version: '1', receivesCommands: false };
    expect(publicationsOf(fleet, shown).get(topics.updates)).toMatchObject({ payload, retain: true });
  },
);
