import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ContainerParts, digestOf, idOf, inspectedContainer } from '../../../test/support/scene/builders.ts';
import type { Container, ContainerStatus } from '../container/container.ts';
import {
  buildDependencyGraph,
  hardDependenciesOfId,
  replacedTogetherWith,
  dependenciesOfId,
} from './dependency-graph.ts';
import { defaultSettings } from '../settings/effective-settings.ts';
import type { UnitVerdict } from '../container/quadlet.ts';
import { planUpdate, type UpdatePlan } from './update-plan.ts';

type PlanInput = Parameters<typeof planUpdate>[0];

const id = (name: string) => idOf(`container ${name}`);
const one = (name: string, parts: ContainerParts = {}) => inspectedContainer(name, parts);
const inNetworkOf = (target: string, more: ContainerParts = {}): ContainerParts => ({
  ...more,
  host: { ...more.host, NetworkMode: `container:${id(target)}` },
});
const after = (...names: readonly string[]): ContainerParts => ({ labels: { 'upkeep.depends-on': names.join(',') } });

function inputOf(containers: readonly Container[], stale: readonly string[], more: Partial<PlanInput> = {}): PlanInput {
  return {
    stale: stale.map((name) => ({ id: id(name), name, reference: `${name}:1`, digest: digestOf(`new ${name}`) })),
    graph: buildDependencyGraph(containers, { useComposeDependsOn: true }),
    optedOut: new Map(),
    doors: new Map(),
    imageIds: new Set(containers.map(({ imageId }) => imageId)),
    ownId: undefined,
    settings: defaultSettings,
    ...more,
  };
}

const plan = (containers: readonly Container[], stale: readonly string[], more: Partial<PlanInput> = {}) =>
  planUpdate(inputOf(containers, stale, more));

/** `vpn*+app after db`: members in order, the stale ones starred, and the leaders waited for. */
test('the container that Upkeep itself runs in comes apart from the others, and nobody waits for it', () => {
  const containers = [one('upkeep', after('db')), one('db'), one('web', after('upkeep'))];
  const own = { ownId: id('upkeep'), settings: { ...defaultSettings, selfUpdate: 'unless-published' as const } };
  const planned = plan(containers, ['upkeep', 'db', 'web'], own);
  expect(planned.self?.members.map(({ container }) => container.name)).toEqual(['upkeep']);
  expect(planned.self?.after).toEqual([]);
  expect(planned.transactions.map(({ members, after: first }) => [members[0]?.container.name, first])).toEqual([
    ['db', []],
    ['web', [id('db')]],
  ]);
  expect(planned.refused).toEqual([]);
});

function sketch({ transactions }: Pick<UpdatePlan, 'transactions'>): readonly string[] {
  const leader = new Map(transactions.map((transaction) => [transaction.id, transaction.members[0]?.container.name]));
  return transactions.map(({ members, after: waits }) => {
    const names = members.map(({ container, cause }) => container.name + (cause === 'stale' ? '*' : ''));
    return names.join('+') + (waits.length > 0 ? ` after ${waits.map((each) => leader.get(each)).join(',')}` : '');
  });
}

/** In the form of `docker compose up`: `db:service_healthy:true`. */
const inProject = (service: string, dependsOn = '', parts: ContainerParts = {}): Container =>
  one(service, {
    ...parts,
    labels: {
      'com.docker.compose.project': 'shop',
      'com.docker.compose.service': service,
      'com.docker.compose.depends_on': dependsOn,
      ...parts.labels,
    },
  });

