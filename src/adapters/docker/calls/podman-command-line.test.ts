import { describe, expect, test } from 'vitest';
import { readCommandLine } from './podman.ts';

const image = 'docker.io/library/nginx:latest';
const id = `sha256:${'0123456789abcdef'.repeat(4)}`;
const read = (line: string) => readCommandLine(line.split(' '), image, id);

describe('readCommandLine()', () => {
  test.each([
    ['podman run --ip 10.0.0.2 nginx', { '': { IPv4Address: '10.0.0.2' } }],
    [
      'podman container create --ip=10.0.0.2 --ip6 fd00::2 nginx',
      { '': { IPv4Address: '10.0.0.2', IPv6Address: 'fd00::2' } },
    ],
    ['podman run --network front:ip=10.0.0.2,alias=www --network back nginx', { front: { IPv4Address: '10.0.0.2' } }],
    ['podman run -d --name web nginx:latest --ip 10.0.0.2', {}],
    ['podman run --network front nginx', {}],
  ])('reads the addresses of %j', (line, addresses) => {
    expect(read(line)).toEqual({ addresses: new Map(Object.entries(addresses)), hidden: [], isFromId: false });
  });

  test.each([
    ['podman run --sysctl net.core.somaxconn=1 --tz=local nginx', ['--sysctl', '--tz']],
    ['podman run --network front:mac=02:00:00:00:00:01 nginx', ['--network']],
    ['podman run docker.io/library/nginx --init', []],
  ])('names the flags of %j that nothing else shows', (line, hidden) => {
    expect(read(line)?.hidden).toEqual(hidden);
  });

  test.each([
    ['podman run -d --name web 0123456789ab sh --init', true],
    ['podman run sha256:0123456789abcdef', true],
    [`podman run ${id} --init`, true],
    ['podman run 0123456789ac --init', false],
    ['podman run nginx 0123456789ab', false],
  ])('tells whether %j names the image by its id', (line, isFromId) => {
    expect(read(line)).toMatchObject({ isFromId, ...(isFromId && { hidden: [] }) });
  });

  test('is undefined for a container that was made through the API', () => {
    expect(read('podman system service --time=0 unix:///run/podman.sock')).toBeUndefined();
    expect(readCommandLine(undefined, undefined, undefined)).toBeUndefined();
  });
});
