import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { docker28 } from '../../../../test/support/engine/scripted-engine.ts';

const info = {
  ID: '7TRN:IPZB',
  Name: 'host',
  Architecture: 'x86_64',
  LiveRestoreEnabled: true,
  SystemTime: '2026-01-01T00:00:00.5Z',
  RegistryConfig: {
    Mirrors: ['https://mirror.test/'],
    InsecureRegistryCIDRs: ['127.0.0.0/8', '::1/128'],
    IndexConfigs: {
      'docker.io': { Mirrors: ['https://mirror.test/'], Secure: true },
      'plain.test:5000': { Mirrors: [], Secure: false },
    },
  },
};

describe('info()', () => {
  test('tells what an engine is', async () => {
    const { engine } = await connectedEngine({ script: { 'GET /info': info } });
    expect(await engine.info()).toEqual({
      id: '7TRN:IPZB',
      kind: 'docker',
      version: '28.5.2',
      apiVersion: '1.51',
      name: 'host',
      platform: { os: 'linux', architecture: 'amd64', variant: '' },
      liveRestore: true,
      abilities: { changesRestartPolicies: true, probesHealth: true },
      containerReach: 'direct',
      nowMs: Date.UTC(2026, 0, 1) + 500,
      hubMirrors: ['https://mirror.test/'],
      insecureRegistries: ['127.0.0.0/8', '::1/128', 'plain.test:5000'],
    });
  });

  test('knows Podman, whose mirrors are mere hosts', async () => {
    const indexes = {
      'docker.io': { Mirrors: ['mirror.test:5001', 'safe.test'], Secure: true },
      'mirror.test:5001': { Secure: false },
    };
    const { engine } = await connectedEngine({
      version: { ...docker28, ApiVersion: '1.41', Version: '5.4.2', Components: [{ Name: 'Podman Engine' }] },
      script: { 'GET /info': { ...info, RegistryConfig: { Mirrors: [], IndexConfigs: indexes } } },
    });
    expect(await engine.info()).toMatchObject({
      kind: 'podman',
      version: '5.4.2',
      apiVersion: '1.41',
      abilities: { changesRestartPolicies: true, probesHealth: false },
      hubMirrors: ['http://mirror.test:5001', 'https://safe.test'],
      insecureRegistries: ['mirror.test:5001'],
    });
  });

  test.each([
    ['arm', 'armv7l', { architecture: 'arm', variant: 'v7' }],
    ['arm', 'armv6l', { architecture: 'arm', variant: 'v6' }],
    ['arm64', 'aarch64', { architecture: 'arm64', variant: '' }],
    ['amd64', 'x86_64', { architecture: 'amd64', variant: '' }],
    ['riscv64', 'riscv64', { architecture: 'riscv64', variant: '' }],
    ['arm', 'aarch64', { architecture: 'arm', variant: 'v7' }],
    ['', 'aarch64', { architecture: 'arm64', variant: '' }],
  ])('names the platform of %s on %s', async (Arch, Architecture, platform) => {
    const { engine } = await connectedEngine({
      version: { ...docker28, Arch },
      script: { 'GET /info': { ...info, Architecture } },
    });
    expect((await engine.info()).platform).toEqual({ os: 'linux', ...platform });
  });

  test.each([
    ['a socket of this host', {}, false, 'direct'],
    ['a port', {}, true, 'remote'],
    ['Docker Desktop', { OperatingSystem: 'Docker Desktop' }, false, 'virtual-machine'],
    ['a rootless engine', { SecurityOptions: ['name=seccomp,profile=default', 'name=rootless'] }, false, 'rootless'],
    ['a rootless Podman', { SecurityOptions: ['name=seccomp,profile=default'], Rootless: true }, false, 'rootless'],
  ])('says how the addresses of containers are reached: %s', async (_, more, tcp, reach) => {
    const { engine } = await connectedEngine({ tcp, script: { 'GET /info': { ...info, ...more } } });
    expect((await engine.info()).containerReach).toBe(reach);
  });

  test('makes do with little', async () => {
    const { engine } = await connectedEngine({
      version: { ApiVersion: '1.41' },
      script: { 'GET /info': { RegistryConfig: null } },
    });
    expect(await engine.info()).toMatchObject({
      kind: 'docker',
      hubMirrors: [],
      insecureRegistries: [],
      liveRestore: false,
    });
  });
});

describe('ping()', () => {
  test('resolves when the engine answers, and throws when it does not', async () => {
    const ok = (_: unknown, response: ServerResponse) => void response.end('OK');
    const { engine, server } = await connectedEngine({ script: { 'GET /_ping': ok } });
    await engine.ping();
    server.script({});
    await expect(engine.ping()).rejects.toMatchObject({ code: 'engine-refused' });
    await server.close();
    await expect(engine.ping()).rejects.toMatchObject({ code: 'engine-unreachable' });
  });
});