describe('planUpdate() and how successors are left', () => {
  const desiredEndState = (containers: readonly Container[], stale: readonly string[], more: Partial<PlanInput> = {}) =>
    plan(containers, stale, more).transactions.flatMap(({ members }) =>
      members.map((member) => `${member.container.name} ${member.desiredEndState}`),
    );
  const settings = (more: Partial<PlanInput['settings']>) => ({ settings: { ...defaultSettings, ...more } });

  test('what runs is to run, what is stopped stays stopped', () => {
    const containers = [one('a'), one('b', { status: 'exited' }), one('c', { status: 'restarting' })];
    expect(desiredEndState(containers, ['a', 'b', 'c'])).toEqual(['a running', 'b stopped', 'c running']);
  });

  test('no-restart leaves them stopped; the label adds to the option, and overrides it where labels take precedence', () => {
    const containers = [one('a'), one('b', { labels: { 'upkeep.no-restart': 'false' } })];
    expect(desiredEndState(containers, ['a', 'b'], settings({ noRestart: true }))).toEqual(['a stopped', 'b stopped']);
    const both = settings({ noRestart: true, labelTakesPrecedence: true });
    expect(desiredEndState(containers, ['a', 'b'], both)).toEqual(['a stopped', 'b running']);
    expect(desiredEndState([one('a', { labels: { 'upkeep.no-restart': 'true' } })], ['a'])).toEqual(['a stopped']);
  });

  test('revive-stopped starts what was stale, not what is only re-created with it', () => {
    const containers = [one('vpn', { status: 'exited' }), one('app', inNetworkOf('vpn', { status: 'exited' }))];
    const revive = settings({ reviveStopped: true });
    expect(desiredEndState(containers, ['vpn'], revive)).toEqual(['vpn started', 'app stopped']);
    expect(desiredEndState(containers, ['vpn'], settings({ reviveStopped: true, noRestart: true }))).toEqual([
      'vpn stopped',
      'app stopped',
    ]);
  });

  test('a target that is to be left stopped is refused for the sake of who could not be started in its network', () => {
    const containers = [one('vpn', { labels: { 'upkeep.no-restart': 'true' } }), one('app', inNetworkOf('vpn'))];
    const { transactions, refused } = plan(containers, ['vpn']);
    expect(transactions).toEqual([]);
    expect(refused[0]?.reason).toContain('which stays stopped, so it could not be started');
    expect(desiredEndState(containers, ['vpn'], settings({ noRestart: true }))).toEqual(['vpn stopped', 'app stopped']);
  });

  test('whose volumes others use lends them, by id, name or the beginning of an id', () => {
    for (const from of [id('data'), 'data:ro', id('data').slice(0, 6)]) {
      const containers = [one('app', { host: { VolumesFrom: [from] } }), one('data'), one('web', inNetworkOf('app'))];
      const [{ members } = { members: [] }] = plan(containers, ['data', 'app']).transactions;
      const lending = members.map(({ container: { name }, lendsVolumes }) => [name, lendsVolumes]);
      expect(lending).toEqual([
        ['data', true],
        ['app', undefined],
        ['web', undefined],
      ]);
    }
  });

  test('a stopped one that its policy lets end may be a job', () => {
    const revive = settings({ reviveStopped: true });
    const policies = ['', 'no', 'on-failure', 'always', 'unless-stopped'];
    const containers = policies.map((Name, at) =>
      one(`c${at}`, { status: 'exited', host: { RestartPolicy: { Name } } }),
    );
    expect(desiredEndState([...containers, one('web')], ['c0', 'c1', 'c2', 'c3', 'c4', 'web'], revive)).toEqual([
      ...['c0 started', 'c1 started', 'c2 started', 'c3 running', 'c4 running', 'web running'],
    ]);
  });

  test('a job that others wait for is to complete; while it is at work it stays', () => {
    const web = inProject('web', 'migrate:service_completed_successfully:false');
    const job = (status: 'exited' | 'running') => inProject('migrate', '', { status });
    const revive = settings({ reviveStopped: true });
    expect(desiredEndState([web, job('exited')], ['migrate', 'web'], revive)).toEqual([
      'migrate completed',
      'web running',
    ]);
    expect(plan([web, job('running')], ['migrate']).refused[0]?.reason).toBe(
      'It is a job that others wait for, and is running: it is replaced when it has ended',
    );
  });
});

describe('planUpdate() and the conditions of compose', () => {
  test('are asked of containers outside of the transaction, by name; inside they order the starts', () => {
    const web = inProject('web', 'db:service_healthy:false,cache:service_started:false');
    const { transactions } = plan([web, inProject('db'), inProject('cache')], ['web']);
    expect(transactions[0]?.requires).toEqual([{ name: 'db', condition: 'service_healthy' }]);
    const beside = inProject('web', 'db:service_healthy:false', inNetworkOf('db'));
    const [group] = plan([beside, inProject('db')], ['db']).transactions;
    expect(group?.requires).toEqual([]);
    expect(group?.members.map(({ waitsFor }) => waitsFor)).toEqual([[], [id('db')]]);
  });

  test('are not asked for what is not started', () => {
    const web = inProject('web', 'db:service_healthy:false', { status: 'exited' });
    expect(plan([web, inProject('db')], ['web']).transactions[0]?.requires).toEqual([]);
  });
});

