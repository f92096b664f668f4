import { describe, expect, test } from 'vitest';
import { type ContainerParts, idOf, inspectedContainer } from '../../../test/support/scene/builders.ts';
import type { Container } from '../container/container.ts';
import {
  buildDependencyGraph,
  hardDependenciesOfId,
  replacedTogetherWith,
  dependenciesOfId,
  type DependencyGraph,
} from './dependency-graph.ts';

const id = (name: string) => idOf(`container ${name}`);
const build = (...containers: readonly Container[]) => buildDependencyGraph(containers, { useComposeDependsOn: true });
const one = (name: string, parts: ContainerParts = {}) => inspectedContainer(name, parts);

/** Names instead of ids. */
function needs(
  graph: DependencyGraph,
  name: string,
): { readonly hard: readonly string[]; readonly soft: readonly string[] } {
  const nameOf = (each: string) => graph.containers.get(each)?.name ?? each;
  const hard = hardDependenciesOfId(graph, id(name)).map(nameOf);
  const soft = (graph.soft.get(id(name)) ?? []).map(({ targetId }) => nameOf(targetId));
  return { hard, soft };
}

const compose = (service: string, more: Readonly<Record<string, string>> = {}, project = 'shop') => ({
  'com.docker.compose.project': project,
  'com.docker.compose.service': service,
  'com.docker.compose.container-number': '1',
  ...more,
});

describe('buildDependencyGraph(), hard dependencies', () => {
  test.each<readonly [string, ContainerParts['host']]>([
    ['network', { NetworkMode: `container:${id('vpn')}` }],
    ['ipc', { IpcMode: `container:${id('vpn')}` }],
    ['pid', { PidMode: `container:${id('vpn')}` }],
    ['uts', { UTSMode: `container:${id('vpn')}` }],
    ['volumes', { VolumesFrom: [`${id('vpn')}:ro`] }],
    ['link', { Links: ['/vpn:/app/alias'] }],
  ])('%s, by the id or name that the engine keeps', (kind, host) => {
    const graph = build(one('app', { host: host ?? {} }), one('vpn', { status: 'exited' }));
    expect(graph.hard.get(id('app'))).toEqual([expect.objectContaining({ kind, targetId: id('vpn') })]);
  });

  test('volumes of a short id and of a name', () => {
    const graph = build(one('app', { host: { VolumesFrom: [id('a').slice(0, 12), 'b:rw'] } }), one('a'), one('b'));
    expect(needs(graph, 'app').hard).toEqual(['a', 'b']);
  });

  test('a beginning that two ids share means neither', () => {
    const twins = ['a', 'b'].map((name) => ({ ...one(name), id: `abcdef${idOf(name).slice(6)}` }));
    const graph = build(one('app', { host: { VolumesFrom: ['abcdef'] } }), ...twins);
    expect(graph.hard.get(id('app'))).toEqual([{ kind: 'volumes', names: 'abcdef', targetId: undefined }]);
  });

  test('a container that is called like the beginning of another one’s id is meant by its name', () => {
    const name = id('vpn').slice(0, 12);
    const graph = build(one('app', { host: { NetworkMode: `container:${name}` } }), one('vpn'), one(name));
    expect(needs(graph, 'app').hard).toEqual([name]);
  });

  test('one that is gone is kept without a target', () => {
    const graph = build(one('app', { host: { NetworkMode: `container:${id('vpn')}` } }));
    expect(graph.hard.get(id('app'))).toEqual([{ kind: 'network', names: id('vpn'), targetId: undefined }]);
  });

  test('other modes are none', () => {
    const host = { NetworkMode: 'shop_default', IpcMode: 'shareable', PidMode: 'host', VolumesFrom: null, Links: null };
    expect(needs(build(one('app', { host })), 'app').hard).toEqual([]);
  });
});

