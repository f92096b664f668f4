import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  readSettings,
  readContainer,
  readContainerSummary,
  readEvent,
  readImage,
  readImageSummary,
  readNetwork,
} from './translate.ts';

describe('translation', () => {
  test('survives any JSON', () => {
    const names = [
      ...[
        'Id',
        'Names',
        'Name',
        'Image',
        'State',
        'Status',
        'Labels',
        'Created',
        'HostConfig',
        'Config',
        'Health',
        'Log',
      ],
      ...['Mounts', 'NetworkSettings', 'Networks', 'RepoTags', 'Type', 'Action', 'Actor', 'Healthcheck', 'Test', 'Env'],
    ];
    const { tree } = fc.letrec((tie) => ({
      leaf: fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constantFrom('container', '/web', 'x(healthy)', '__proto__')),
      tree: fc.oneof(
        tie('leaf'),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...names, '__proto__'), tie('tree'), { maxKeys: 8 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (json) => {
        for (const read of [readContainerSummary, readContainer, readImageSummary, readImage, readNetwork, readEvent]) {
          read(json);
        }
      }),
    );
  });

  test.each([
    [['/web'], 'web'],
    [['/other/db', '/web'], 'web'],
    [['web'], 'web'],
    [[], 'abcdefabcdef'],
    [null, 'abcdefabcdef'],
    [[7], 'abcdefabcdef'],
  ])('takes the name out of %j', (Names, name) => {
    expect(readContainerSummary({ Id: 'abcdefabcdef0123', Names })?.name).toBe(name);
  });

  test('takes what Podman shows for a container without an image for no image id', () => {
    expect(readContainerSummary({ Id: 'id', ImageID: 'sha256:' })?.imageId).toBe('');
    expect(readContainer({ Id: 'id', Image: 'sha256:' }).imageId).toBe('');
  });

  test.each([
    ['Up 5 minutes', 'none'],
    ['Up 5 minutes (healthy)', 'healthy'],
    ['Up 2 seconds (health: starting)', 'starting'],
    ['Up 2 seconds (unhealthy)', 'unhealthy'],
    ['Up 2 hours (Paused)', 'none'],
    ['Exited (137) 3 minutes ago', 'none'],
    ['', 'none'],
  ])('reads the health out of "%s"', (Status, health) => {
    expect(readContainerSummary({ Id: 'id', Status })?.health).toBe(health);
  });

  test.each([
    ['running', 'running'],
    ['removing', 'removing'],
    ['stopped', 'exited'],
    ['initialized', 'created'],
    ['stopping', 'running'],
    ['from the future', 'exited'],
    ['toString', 'exited'],
  ])('takes the state "%s" for %s', (State, status) => {
    expect(readContainerSummary({ Id: 'id', State })?.status).toBe(status);
  });

  test('tells the state of a container', () => {
    const log = [{ Output: 'first' }, { Output: 'x'.repeat(10_000) }];
    const { state, ...rest } = readContainer({
      Id: 'a'.repeat(64),
      Name: '/web',
      Image: 'sha256:1',
      Created: '2026-01-01T00:00:00.5Z',
      RestartCount: 2,
      ImageManifestDescriptor: { platform: { architecture: 'arm', os: 'linux', variant: 'v7' } },
      State: {
        Status: 'exited',
        ExitCode: 137,
        Error: 'boom',
        OOMKilled: true,
        StartedAt: '2026-01-01T00:00:01.123456789Z',
        FinishedAt: '2026-01-01T00:00:02.123456789Z',
        Health: { Status: 'unhealthy', Log: log },
      },
    });
    expect(rest).toMatchObject({
      name: 'web',
      imageId: 'sha256:1',
      createdAtMs: Date.UTC(2026, 0, 1) + 500,
      restartCount: 2,
      platform: { os: 'linux', architecture: 'arm', variant: 'v7' },
    });
    expect(state).toEqual({
      status: 'exited',
      exitCode: 137,
      error: 'boom',
      oomKilled: true,
      startedAt: '2026-01-01T00:00:01.123456789Z',
      finishedAt: '2026-01-01T00:00:02.123456789Z',
      health: 'unhealthy',
      healthOutput: 'x'.repeat(4_096),
    });
  });

  test('reads the year 1 as never', () => {
    const never = '0001-01-01T00:00:00Z';
    const { state } = readContainer({ State: { Status: 'created', StartedAt: never, FinishedAt: never } });
    expect(state).toMatchObject({ startedAt: '', finishedAt: '' });
    expect(readImage({ Created: never }).createdAtMs).toBe(0);
  });

  test.each([
    [{ Test: ['CMD', 'true'] }, undefined, 'starting'],
    [{ Test: ['NONE'] }, undefined, 'none'],
    [{ Test: [] }, undefined, 'none'],
    [null, undefined, 'none'],
    [{ Test: ['CMD', 'true'] }, { Status: 'healthy' }, 'healthy'],
    [null, { Status: 'none' }, 'none'],
    [null, { Status: '' }, 'none'],
  ])('knows the health with check %j and state %j', (Healthcheck, Health, health) => {
    expect(readContainer({ Config: { Healthcheck }, State: { Status: 'created', Health } }).state.health).toBe(health);
  });
});

describe('readSettings()', () => {
  const inspected = {
    Config: {
      Image: 'app:1',
      Env: null,
      Labels: { a: 'b' },
      FromTheFuture: { x: [1] },
      Healthcheck: { Test: ['NONE'] },
    },
    HostConfig: {
      Binds: ['/a:/b'],
      PortBindings: { '80/tcp': [{ HostIp: '', HostPort: '80' }], '81/tcp': null },
      New: 1,
    },
    Mounts: [{ Type: 'bind', Destination: '/b', RW: true, Propagation: 'rprivate' }],
    NetworkSettings: { Networks: { bridge: { NetworkID: 'x', DNSNames: ['a'], IPAMConfig: null } }, Ports: {} },
  };

  test('hands on every field, those that nobody knows too', () => {
    expect(readSettings(inspected)).toEqual({
      Config: inspected.Config,
      HostConfig: inspected.HostConfig,
      Mounts: inspected.Mounts,
      Networks: inspected.NetworkSettings.Networks,
    });
  });

  test.each([
    [{ HostConfig: { Binds: {} } }, 'HostConfig.Binds'],
    [{ Config: { Env: 'A=1' } }, 'Config.Env'],
    [{ Mounts: [{ Destination: '/a' }, { Type: 'bind' }] }, 'Mounts[1]'],
    [{ NetworkSettings: { Networks: { green: { Aliases: 'x' } } } }, 'NetworkSettings.Networks.green.Aliases'],
  ])('names what stands in the way of a successor in %j', (inspected, field) => {
    expect(readSettings(inspected).obstacle).toBe(
      `has a setting that cannot be read: "${field}" is not as the engine's API describes it`,
    );
  });

  test('leaves out only what is of another shape than the API says', () => {
    const odd = readSettings({
      Config: { Image: 7, Env: 'A=1', Cmd: ['x', 7], Labels: { a: 1 }, User: 'me', FromTheFuture: 7 },
      HostConfig: {
        Binds: {},
        RestartPolicy: { Name: 7 },
        PortBindings: { '80/tcp': [{ HostPort: 80 }] },
        NetworkMode: 'x',
      },
      Mounts: [null, { Type: 'bind' }, { Destination: '/b', RW: 'yes' }, { Destination: '/b' }],
      NetworkSettings: { Networks: { blue: 7, green: { Aliases: 'x', MacAddress: 'y' } } },
    });
    expect(odd).toEqual({
      obstacle: expect.stringContaining('"Config.Image"'),
      Config: { Image: '', User: 'me', FromTheFuture: 7 },
      HostConfig: { NetworkMode: 'x' },
      Mounts: [{ Destination: '/b' }],
      Networks: { blue: {}, green: { MacAddress: 'y' } },
    });
  });
});