describe('planUpdate() and restart: true', () => {
  const restarts = (containers: readonly Container[], stale: readonly string[], more: Partial<PlanInput> = {}) =>
    plan(containers, stale, more).restarts.map(({ container, because }) => [
      container.name,
      because.map(({ name }) => name),
    ]);
  const chain = [
    inProject('db'),
    inProject('web', 'db:service_started:true'),
    inProject('proxy', 'web:service_started:true'),
    inProject('idle', 'db:service_started:true', { status: 'exited' }),
    inProject('other', 'db:service_started:false'),
  ];

  test('restarts who says so and runs, directly or through others, what they depend on first', () => {
    expect(restarts(chain, ['db'])).toEqual([
      ['web', ['db']],
      ['proxy', ['web']],
    ]);
    expect(restarts(chain, ['other'])).toEqual([]);
  });

  test('restarts nobody for what is left stopped, nor who must not be touched, nor the own container', () => {
    expect(restarts(chain, ['db'], { settings: { ...defaultSettings, noRestart: true } })).toEqual([]);
    expect(restarts(chain, ['db'], { optedOut: new Map([[id('web'), 'is monitored only']]) })).toEqual([]);
    expect(restarts(chain, ['db'], { ownId: id('web') })).toEqual([]);
  });

  test('restarts who uses a namespace of a restarted one, which ends with its process', () => {
    const vpn = inProject('vpn', 'db:service_started:true');
    const using = ['NetworkMode', 'IpcMode', 'PidMode'].map((field) =>
      one(`by-${field}`, { host: { [field]: `container:${id('vpn')}` } }),
    );
    const volumes = one('volumes', { host: { VolumesFrom: ['vpn'] } });
    const all = [inProject('db'), vpn, volumes, ...using, one('side', inNetworkOf('by-NetworkMode'))];
    const byName = restarts(all, ['db']).toSorted((a, b) => String(a[0]).localeCompare(String(b[0])));
    expect(byName).toEqual([
      ['by-IpcMode', ['vpn']],
      ['by-NetworkMode', ['vpn']],
      ['by-PidMode', ['vpn']],
      ['side', ['by-NetworkMode']],
      ['vpn', ['db']],
    ]);
    expect(restarts(all, ['vpn'])).toEqual([]);
    expect(restarts(all, ['db', 'vpn'])).toContainEqual(['by-PidMode', ['vpn']]);
  });

  test('restarts no container of a unit of systemd, which would end with it; on Docker the label means nothing', () => {
    const label = { PODMAN_SYSTEMD_UNIT: 'web.service' };
    const web = inProject('web', 'db:service_started:true');
    const { settings } = web;
    const Config = { ...settings.Config, Labels: { ...settings.Config.Labels, ...label } };
    const onDocker = { ...web, settings: { ...settings, Config } };
    const onPodman = {
      ...web,
      settings: { ...settings, Config, obstacle: 'is run by the systemd unit "web.service"' },
    };
    const proxy = inProject('proxy', 'web:service_started:true');
    expect(restarts([inProject('db'), onPodman, proxy], ['db'])).toEqual([]);
    expect(restarts([inProject('db'), onDocker, proxy], ['db'])).toHaveLength(2);
    const autoRemoved = { ...onPodman, settings: { ...onPodman.settings, HostConfig: { AutoRemove: true } } };
    expect(plan([autoRemoved], ['web']).refused).toMatchObject([
      { reason: 'It is run by the systemd unit "web.service"' },
    ]);
  });

  test('restarts no container whose namespace someone uses who must not be touched, and who would lose it', () => {
    const containers = (status: ContainerStatus) => [
      inProject('db'),
      inProject('vpn', 'db:service_started:true'),
      one('app', inNetworkOf('vpn', { status })),
    ];
    const optedOut = new Map([[id('app'), 'is monitored only']]);
    expect(restarts(containers('running'), ['db'], { optedOut })).toEqual([]);
    expect(restarts(containers('paused'), ['db'])).toEqual([]);
    expect(restarts(containers('exited'), ['db'], { optedOut })).toEqual([['vpn', ['db']]]);
  });

  // Each way through the namespaces, asked by itself, takes longer than a test may.
  test('asks each of 60 containers once that use the namespaces of the three before it', () => {
    const names = Array.from({ length: 60 }, (_, index) => `c${index}`);
    const ladder = names.map((name, index) => {
      const before = ['NetworkMode', 'IpcMode', 'PidMode'].map(
        (field, step) => [field, names[index - step - 1]] as const,
      );
      const host = before.flatMap(([field, target]) => (target ? [[field, `container:${id(target)}`] as const] : []));
      return one(name, { host: Object.fromEntries(host) });
    });
    const vpn = inProject('vpn', 'db:service_started:true');
    const top = one('c0', inNetworkOf('vpn'));
    expect(restarts([inProject('db'), vpn, top, ...ladder.slice(1)], ['db'])).toHaveLength(61);
  });

  test('ends for containers that depend on each other in a circle', () => {
    const circle = [inProject('a', 'b:service_started:true'), inProject('b', 'a:service_started:true')];
    expect(restarts(circle, ['a']).map(([name]) => name)).toEqual(['b', 'a']);
  });
});

