import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import { fixtureTable } from '../../../test/support/fixture-table.ts';
import { mayBelongTogether, readComposeIdentity } from './lookup.ts';

const labels = { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web' };

describe('mayBelongTogether()', () => {
  const of = (folder: string | undefined, files: string | undefined, project = 'shop') =>
    readComposeIdentity({
      ...labels,
      'com.docker.compose.project': project,
      ...(folder !== undefined && { 'com.docker.compose.project.working_dir': folder }),
      ...(files !== undefined && { 'com.docker.compose.project.config_files': files }),
    });
  const shop = of('/srv/shop', '/srv/shop/compose.yaml');

  test.each([
    [of('/srv/shop', '/srv/shop/compose.yaml'), true],
    [of('/srv/shop', '/srv/shop/compose.yaml,/srv/shop/more.yaml'), true],
    [of('/srv/shop', '/srv/shop/other.yaml'), false],
    [of('/home/eve/shop', '/srv/shop/compose.yaml'), false],
    [of('/srv/shop', undefined), false],
    [of(undefined, undefined), false],
    [of('/srv/shop', '/srv/shop/compose.yaml', 'other'), false],
  ])('%j with one of /srv/shop: %j', (other, expected) => {
    if (shop === undefined || other === undefined) throw new Error('no identity');
    expect(mayBelongTogether(shop, other)).toBe(expected);
    expect(mayBelongTogether(other, shop)).toBe(expected);
  });

  test('knows no difference where no folder and file is told', () => {
    const [one, other] = [of(undefined, undefined), of(undefined, undefined)];
    expect(one && other && mayBelongTogether(one, other)).toBe(true);
  });
});

describe('readComposeIdentity()', () => {
  test.each([
    ['/srv/shop/compose.yaml,/srv/shop/prod.yaml', ['/srv/shop/compose.yaml', '/srv/shop/prod.yaml']],
    ['/srv/a,b/compose.yaml,/srv/a,b/prod.yaml', ['/srv/a,b/compose.yaml', '/srv/a,b/prod.yaml']],
    ['compose.yaml,prod.yaml', ['compose.yaml', 'prod.yaml']],
    ['/srv/compose.yaml,', ['/srv/compose.yaml']],
    ['-', ['-']],
  ])('reads the paths of %j, also with a comma in a folder', (files, expected) => {
    const all = { ...labels, 'com.docker.compose.project.config_files': files };
    expect(readComposeIdentity(all)?.files).toEqual(expected);
  });

  test('reads at most 100 compose files', () => {
    const files = Array.from({ length: 5000 }, (_, index) => `/srv/${index}.yaml`).join(',');
    const identity = readComposeIdentity({ ...labels, 'com.docker.compose.project.config_files': files });
    expect(identity?.files).toHaveLength(100);
  });

  test('reads what compose writes', () => {
    const identity = readComposeIdentity({
      ...labels,
      'com.docker.compose.container-number': '2',
      'com.docker.compose.oneoff': 'False',
      'com.docker.compose.depends_on': 'db:service_healthy:true',
    });
    expect(identity).toEqual({
      project: 'shop',
      service: 'web',
      folder: '',
      files: [],
      envFiles: [],
      oneOff: false,
      dependsOn: [{ service: 'db', condition: 'service_healthy', restart: true }],
    });
  });

  test('depends on nothing and is no one-off, when the labels do not say so', () => {
    expect(readComposeIdentity(labels)).toEqual({
      project: 'shop',
      service: 'web',
      folder: '',
      files: [],
      envFiles: [],
      oneOff: false,
      dependsOn: [],
    });
    expect(readComposeIdentity({ ...labels, 'com.docker.compose.depends_on': '' })?.dependsOn).toEqual([]);
  });

  test('knows the containers of "compose run"', () => {
    expect(readComposeIdentity({ ...labels, 'com.docker.compose.oneoff': 'True' })?.oneOff).toBe(true);
  });

  test.each([
    {},
    { 'com.docker.compose.project': 'shop' },
    { 'com.docker.compose.service': 'web' },
    { ...labels, 'com.docker.compose.service': 'a b' },
    { ...labels, 'com.docker.compose.project': 'x'.repeat(256) },
  ])('gives nothing for %j', (incomplete) => {
    expect(readComposeIdentity(incomplete)).toBeUndefined();
  });

  test.each(fixtureTable('compose-depends-on.txt'))('reads depends_on %s as %s', (text = '', expected = '') => {
    const shown = dependenciesOf(text).map(({ service, condition, restart }) => `${service}:${condition}:${restart}`);
    expect(shown.join(' ')).toBe(expected === '-' ? '' : expected);
  });

  test('keeps a hundred dependencies at most, and reads no more than 32 kB', () => {
    expect(dependenciesOf(Array.from({ length: 500 }, (_, n) => `s${n}`).join(','))).toHaveLength(100);
    expect(dependenciesOf('db,'.repeat(2 ** 20))).toEqual([]);
  });

  test('never throws', () => {
    fc.assert(fc.property(fc.oneof(anyText(), fc.json()), (text) => void dependenciesOf(text)));
  });
});

function dependenciesOf(text: string) {
  return readComposeIdentity({ ...labels, 'com.docker.compose.depends_on': text })?.dependsOn ?? [];
}
