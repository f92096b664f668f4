import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { loadConfiguration } from '../read/load.ts';
import { optionEntries } from '../table/options.ts';
import { describeSelection } from './shown-configuration.ts';

describe('showOptions()', () => {
  test('names every option, its value, and the flag or variable it came from', () => {
    const shown = shownFor(['--cleanup', '--stop-timeout=90s'], {
      WATCHTOWER_SCOPE: 'prod',
      UPKEEP_DISABLE_CONTAINERS: 'a b',
      DOCKER_HOST: 'tcp://engine:2375',
    });
    expect(shown).toHaveLength(optionEntries.filter(([, option]) => option.internal !== true).length);
    expect(shown).toContainEqual(expect.objectContaining({ name: 'cleanup', value: 'true', source: '--cleanup' }));
    expect(shown).toContainEqual(
      expect.objectContaining({ name: 'stop-timeout', value: '1m30s', source: '--stop-timeout' }),
    );
    expect(shown).toContainEqual(expect.objectContaining({ name: 'scope', value: 'prod', source: 'WATCHTOWER_SCOPE' }));
    expect(shown).toContainEqual(
      expect.objectContaining({ name: 'disable-containers', value: 'a,b', source: 'UPKEEP_DISABLE_CONTAINERS' }),
    );
    expect(shown).toContainEqual(
      expect.objectContaining({ name: 'host', value: 'tcp://engine:2375', source: 'DOCKER_HOST' }),
    );
    expect(shown).toContainEqual(expect.objectContaining({ name: 'monitor-only', value: 'false', source: 'default' }));
    expect(shown).toContainEqual(expect.objectContaining({ name: 'http-api-token', value: '', source: 'default' }));
  });

  test('says which options a user has set, so not the variables of every session', () => {
    const session = { TERM: 'xterm-256color', HOME: '/root', XDG_RUNTIME_DIR: '/run/user/0' };
    const shown = shownFor(['--cleanup'], { ...session, DOCKER_HOST: 'tcp://engine:2375', NO_COLOR: '1' });
    expect(shown.filter(({ given }) => given).map(({ source }) => source)).toEqual([
      '--cleanup',
      'DOCKER_HOST',
      'NO_COLOR',
    ]);
    expect(shown).toContainEqual(expect.objectContaining({ name: 'TERM', value: 'xterm-256color', source: 'TERM' }));
  });

  test('shows nothing that Upkeep tells itself', () => {
    const given = { UPKEEP_FINISH_UPDATE: 'an-update' };
    const internal = optionEntries.filter(([, option]) => option.internal === true).map(([key]) => key);
    expect(internal).toEqual(['finishUpdate']);
    expect(JSON.stringify(shownFor([], given))).not.toMatch(/an-update|FINISH_UPDATE/);
  });

  test('shows no secret', () => {
    const secrets = { UPKEEP_HTTP_API_TOKEN: 'hunter2', UPKEEP_HTTP_API_EVENTS_TOKEN: 'hunter3', REPO_PASS: 'hunter4' };
    const misplaced = {
      UPKEEP_NOTIFICATION_GOTIFY_URL: 'https://me:hunter6@h/?token=hunter7',
      UPKEEP_NOTIFICATION_EMAIL_SERVER: 'me:hunter8@mail',
      UPKEEP_HEALTH_PROBE: 'http://:80/?token=hunter9',
      UPKEEP_JOURNAL_KEY_FILE: 'hunter10hunter10hunter10hunter10',
      DOCKER_CONFIG: '{"auths":{"h":{"auth":"hunter11"}}}',
      DOCKER_HOST: 'ssh://me@nas',
    };
    const shown = shownFor([], { ...secrets, HTTPS_PROXY: 'http://me:hunter5@proxy:1', ...misplaced });
    expect(JSON.stringify(shown)).not.toMatch(/hunter/);
    expect(shown).toContainEqual(expect.objectContaining({ name: 'host', value: 'ssh://me@nas' }));
    expect(shown.filter(({ value }) => value === '***').map(({ source }) => source)).toEqual(
      expect.arrayContaining(['UPKEEP_HTTP_API_TOKEN', 'UPKEEP_HTTP_API_EVENTS_TOKEN', 'REPO_PASS', 'HTTPS_PROXY']),
    );
  });
});

test.each([
  [{}, 'All containers, except those that a label disables'],
  [{ names: ['web', 'db'] }, 'Containers named "web" or "db", except those that a label disables'],
  [{ labelEnable: true }, 'All containers, with the label upkeep.enable=true'],
  [{ disableContainers: ['db'] }, 'All containers, except those that a label disables, except those named "db"'],
  [{ scope: 'none' }, 'All containers, except those that a label disables'],
  [
    { monitorImageNames: ['nginx:.*'], skipImageNames: ['a', 'b'], names: ['web'] },
    'Containers named "web", except those that a label disables, of the images "nginx:.*", except those of the images "a" or "b"',
  ],
  [
    { enableContainersByLabel: ['tier=web'], disableContainersByLabel: ['keep='] },
    'All containers, except those that a label disables, with the label "tier=web", except those with the label "keep="',
  ],
  [
    { scope: 'prod', includeStopped: true, includeRestarting: true },
    'All containers, except those that a label disables, in the scope "prod", stopped ones included, restarting ones included',
  ],
])('describeSelection(%j)', (settings, expected) => {
  expect(describeSelection({ ...defaultSettings, ...settings })).toBe(expected);
});

function shownFor(argv: readonly string[], environment: Readonly<Record<string, string>>) {
  const loaded = loadConfiguration(['run', ...argv], environment);
  if (loaded.kind !== 'command') throw new Error(JSON.stringify(loaded));
  return loaded.options;
}