describe('planUpdate()', () => {
  test('containers that do not hold on to each other move apart', () => {
    expect(sketch(plan([one('b'), one('a'), one('c')], ['c', 'a']))).toEqual(['a*', 'c*']);
  });

  test('what holds on to a replaced container moves with it, watched or not, running or not', () => {
    const containers = [
      one('app', inNetworkOf('vpn')),
      one('side', inNetworkOf('app', { status: 'exited' })),
      one('vpn'),
    ];
    const { transactions } = plan(containers, ['vpn']);
    expect(sketch({ transactions })).toEqual(['vpn*+app+side']);
    expect(transactions[0]?.id).toBe(id('vpn'));
    expect(transactions[0]?.members[1]).toMatchObject({
      reference: 'app:1',
      digest: undefined,
      hardDependencies: [id('vpn')],
    });
  });

  test('a fresh target of a stale dependent stays', () => {
    const containers = [one('app', inNetworkOf('vpn')), one('vpn')];
    const { transactions } = plan(containers, ['app']);
    expect(sketch({ transactions })).toEqual(['app*']);
    expect(transactions[0]?.members[0]).toMatchObject({ hardDependencies: [], digest: digestOf('new app') });
  });

  test('two stale dependents of a fresh target move apart, of a stale one together', () => {
    const containers = [one('a', inNetworkOf('vpn')), one('b', inNetworkOf('vpn')), one('vpn')];
    expect(sketch(plan(containers, ['a', 'b']))).toEqual(['a*', 'b*']);
    expect(sketch(plan(containers, ['a', 'b', 'vpn']))).toEqual(['vpn*+a*+b*']);
  });

  test('soft dependencies order transactions, also through containers that stay', () => {
    const containers = [one('app', after('cache')), one('cache', after('db')), one('db'), one('web', after('app'))];
    expect(sketch(plan(containers, ['app', 'db', 'web']))).toEqual(['db*', 'app* after db', 'web* after app']);
  });

  test('members are ordered by soft dependencies too, unless the hard ones say otherwise', () => {
    const shared = [one('a', inNetworkOf('vpn', after('b'))), one('b', inNetworkOf('vpn')), one('vpn')];
    expect(sketch(plan(shared, ['vpn']))).toEqual(['vpn*+b+a']);
    const contrary = [one('a', inNetworkOf('vpn')), one('vpn', after('a'))];
    expect(sketch(plan(contrary, ['vpn']))).toEqual(['vpn*+a']);
  });

  test('legacy links both ways are one transaction, in the order of names', () => {
    const containers = [one('b', { host: { Links: ['/a:/b/a'] } }), one('a', { host: { Links: ['/b:/a/b'] } })];
    const { transactions } = plan(containers, ['b']);
    expect(sketch({ transactions })).toEqual(['a+b*']);
    expect(transactions[0]?.members.map(({ hardDependencies }) => hardDependencies)).toEqual([[id('b')], [id('a')]]);
  });

  test('a circle of soft dependencies is not ordered, what is around it is', () => {
    const containers = [one('a', after('b')), one('b', after('a', 'db')), one('db'), one('web', after('a'))];
    expect(sketch(plan(containers, ['a', 'b', 'db', 'web']))).toEqual(['db*', 'a*', 'b* after db', 'web* after a']);
  });

  test('a circle that only transactions make is not ordered either', () => {
    const containers = [
      one('a', inNetworkOf('vpn', after('c'))),
      one('b', inNetworkOf('vpn')),
      one('vpn'),
      one('c', after('b')),
    ];
    expect(sketch(plan(containers, ['vpn', 'c']))).toEqual(['vpn*+b+a', 'c*']);
  });

  test('what is waited for does not include refused containers', () => {
    const containers = [one('app', after('db')), one('db', { status: 'paused' })];
    expect(sketch(plan(containers, ['app', 'db']))).toEqual(['app*']);
  });

  test('takes the reference that was found out where the container has only an id', () => {
    const containers = [one('app', { config: { Image: digestOf('image app') } })];
    expect(plan(containers, ['app']).transactions[0]?.members[0]?.reference).toBe('app:1');
  });
});

