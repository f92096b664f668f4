import { expect, test } from 'vitest';
import { loadConfiguration } from '../read/load.ts';
import { nearestCommand } from './commands.ts';

test.each([
  ['logs', 'events'],
  ['Logs', 'events'],
  ['upgrade', 'update'],
  ['updates', 'update'],
  ['container', 'containers'],
  ['rollbak', 'rollback'],
  ['completions', 'completion'],
  ['documentation', undefined],
  ['nginx', undefined],
])('nearestCommand(%j) is %j', (word, expected) => {
  expect(nearestCommand(word)).toBe(expected);
});

test.each(['status', 'ps', 'ls', 'list'])('%s is another name of containers', (word) => {
  expect(loadConfiguration([word, 'web'], {})).toMatchObject({
    command: 'containers',
    settings: { request: { containers: ['web'] } },
  });
});

test('-v alone asks for the version, and elsewhere it verifies the engine as in the Watchtower family', () => {
  expect(loadConfiguration(['-v'], {})).toEqual({ kind: 'version' });
  expect(loadConfiguration(['check', '-v'], {})).toMatchObject({ kind: 'command', command: 'check' });
});

test.each([
  [['logs'], {}, false],
  [['run', 'logs'], {}, true],
  [['logs'], { WATCHTOWER_CLEANUP: 'true' }, true],
  [['logs'], { WATCHTOWER_CLEANUP: '' }, false],
  [['logs'], { WATCHTOWER_PORT_8080_TCP: 'tcp://10.0.0.1:8080' }, false],
])('the word of %j with %j is surely no command: %j', (argv, environment, isNamed) => {
  expect(loadConfiguration(argv, environment)).toMatchObject({ command: 'run', settings: { run: { isNamed } } });
});
