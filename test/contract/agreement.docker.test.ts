import type { Engine } from '../../src/domain/outside/outside.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Container, HostConfig } from '../../src/domain/container/container.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { dockerFixture } from './engine/docker-fixture.ts';
import { eventually, type Body, type EngineFixture, type Program } from './engine/fixture.ts';
import { sandboxFixture } from './engine/sandbox-fixture.ts';

/**
 * The rows of the contract are what someone thought of. Here both engines get the same calls, drawn
 * by lot, and must give the same answers and look the same after each. Where they do not, the
 * sandbox is wrong.
 */
describeInLab('Sandbox and Docker', (lab) => {
  let docker: EngineFixture;
  let sandbox: EngineFixture;
  /** The sandbox has the words of 20.10 for all versions. */
  let isNewer = false;
  beforeAll(async () => {
    docker = await dockerFixture(lab, lab.engine);
    const { apiVersion } = await docker.engine.info();
    isNewer = Number(apiVersion.split('.')[1]) >= 44;
    sandbox = sandboxFixture({ version: isNewer ? '28' : '20.10' });
  });
  afterAll(() => docker?.close());

  test('answer alike and end up alike, whatever they are asked', async () => {
    const property = fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 20 }), async (steps) => {
      await Promise.all([docker.reset(), sandbox.reset()]);
      for (const fixture of [docker, sandbox]) await fixture.addNetwork('blue', '10.77.0.0/24');
      for (const [index, step] of steps.entries()) {
        if (await isTrap(docker, step)) continue;
        const [real, ours] = [comparable(await perform(docker, step)), comparable(await perform(sandbox, step))];
        const story = JSON.stringify(steps.slice(0, index + 1));
        expect(ours, story).toEqual(real);
        await agree(story);
      }
    });
    await fc.assert(property, { numRuns: 12, seed: Number(process.env['SEED'] ?? 1), endOnFailure: true });
  });

  /** Names of an endpoint follow a rename at once or later, depending on the version. */
  function comparable(value: unknown): unknown {
    if (!isNewer) return value;
    const hidden = ['message', 'error', 'DNSNames'];
    return JSON.parse(JSON.stringify(value, (key, item: unknown) => (hidden.includes(key) ? '' : item)));
  }

  /** Repeats until they agree, because the real engine may need a moment. */
  async function agree(story: string): Promise<void> {
    const look = async () => [comparable(await facts(docker)), comparable(await facts(sandbox))] as const;
    const areAlike = async () => {
      const [real, ours] = await look();
      return JSON.stringify(real) === JSON.stringify(ours);
    };
    await eventually(docker, areAlike, 3000).catch(() => undefined);
    const [real, ours] = await look();
    expect(ours, story).toEqual(real);
  }
});

type Step =
  | { readonly kind: 'create'; readonly name: string; readonly shape: Shape }
  | { readonly kind: 'start' | 'stop' | 'remove' | 'connect'; readonly name: string }
  | { readonly kind: 'rename'; readonly name: string; readonly to: string }
  | { readonly kind: 'policy'; readonly name: string; readonly policy: string };

type Shape = { readonly program: Program; readonly body: Body };

const names = ['one', 'two', 'three'] as const;
const other = fc.constantFrom(...names);
const policies = ['no', 'always', 'unless-stopped', 'on-failure', 'never', ''];

const bodies: fc.Arbitrary<Body> = fc.oneof(
  fc.constantFrom<Body>(
    {},
    { Env: ['A=1', 'B'], Labels: { a: 'b' }, Hostname: 'own', WorkingDir: '/', StopTimeout: 1 },
    { ExposedPorts: { '80/tcp': {} }, HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '18090' }] } } },
    { HostConfig: { AutoRemove: true, Binds: ['named:/named'] } },
    { HostConfig: { AutoRemove: true, RestartPolicy: { Name: 'no' } }, Volumes: { '/scratch': {} } },
    { Healthcheck: { Test: ['NONE'] }, Tty: true, User: 'root' },
    { HostConfig: { Mounts: [{ Type: 'volume', Source: 'mv', Target: '/mv', ReadOnly: true }], Memory: 64_000_000 } },
    { HostConfig: { NetworkMode: 'host' } },
    { HostConfig: { NetworkMode: 'none' } },
    { HostConfig: { NetworkMode: 'nowhere' } },
    { HostConfig: { NetworkMode: 'blue' } },
    { Hostname: 'own', Domainname: 'test', HostConfig: { NetworkMode: 'blue' } },
    {
      HostConfig: { NetworkMode: 'blue' },
      NetworkingConfig: { EndpointsConfig: { blue: { Aliases: ['x'], IPAMConfig: { IPv4Address: '10.77.0.10' } } } },
    },
    { Entrypoint: [] },
    { Entrypoint: [''] },
    { Volumes: { '/data': {}, '/more': {} } },
  ),
  other.map((name): Body => ({ HostConfig: { NetworkMode: `container:${name}` } })),
  other.map((name): Body => ({ HostConfig: { PidMode: `container:${name}` } })),
  other.map((name): Body => ({ HostConfig: { IpcMode: `container:${name}` } })),
  fc.constant<Body>({ HostConfig: { IpcMode: 'shareable' } }),
  other.map((name): Body => ({ HostConfig: { VolumesFrom: [name] } })),
  other.map((name): Body => ({ HostConfig: { VolumesFrom: [`${name}:ro`], Binds: ['named:/data'] } })),
  other.map((name): Body => ({ HostConfig: { Links: [`${name}:linked`] } })),
);