describe('planUpdate() and the doors of the engine', () => {
  const reason = 'carries the connection of Upkeep to the engine';
  const doors = new Map([[id('gate'), reason]]);

  test('they come after all others, one by one, and before Upkeep itself', () => {
    const containers = [one('gate'), one('web', after('gate')), one('db'), one('upkeep', after('gate', 'web'))];
    const made = plan(containers, ['gate', 'web', 'db', 'upkeep'], { doors, ownId: id('upkeep') });
    const first = made.transactions.map(({ members }) => members[0]?.container.name);
    expect(new Set(first)).toEqual(new Set(['db', 'web']));
    expect(made.transactions.flatMap((each) => each.after)).toEqual([]);
    expect(made.doors).toMatchObject([{ id: id('gate'), after: [] }]);
    expect(made.self).toMatchObject({ id: id('upkeep'), after: [] });
    expect(made.refused).toEqual([]);
  });

  test.each<readonly [string, ContainerParts, Partial<PlanInput['settings']>, string]>([
    ['--no-self-update', {}, { selfUpdate: 'off' }, 'and self-update is off'],
    ['a command', {}, { selfUpdate: 'not-by-this-command' }, 'which only the running service replaces'],
    ['--rm', { host: { AutoRemove: true } }, {}, 'and is removed by the engine as soon as it stops (--rm)'],
    ['no-restart', {}, { noRestart: true }, 'which must not stay stopped'],
  ])('is refused with %s', (_, parts, settings, why) => {
    const made = plan([one('gate', parts)], ['gate'], { doors, settings: { ...defaultSettings, ...settings } });
    expect(made.doors).toBeUndefined();
    expect(made.refused).toMatchObject([{ name: 'gate', reason: `It ${reason}, ${why}` }]);
  });

  test('is not replaced together with others, nor restarted after them', () => {
    const shared = plan([one('gate'), one('app', inNetworkOf('gate'))], ['gate'], { doors });
    expect(shared.refused[0]?.reason).toContain(`"gate" ${reason}, which is only replaced alone`);
    const restarted = plan([one('db'), one('gate', { labels: { ...after('db').labels } })], ['db'], { doors });
    expect(restarted.restarts).toEqual([]);
  });
});

describe('planUpdate() and data', () => {
  const mounts = [{ Type: 'volume', Name: 'data', Source: '/volumes/data/_data', Destination: '/data' }];
  const saving = { mounts, labels: { 'upkeep.data': 'volumes' } };
  const savedOf = ({ transactions, self }: UpdatePlan) =>
    [...transactions, ...(self === undefined ? [] : [self])].flatMap(({ members }) =>
      members.map(({ container, data }) => [container.name, data?.items.flatMap(({ paths }) => paths)]),
    );

  test('copies those of a container that gets a new version and is started', () => {
    expect(savedOf(plan([one('app', saving)], ['app']))).toEqual([['app', ['/data']]]);
    expect(savedOf(plan([one('app', { mounts })], ['app']))).toEqual([['app', undefined]]);
  });

  test('copies none where nothing new is started, or only the container is made again', () => {
    expect(savedOf(plan([one('app', { ...saving, status: 'exited' })], ['app']))).toEqual([['app', undefined]]);
    const unstarted = { settings: { ...defaultSettings, noRestart: true } };
    expect(savedOf(plan([one('app', saving)], ['app'], unstarted))).toEqual([['app', undefined]]);
    const group = [one('vpn'), one('app', inNetworkOf('vpn', saving))];
    expect(savedOf(plan(group, ['vpn']))).toEqual([
      ['vpn', undefined],
      ['app', undefined],
    ]);
  });

  test('copies none of Upkeep itself', () => {
    expect(savedOf(plan([one('app', saving)], ['app'], { ownId: id('app') }))).toEqual([['app', undefined]]);
  });

  test('refuses a mistyped path as a failure', () => {
    const { transactions, refused } = plan([one('app', { mounts, labels: { 'upkeep.data': '/dta' } })], ['app']);
    expect(transactions).toEqual([]);
    const reason = 'It names "/dta" in its label data, which is no volume or folder of it';
    expect(refused).toEqual([{ id: id('app'), name: 'app', reason, isFailure: true }]);
  });

  test('refuses data that a container outside of the group writes to, and no other', () => {
    const writer = (name: string) => one(name, { mounts });
    const { refused } = plan([one('app', saving), writer('other')], ['app']);
    expect(refused.map(({ reason }) => reason)).toEqual([
      'It has data that another container changes: volume "data" is also written by the running container "other". Set upkeep.data-shared=true on both if that is safe',
    ]);
    const group = [one('app', saving), one('side', { ...inNetworkOf('app'), mounts })];
    expect(plan(group, ['app']).refused).toEqual([]);
  });
});

