import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { wildcardLevel, slugsOf, topicsOf } from './payloads.ts';

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