const programs = fc.constantFrom<Program>('service', 'storing', 'defaults', 'crash', 'missing', 'deaf');

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      name: other,
      shape: fc.record({ program: programs, body: bodies }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('start' as const), name: other }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom('stop' as const, 'remove' as const, 'connect' as const),
      name: other,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rename' as const), name: other, to: other }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('policy' as const), name: other, policy: fc.constantFrom(...policies) }),
  },
);

/**
 * Steps that cannot be compared. Docker 20.10 never answers a link to a container in its own network,
 * which comes from joining a missing name. The address of a container with a link outside the default
 * network leaks. A container with endless restarts never comes to rest. A bad policy for a missing
 * container is refused for one reason or the other, depending on the version.
 */
async function isTrap({ engine }: EngineFixture, step: Step): Promise<boolean> {
  if (step.kind === 'policy') return /^$|\/crash:/.test(await imageOf(engine, step.name));
  if (step.kind !== 'create') return false;
  const { NetworkMode: mode = '', Links: links } = (step.shape.body.HostConfig ?? {}) as HostConfig;
  if (mode.startsWith('container:')) return !(await engine.inspectContainer(mode.slice('container:'.length)));
  const linked = await engine.inspectContainer(links?.[0]?.split(':')[0] ?? 'nobody');
  return linked !== undefined && !('bridge' in linked.settings.Networks);
}

async function imageOf(engine: Engine, name: string): Promise<string> {
  return (await engine.inspectContainer(name))?.settings.Config.Image ?? '';
}

async function perform(fixture: EngineFixture, step: Step): Promise<object> {
  const { engine, image } = fixture;
  const outcome = await act();
  // The engine's own actions of that moment are not compared: a process may have ended.
  return anonymous(await namesOf(fixture), outcome.kind === 'done' ? { kind: 'done' } : outcome) as object;

  async function act() {
    switch (step.kind) {
      case 'create':
        return engine.createContainer(step.name, {
          body: { Image: image(step.shape.program), ...step.shape.body },
          laterEndpoints: [],
        });
      case 'start':
        return engine.startContainer(step.name);
      case 'stop':
        return engine.stopContainer(step.name, { timeoutSeconds: 0 });
      case 'remove':
        return engine.removeContainer(step.name);
      case 'connect':
        return engine.connectNetwork({ containerId: step.name, networkId: 'blue', endpoint: { Aliases: ['later'] } });
      case 'rename':
        return engine.renameContainer(step.name, step.to);
      case 'policy':
        return engine.updateRestartPolicy(step.name, { Name: step.policy, MaximumRetryCount: 0 });
    }
  }
}

/** The whole visible state, without random values and times. */
async function facts(fixture: EngineFixture): Promise<unknown> {
  const known = await namesOf(fixture);
  const seen: unknown[] = [];
  for (const name of names) {
    const container = await fixture.engine.inspectContainer(name);
    seen.push(container === undefined ? `${name}: none` : anonymous(known, lasting(container)));
  }
  return {
    seen,
    volumes: (await fixture.volumes()).filter((name) => name.length < 64).toSorted(),
    count: (await fixture.volumes()).length,
  };
}

function lasting({ name, state, restartCount, settings }: Container): object {
  const { startedAt, finishedAt, ...lastingState } = state;
  const networks = Object.entries(settings.Networks).map(([network, endpoint]) => {
    const { EndpointID, NetworkID, IPAddress, MacAddress, Gateway, ...asked } = endpoint;
    const given = { EndpointID, NetworkID, IPAddress, MacAddress, Gateway };
    const isGiven = Object.entries(given).map(([field, value]) => [field, value !== ''] as const);
    return [network, { ...asked, ...Object.fromEntries(isGiven) }] as const;
  });
  return {
    name,
    state: { ...lastingState, hasStarted: startedAt !== '', hasFinished: finishedAt !== '' },
    restartCount,
    config: { ...settings.Config, Image: '', Cmd: settings.Config.Cmd === null ? null : 'a command' },
    hostConfig: settings.HostConfig,
    mounts: settings.Mounts.map((mount) => ({ ...mount, Source: '' })).toSorted((a, b) =>
      a.Destination.localeCompare(b.Destination),
    ),
    networks: Object.fromEntries(networks.toSorted(([a], [b]) => a.localeCompare(b))),
  };
}

async function namesOf({ engine }: EngineFixture): Promise<ReadonlyMap<string, string>> {
  const { name: host } = await engine.info();
  const known = new Map([[host, '<host>']]);
  for (const { id, name } of await engine.listContainers()) {
    known.set(id, `<${name}>`);
    known.set(id.slice(0, 12), `<${name}, short>`);
  }
  return known;
}

/** Ids become names; other long hexadecimal numbers, such as volumes and endpoints, look all the same. Keys in order. */
function anonymous(known: ReadonlyMap<string, string>, value: unknown): unknown {
  if (typeof value === 'string') {
    if (known.has(value)) return known.get(value);
    return value.replaceAll(
      /[0-9a-f]{64}|[0-9a-f]{12}/g,
      (hex) => known.get(hex) ?? (hex.length === 64 ? '<id>' : hex),
    );
  }
  if (Array.isArray(value)) return value.map((item) => anonymous(known, item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, anonymous(known, item)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => a.localeCompare(b)));
}