describe('planUpdate() and units of systemd', () => {
  const unit = { name: 'web.service', file: '/etc/containers/systemd/web.container', isAutoUpdated: false };
  const found = { kind: 'unit', unit } as const;
  const ofUnit = (parts: ContainerParts = {}): Container => {
    const container = one('web', { ...parts, host: { AutoRemove: true, ...parts.host } });
    return { ...container, settings: { ...container.settings, obstacle: 'is run by systemd' } };
  };
  const units = (verdict: UnitVerdict) => ({ units: new Map([[id('web'), verdict]]) });

  test('a container is planned with the unit that makes it, although nothing else could, and --rm does not count', () => {
    const { transactions, refused } = plan([ofUnit()], ['web'], units(found));
    expect(transactions.map(({ members }) => members.map((member) => member.unit))).toEqual([[unit]]);
    expect(refused).toEqual([]);
    expect(plan([one('web')], ['web']).transactions[0]?.members[0]).not.toHaveProperty('unit');
  });

  const save = { mounts: [{ Type: 'volume', Name: 'd', Source: '/d', Destination: '/d' }] };
  test.each<[string, readonly Container[], Partial<PlanInput>, string]>([
    ['whose unit is unknown', [ofUnit()], {}, 'It is run by systemd'],
    [
      'whose unit is held',
      [ofUnit()],
      units({ kind: 'held', reason: 'is held by its unit' }),
      'It is held by its unit',
    ],
    ['that is stopped', [ofUnit({ status: 'exited' })], units(found), 'it is not to run'],
    [
      'that is to stay stopped',
      [ofUnit()],
      { ...units(found), settings: { ...defaultSettings, noRestart: true } },
      'it is not to run',
    ],
    ['whose network another one uses', [ofUnit(), one('app', inNetworkOf('web'))], units(found), 'would have to move'],
    [
      'that carries the connection',
      [ofUnit({ host: { AutoRemove: false } })],
      { ...units(found), doors: new Map([[id('web'), 'x']]) },
      'connection',
    ],
    ['whose data are to be copied', [ofUnit({ ...save, labels: { 'upkeep.data': 'volumes' } })], units(found), 'data'],
    ['whose image is gone', [ofUnit()], { ...units(found), imageIds: new Set() }, 'gone from the engine'],
  ])('a container %s is left alone', (_, containers, more, words) => {
    const { transactions, refused, doors = [] } = plan(containers, ['web'], more);
    expect([...transactions, ...doors]).toEqual([]);
    expect(refused.find(({ name }) => name === 'web')?.reason).toContain(words);
  });
});