describe('buildDependencyGraph(), soft dependencies', () => {
  test('compose: every replica of the service in the same project, with condition and restart', () => {
    const graph = build(
      one('shop-web-1', {
        labels: compose('web', { 'com.docker.compose.depends_on': 'db:service_healthy:true,gone' }),
      }),
      one('shop-db-1', { labels: compose('db') }),
      one('shop-db-2', { labels: compose('db') }),
      one('shop-db-run', { labels: compose('db', { 'com.docker.compose.oneoff': 'True' }) }),
      one('other-db-1', { labels: compose('db', {}, 'other') }),
    );
    expect(needs(graph, 'shop-web-1')).toEqual({ hard: [], soft: ['shop-db-1', 'shop-db-2'] });
    expect(graph.soft.get(id('shop-web-1'))?.[0]).toMatchObject({ condition: 'service_healthy', restart: true });
    expect(graph.warnings).toEqual([]);
  });

  describe('compose, where a container of another folder claims to be of the project,', () => {
    const made = (folder: string) => ({
      'com.docker.compose.project.working_dir': folder,
      'com.docker.compose.project.config_files': `${folder}/compose.yaml`,
    });
    const shop = made('/srv/shop');
    const needsDb = { 'com.docker.compose.depends_on': 'db:service_started:true' };

    test('orders nothing after it', () => {
      const web = one('web', { labels: compose('web', { ...shop, ...needsDb }) });
      const [db, forged] = [
        one('db', { labels: compose('db', shop) }),
        one('forged', { labels: compose('db', made('/tmp')) }),
      ];
      expect(needs(build(web, db, forged), 'web').soft).toEqual([db.name]);
      expect(needs(build(web, forged), 'web').soft).toEqual([]);
    });

    test('orders it after nothing', () => {
      const forged = one('forged', { labels: compose('web', { ...made('/tmp'), ...needsDb }) });
      expect(needs(build(forged, one('db', { labels: compose('db', shop) })), 'forged').soft).toEqual([]);
    });

    test.each(['db', 'shop-db'])('a depends-on label that names %s means the right one, or none', (name) => {
      const labels = { 'upkeep.depends-on': name };
      const [db, forged] = [
        one('x', { labels: compose('db', shop) }),
        one('y', { labels: compose('db', made('/tmp')) }),
      ];
      const inside = one('web', { labels: { ...compose('web', shop), ...labels } });
      expect(needs(build(inside, db, forged), 'web').soft).toEqual([db.name]);
      expect(needs(build(inside, forged), 'web').soft).toEqual([]);
      expect(needs(build(one('web', { labels }), db, forged), 'web').soft).toEqual([]);
    });

    test('does not take the labels of an image for those of compose', () => {
      const image = compose('db', shop);
      const web = one('web', { labels: compose('web', { ...shop, ...needsDb }) });
      const forged = one('forged', { labels: image, imageLabels: image });
      expect(needs(build(web, forged), 'web').soft).toEqual([]);
      const built = one('db', { labels: { ...image, 'com.docker.compose.oneoff': 'False' }, imageLabels: image });
      expect(needs(build(web, built), 'web').soft).toEqual([built.name]);
    });
  });

  test('compose is not read when that is switched off', () => {
    const labels = compose('web', { 'com.docker.compose.depends_on': 'db' });
    const containers = [one('web', { labels }), one('db', { labels: compose('db') })];
    expect(buildDependencyGraph(containers, { useComposeDependsOn: false }).soft.get(id('web'))).toEqual([]);
  });

  test('links on a user-defined network only order', () => {
    const graph = build(one('app', { networks: { shop: { Links: ['db:database'] } } }), one('db'));
    expect(needs(graph, 'app')).toEqual({ hard: [], soft: ['db'] });
  });

  test('the label replaces the other soft ones, never the hard ones', () => {
    const graph = build(
      one('app', {
        labels: { ...compose('app', { 'com.docker.compose.depends_on': 'db' }), 'upkeep.depends-on': 'cache' },
        networks: { shop: { Links: ['queue:queue'] } },
        host: { NetworkMode: `container:${id('vpn')}` },
      }),
      one('db', { labels: compose('db') }),
      one('queue'),
      one('cache'),
      one('vpn'),
    );
    expect(needs(graph, 'app')).toEqual({ hard: ['vpn'], soft: ['cache'] });
  });

  test('an empty label says: depends on nothing', () => {
    const labels = { ...compose('app', { 'com.docker.compose.depends_on': 'db' }), 'upkeep.depends-on': '' };
    expect(needs(build(one('app', { labels }), one('db', { labels: compose('db') })), 'app').soft).toEqual([]);
  });

  test.each(['database', 'db', 'shop-db', 'shop_db'])('the label may say %j', (name) => {
    const graph = build(
      one('app', { labels: { ...compose('app'), 'com.centurylinklabs.watchtower.depends-on': name } }),
      one('database', { labels: compose('db') }),
    );
    expect(needs(graph, 'app').soft).toEqual(['database']);
  });

  test('warns about a name that nobody has, and about oneself', () => {
    const graph = build(one('app', { labels: { 'upkeep.depends-on': 'nobody,app' } }));
    expect(needs(graph, 'app').soft).toEqual([]);
    expect(graph.warnings).toEqual([
      'Container "app" depends on "nobody" by label, but there is none',
      'Container "app" depends on itself, which is ignored',
    ]);
  });

  test('warns about a circle, and keeps its edges', () => {
    const graph = build(
      one('b', { labels: { 'upkeep.depends-on': 'a' } }),
      one('a', { labels: { 'upkeep.depends-on': 'b' } }),
      one('c', { labels: { 'upkeep.depends-on': 'a' } }),
    );
    expect(graph.warnings).toEqual([
      'Containers "a", "b" depend on each other in a circle, so they are not ordered among themselves',
    ]);
    expect(dependenciesOfId(graph, id('c'))).toEqual([id('a')]);
  });
});

test('the graph does not depend on the order of the list', () => {
  const containers = [
    one('app', { host: { NetworkMode: `container:${id('vpn')}` }, labels: { 'upkeep.depends-on': 'db,cache' } }),
    one('vpn'),
    one('db', { labels: { 'upkeep.depends-on': 'nobody' } }),
    one('cache', { labels: { 'upkeep.depends-on': 'noone' } }),
  ];
  expect([...build(...containers.toReversed()).hard]).toEqual([...build(...containers).hard]);
  expect(build(...containers.toReversed()).warnings).toEqual(build(...containers).warnings);
});

test('replacedTogetherWith() adds all that hold on, directly or through others, and no target', () => {
  const holding = (name: string, target: string) => one(name, { host: { NetworkMode: `container:${id(target)}` } });
  const graph = build(one('root'), holding('vpn', 'root'), holding('app', 'vpn'), holding('side', 'app'), one('other'));
  expect([...replacedTogetherWith(graph, [id('vpn')])].map((each) => graph.containers.get(each)?.name)).toEqual([
    'vpn',
    'app',
    'side',
  ]);
});
