import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';

const version = {
  Version: '4.3.1',
  ApiVersion: '1.41',
  MinAPIVersion: '1.24',
  Components: [{ Name: 'Podman Engine' }],
};
const apiMade = { Config: { CreateCommand: ['podman', 'system', 'service'] } };
const commandMade = (...flags: string[]) => ({
  Config: { CreateCommand: ['podman', 'run', ...flags, 'nginx'], Image: 'docker.io/library/nginx:latest' },
});
const networks = [
  { Name: 'own', Id: '1', IPAM: { Config: [{ Subnet: '10.7.0.0/24' }] } },
  { Name: 'given', Id: '2', IPAM: { Config: [{ Subnet: '10.89.3.0/24' }] } },
];

function inspected(network: string, labels: object = {}) {
  return {
    Id: 'id',
    Name: '/web',
    Config: {
      Hostname: 'abc',
      Env: ['A=1', 'container=podman', 'HOSTNAME=abc', 'HOME=/home/me'],
      Entrypoint: [],
      StopSignal: '3',
      StopTimeout: 0,
      Labels: labels,
    },
    HostConfig: { NetworkMode: 'bridge', PidMode: 'private', Runtime: 'oci', PortBindings: { '80/tcp': null } },
    NetworkSettings: { Networks: { [network]: { NetworkID: network, IPAMConfig: null } } },
  };
}

async function read(answer: object, own: object) {
  const { engine } = await connectedEngine({
    version,
    script: {
      'GET /containers/web/json': answer,
      'GET /libpod/containers/id/json': own,
      'GET /networks': networks,
      'GET /info': { Name: 'server' },
    },
  });
  return (await engine.inspectContainer('web'))?.settings;
}

describe("inspectContainer() of Podman's containers", () => {
  test("says in Docker's words what a successor is made from", async () => {
    expect(await read(inspected('podman'), apiMade)).toEqual({
      Config: expect.objectContaining({ Env: ['A=1', 'HOME=/home/me'], Entrypoint: null, StopSignal: 'SIGQUIT' }),
      HostConfig: expect.objectContaining({ NetworkMode: 'bridge', PidMode: '', Runtime: '', PortBindings: {} }),
      Mounts: [],
      Networks: { bridge: { NetworkID: '', IPAMConfig: null } },
    });
    expect((await read(inspected('podman'), apiMade))?.Config).not.toHaveProperty('StopTimeout');
  });

  test("leaves out the host's name that Podman gives to a container without one of its own", async () => {
    const answer = inspected('podman');
    const shared = { ...answer, HostConfig: { ...answer.HostConfig, UTSMode: 'host' } };
    const Config = { ...answer.Config, Env: ['A=1', 'HOSTNAME=server'] };
    expect((await read({ ...shared, Config }, apiMade))?.Config.Env).toEqual(['A=1']);
    expect((await read({ ...answer, Config }, apiMade))?.Config.Env).toEqual(['A=1', 'HOSTNAME=server']);
  });

  test.each([
    ['a pod', inspected('podman'), { ...apiMade, Pod: 'x' }, 'is part of a pod'],
    ['a unit of systemd', inspected('podman', { PODMAN_SYSTEMD_UNIT: 'web.service' }), apiMade, '"web.service"'],
    ['secrets', inspected('podman'), { Config: { Secrets: [{}] } }, 'has secrets'],
    ['a flag that nothing shows', inspected('podman'), commandMade('--sysctl', 'a=b'), '--sysctl'],
    [
      'an image id instead of a name',
      { ...inspected('podman'), Image: `sha256:${'ab12'.repeat(16)}` },
      commandMade('ab12ab12ab12'),
      'was created from an image id',
    ],
    ['an address that may have been chosen', inspected('own'), apiMade, '"own"'],
  ])('names %s as an obstacle', async (_, answer, own, words) => {
    expect((await read(answer, own))?.obstacle).toContain(words);
  });

  test.each([
    ['a network whose subnet Podman chose', inspected('given'), apiMade],
    ['a command line without an address', inspected('own'), commandMade()],
  ])('sees no obstacle in %s', async (_, answer, own) => {
    expect(await read(answer, own)).not.toHaveProperty('obstacle');
  });

  test.each(['constructor', 'toString'])('gives no address to a network called %s', async (network) => {
    expect(await read(inspected(network), commandMade())).toMatchObject({
      Networks: { [network]: { IPAMConfig: null } },
    });
  });

  test('takes a chosen address from the command line, and from the note on a container of our own making', async () => {
    const IPAMConfig = { IPv4Address: '10.7.0.9' };
    expect((await read(inspected('own'), commandMade('--ip', '10.7.0.9')))?.Networks['own']).toMatchObject({
      IPAMConfig,
    });
    const label = { 'upkeep.tx.addresses': JSON.stringify({ own: IPAMConfig }) };
    expect((await read(inspected('own', label), apiMade))?.Networks['own']).toMatchObject({ IPAMConfig });
  });
});