describe('planUpdate() refuses', () => {
  const reasonFor = (parts: ContainerParts, more: Partial<PlanInput> = {}) => {
    const { transactions, refused } = plan([one('app', parts), one('down', { status: 'exited' })], ['app'], more);
    expect(transactions).toEqual([]);
    expect(refused).toEqual([{ id: id('app'), name: 'app', reason: expect.any(String) }]);
    return refused[0]?.reason;
  };

  test.each<readonly [string, ContainerParts, string]>([
    ['a paused one', { status: 'paused' }, 'It is paused, and a paused container cannot be stopped: unpause it first'],
    ['one that is going', { status: 'removing' }, 'It is being removed'],
    [
      '--rm',
      { host: { AutoRemove: true } },
      'It is removed by the engine as soon as it stops (--rm), so it is updated only where update-auto-remove is on',
    ],
    [
      '--rm, and stopped',
      { host: { AutoRemove: true }, status: 'created', labels: { 'upkeep.update-auto-remove': 'true' } },
      'It is removed by the engine as soon as it stops (--rm), and does not run now or after the update',
    ],
    [
      'a Swarm task',
      { labels: { 'com.docker.swarm.task.id': 'x' } },
      'It is a task of a Swarm service, and Swarm replaces those itself: update the service',
    ],
    [
      'a lost target',
      { host: { NetworkMode: 'container:gone' } },
      'It uses the network of "gone", a container that no longer exists',
    ],
    [
      'lost volumes',
      { host: { VolumesFrom: ['gone:ro'] } },
      'It uses the volumes of "gone", a container that no longer exists',
    ],
    [
      'a stopped target',
      { host: { PidMode: 'container:down' } },
      'It uses the process namespace of "down", which is not running, so it could not be started again',
    ],
    [
      'a stopped link',
      { host: { Links: ['/down:/app/down'] } },
      'It uses the link of "down", which is not running, so it could not be started again',
    ],
  ])('%s', (_, parts, reason) => expect(reasonFor(parts)).toBe(reason));

  test('one whose image is gone', () => {
    expect(reasonFor({}, { imageIds: new Set() })).toContain('runs an image that is gone');
  });

  test.each([
    [{}, 'off', 'and self-update is off'],
    [{ host: { AutoRemove: true } }, 'on', 'is removed by the engine as soon as it stops (--rm)'],
    [{ host: { PublishAllPorts: true } }, 'unless-published', 'the container publishes ports'],
    [{ host: { PortBindings: { '80/tcp': [{}] } } }, 'unless-published', 'the container publishes ports'],
    [{}, 'not-by-this-command', 'which only the running service replaces'],
    [{}, 'not-main-process', 'which is not the main process of the container'],
  ] as const)('the container that Upkeep itself runs in, made with %j, self-update %s', (parts, selfUpdate, why) => {
    const settings = { ...defaultSettings, selfUpdate, updateAutoRemove: true };
    const reason = reasonFor(parts, { ownId: id('app'), settings });
    expect(reason).toContain('is Upkeep itself');
    expect(reason).toContain(why);
  });

  test('one that could not be inspected', () => {
    expect(plan([one('db')], ['app'])).toEqual({
      transactions: [],
      refused: [{ id: id('app'), name: 'app', reason: 'It could not be inspected, or is gone' }],
      restarts: [],
    });
  });

  test('a whole group for the sake of one member, and nothing beside it', () => {
    const containers = [one('vpn'), one('a', inNetworkOf('vpn')), one('b', inNetworkOf('vpn')), one('c')];
    const { transactions, refused } = plan(containers, ['a', 'vpn', 'c'], {
      optedOut: new Map([[id('b'), 'is monitored only']]),
    });
    expect(sketch({ transactions })).toEqual(['c*']);
    const reason = '3 containers have to move together, and "b" is monitored only';
    expect(refused).toEqual([
      { id: id('a'), name: 'a', reason },
      { id: id('vpn'), name: 'vpn', reason },
    ]);
  });

  test('a group in which a parked container takes part', () => {
    const containers = [one('vpn'), one('app.upkeep-old-u', inNetworkOf('vpn'))];
    expect(plan(containers, ['vpn']).refused[0]?.reason).toContain(
      '"app.upkeep-old-u" belongs to an update that is not finished',
    );
    const holding = [one('vpn.upkeep-old-u'), one('app', inNetworkOf('vpn.upkeep-old-u'))];
    expect(plan(holding, ['app']).refused[0]?.reason).toContain('belongs to an update that is not finished');
  });

  test('not: what is stopped itself, uses volumes of a stopped one, or moves with a target that crashes over and over', () => {
    const containers = [
      one('down', { status: 'exited' }),
      one('app', inNetworkOf('down', { status: 'exited' })),
      one('data', { host: { VolumesFrom: ['down'] } }),
      one('crash', { status: 'restarting' }),
      one('side', inNetworkOf('crash')),
    ];
    expect(sketch(plan(containers, ['app', 'data']))).toEqual(['app*', 'data*']);
    expect(sketch(plan(containers, ['crash']))).toEqual(['crash*+side']);
    expect(plan(containers, ['side']).refused).toHaveLength(1);
  });
});

describe('any plan', () => {
  test('has every stale container once, in a transaction or refused, and moves nothing without cause', () => {
    fc.assert(
      fc.property(worlds, ({ input }) => {
        const { transactions, refused } = planUpdate(input);
        const members = transactions.flatMap((transaction) => transaction.members);
        const touched = members.map(({ container }) => container.id);
        const moved = replacedTogetherWith(
          input.graph,
          input.stale.map((each) => each.id),
        );
        expect(new Set(touched).size).toBe(touched.length);
        const staleMembers = members.filter(({ cause }) => cause === 'stale').map(({ container }) => container.id);
        expect([...staleMembers, ...refused.map((each) => each.id)].toSorted()).toEqual(
          input.stale.map((each) => each.id).toSorted(),
        );
        for (const each of touched) expect(moved.has(each)).toBe(true);
      }),
    );
  });

  test('leaves nobody behind who holds on to a member', () => {
    fc.assert(
      fc.property(worlds, ({ input }) => {
        for (const { members } of planUpdate(input).transactions) {
          const ids = members.map(({ container }) => container.id);
          expect([...replacedTogetherWith(input.graph, ids)].toSorted()).toEqual(ids.toSorted());
        }
      }),
    );
  });

  test('puts targets before what holds on to them, and transactions after those they wait for', () => {
    fc.assert(
      fc.property(worlds, ({ input }) => {
        const { transactions } = planUpdate(input);
        const done = new Set<string>();
        for (const { id: own, members, after: waits } of transactions) {
          expect(own).toBe(members[0]?.container.id);
          for (const wait of waits) expect(done.has(wait)).toBe(true);
          done.add(own);
          const here = new Set<string>();
          for (const { container, hardDependencies } of members) {
            const inCircle = (target: string) => replacedTogetherWith(input.graph, [container.id]).has(target);
            for (const target of hardDependencies) expect(here.has(target) || inCircle(target)).toBe(true);
            here.add(container.id);
          }
        }
      }),
    );
  });

  test('waits for the transaction of each soft dependency that is in no circle', () => {
    fc.assert(
      fc.property(worlds, ({ input }) => {
        const { transactions } = planUpdate(input);
        const home = new Map(
          transactions.flatMap((each) => each.members.map(({ container }) => [container.id, each] as const)),
        );
        for (const transaction of transactions) {
          for (const { container } of transaction.members) {
            for (const need of dependenciesOfId(input.graph, container.id)) {
              const there = home.get(need);
              if (there === undefined || there === transaction) continue;
              const mutual = reachable(there.id, transactions, input).has(transaction.id);
              expect(transaction.after.includes(there.id)).toBe(!mutual);
            }
          }
        }
      }),
    );
  });

  test('has the same members when soft dependencies are left out', () => {
    fc.assert(
      fc.property(worlds, ({ input, hardOnly }) => {
        const membership = ({ transactions }: UpdatePlan) =>
          transactions
            .map(({ members }) =>
              members
                .map(({ container }) => container.name)
                .toSorted()
                .join(),
            )
            .toSorted();
        expect(membership(planUpdate(hardOnly))).toEqual(membership(planUpdate(input)));
      }),
    );
  });

  test('does not depend on the order of the list', () => {
    fc.assert(
      fc.property(worlds, ({ input, reversed }) => {
        expect(sketch(planUpdate(reversed))).toEqual(sketch(planUpdate(input)));
      }),
    );
  });
});

