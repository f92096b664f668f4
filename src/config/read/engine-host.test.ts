import { expect, test } from 'vitest';
import { findEngineHost } from './engines.ts';

const nothing = { host: undefined, userRuntimeFolder: undefined };
const user = { ...nothing, userRuntimeFolder: '/run/user/7' };

test.each([
  [nothing, ['/var/run/docker.sock', '/run/podman/podman.sock'], 'unix:///var/run/docker.sock'],
  [nothing, ['/run/podman/podman.sock'], 'unix:///run/podman/podman.sock'],
  [user, ['/run/user/7/docker.sock', '/run/podman/podman.sock'], 'unix:///run/user/7/docker.sock'],
  [user, ['/run/user/7/podman/podman.sock'], 'unix:///run/user/7/podman/podman.sock'],
  [{ ...user, host: 'tcp://there:1' }, ['/var/run/docker.sock'], 'tcp://there:1'],
])('findEngineHost() takes what was given, else the first socket that is there: %#', (settings, sockets, expected) => {
  expect(findEngineHost(settings, (path) => sockets.includes(path))).toBe(expected);
});

test('findEngineHost() names the places it looked at, and what to do', () => {
  expect(() => findEngineHost(user, () => false)).toThrow(
    expect.objectContaining({
      code: 'engine-unreachable',
      message: expect.stringContaining('"/var/run/docker.sock", "/run/user/7/docker.sock"'),
      remedy: expect.stringContaining('DOCKER_HOST'),
    }),
  );
});