test('planUpdate() plans 2,000 containers with a chain and a star of dependencies in no time', () => {
  const containers = Array.from({ length: 2000 }, (_, index) => {
    const links = { Links: index > 0 && index < 1000 ? [`/c${index - 1}:/x`] : index > 1000 ? ['/c1000:/x'] : [] };
    return one(`c${index}`, { host: links, ...after(`c${(index * 7) % 2000}`) });
  });
  // In CPU time, because other work may run on the machine.
  const begun = process.cpuUsage();
  const { transactions } = plan(
    containers,
    containers.map(({ name }) => name),
  );
  expect(transactions).toHaveLength(2);
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(2000);
});

type Shape = { readonly hard: number[]; readonly soft: number[]; readonly trouble: number };

/** Up to nine containers with random dependencies, some of which must not be touched. */
const worlds = fc
  .integer({ min: 1, max: 9 })
  .chain((size) => {
    const others = fc.uniqueArray(fc.nat({ max: size - 1 }), { maxLength: 2 });
    const shape: fc.Arbitrary<Shape> = fc.record({ hard: others, soft: others, trouble: fc.nat({ max: 12 }) });
    return fc.record({
      shapes: fc.array(shape, { minLength: size, maxLength: size }),
      stale: fc.uniqueArray(fc.nat({ max: size - 1 }), { minLength: 1 }),
    });
  })
  .map(({ shapes, stale }) => {
    const names = stale.map((index) => `c${index}`);
    const containers = shapes.map((shape, index) => shaped(index, shape));
    const optedOut = new Map(
      shapes.flatMap(({ trouble }, index) =>
        trouble === 1 && !stale.includes(index) ? [[id(`c${index}`), 'is monitored only']] : [],
      ),
    ) as ReadonlyMap<string, string>;
    return {
      input: inputOf(containers, names, { optedOut }),
      reversed: inputOf(containers.toReversed(), names.toReversed(), { optedOut }),
      hardOnly: inputOf(
        shapes.map((shape, index) => shaped(index, { ...shape, soft: [] })),
        names,
        { optedOut },
      ),
    };
  });

function shaped(index: number, { hard, soft, trouble }: Shape): Container {
  const links = hard.filter((other) => other !== index).map((other) => `/c${other}:/c${index}/x`);
  const waits = after(...soft.filter((other) => other !== index).map((other) => `c${other}`));
  return one(`c${index}`, { ...waits, host: { Links: links, AutoRemove: trouble === 2 } });
}

/** Ids of the transactions that one waits for, directly or indirectly, also across unchanged containers. */
function reachable(from: string, transactions: UpdatePlan['transactions'], { graph }: PlanInput): ReadonlySet<string> {
  const homeOf = new Map(transactions.flatMap((each) => each.members.map(({ container }) => [container.id, each])));
  const seen = new Set((homeOf.get(from)?.members ?? []).map(({ container }) => container.id));
  for (const each of seen) {
    for (const need of [...dependenciesOfId(graph, each), ...hardDependenciesOfId(graph, each)]) seen.add(need);
    for (const { container } of homeOf.get(each)?.members ?? []) seen.add(container.id);
  }
  return new Set([...seen].flatMap((each) => homeOf.get(each)?.id ?? []));
}
