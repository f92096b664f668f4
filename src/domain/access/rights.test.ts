import { describe, expect, test } from 'vitest';
import { accessTest, formatRights, hasRole, readRights, rightsOfPerson, type Person } from './rights.ts';

test.each([
  ['viewer', { role: 'viewer' }],
  ['Admin', { role: 'admin' }],
  [
    'operator, image=acme/*, image=ghcr.io/acme/app:2.*, container=/web-*',
    { role: 'operator', within: { images: ['acme/*', 'ghcr.io/acme/app:2.*'], containers: ['web-*'] } },
  ],
])('readRights(%j)', (text, rights) => {
  expect(readRights(text)).toEqual(rights);
  expect(readRights(formatRights(readRights(text) as never))).toEqual(rights);
});

test.each([
  ['', 'no role'],
  ['owner', 'no role'],
  ['image=acme/*', 'no role'],
  ['viewer, acme/*', 'filter'],
  ['viewer, image=', 'filter'],
  ['viewer, label=a', 'filter'],
  ['viewer,', 'filter'],
  ['viewer, image=*', 'written out'],
  ['viewer, image=*/app', 'written out'],
  ['viewer, image=acme*/app', 'written out'],
  ['viewer, image=*.example.com/app', 'written out'],
  ['viewer, image=acme//app', 'written out'],
  [`viewer, image=acme/app@sha256:${'a'.repeat(64)}`, 'digest'],
  [`viewer, image=acme/app:1@sha256:${'a'.repeat(64)}`, 'digest'],
])('readRights(%j) refuses it, and tells nothing of it', (text, why) => {
  const read = readRights(text);
  expect(read).toContain(why);
  expect(read).not.toContain('owner');
});

test.each([
  ['acme/*', 'acme/app:1', true],
  ['acme/*', 'docker.io/acme/app', true],
  ['acme/*', 'acme/app@sha256:' + 'a'.repeat(64), true],
  ['acme/*', 'acme/app:1@sha256:' + 'a'.repeat(64), true],
  ['acme/*', 'index.docker.io/acme/app', true],
  ['acme/*', 'registry-1.docker.io/acme/app:1', true],
  ['docker.io/acme/*', 'acme/app:1', true],
  ['Index.Docker.io/acme/*', 'acme/app:1', true],
  ['docker.io/nginx', 'nginx:1.27', true],
  ['docker.io/library/nginx', 'nginx:1.27', true],
  ['docker.io/nginx', 'nginxinc/nginx', false],
  ['docker.io/*', 'acme/app', true],
  ['library/nginx', 'nginx@sha256:' + 'a'.repeat(64), true],
  ['acme/*', 'ACME/app:1', false],
  ['acme/*', 'Acme/app:1', false],
  ['acme/*', 'docker.io.evil.test/acme/app', false],
  ['acme/*', 'localhost/acme/app', false],
  ['acme/*', 'acme:5000/app', false],
  ['acme/*', 'a'.repeat(64), false],
  ['acme/app:1', 'acme/app:1@sha256:' + 'a'.repeat(64), true],
  ['acme/app:1', 'acme/app@sha256:' + 'a'.repeat(64), false],
  ['acme/*', 'acme-evil/app:1', false],
  ['acme/*', 'evil/acme/app:1', false],
  ['acme/*', 'ghcr.io/acme/app:1', false],
  ['acme/*', 'sha256:' + 'a'.repeat(64), false],
  ['acme/*', '', false],
  ['nginx', 'nginx:1.27', true],
  ['nginx', 'docker.io/library/nginx', true],
  ['nginx', 'nginxinc/nginx', false],
  ['nginx', 'nginx-evil', false],
  ['acme/app', 'acme/app.evil:1', false],
  ['ghcr.io/acme/*', 'GHCR.io/acme/app:1', true],
  ['ghcr.io/acme/*', 'ghcr.io.evil.test/acme/app', false],
  ['registry.test:5000/acme/*', 'registry.test:5000/acme/app:1', true],
  ['acme/app:2.*', 'acme/app:2.1', true],
  ['acme/app:2.*', 'acme/app:21', false],
  ['acme/app:2.*', 'acme/app', false],
])('image=%s with %j is %j', (pattern, image, isWithin) => {
  expect(accessTest({ images: [pattern], containers: [] })({ name: 'any', image })).toBe(isWithin);
});

test('a name is matched whole, and both kinds have to match', () => {
  const test = accessTest({ images: ['acme/*'], containers: ['web-*', 'api'] });
  const names = ['web-1', 'api', 'api2', 'my-web-1', 'web'].filter((name) => test({ name, image: 'acme/app' }));
  expect(names).toEqual(['web-1', 'api']);
  expect(test({ name: 'api', image: 'other/app' })).toBe(false);
});

test('each role has the rights of those before it', () => {
  const may = (role: 'viewer' | 'operator' | 'admin') =>
    (['nothing', 'viewer', 'operator', 'admin'] as const).filter((need) => hasRole({ role }, need));
  expect([may('viewer').length, may('operator').length, may('admin').length]).toEqual([2, 3, 4]);
});

describe('a person', () => {
  const lists = {
    viewer: ['@example.com', 'group:family'],
    operator: ['otto', 'Anna@Example.com', 'mark@acme.test', '@kind.test'],
    admin: ['group:the admins'],
  };
  const person = (given: Partial<Person>): Person => ({ name: 'x', groups: [], from: 'issuer', ...given });
  test.each([
    ['by a verified domain', person({ email: 'eve@example.com' }), 'viewer'],
    ['not by a domain that ends alike', person({ email: 'eve@evil-example.com' }), undefined],
    ['not by a sub-domain', person({ email: 'eve@a.example.com' }), undefined],
    ['not by an address in a name', person({ email: 'eve@example.com@evil.test' }), undefined],
    ['by the address, with the highest role', person({ email: 'anna@example.com' }), 'operator'],
    ['by the address in other letters', person({ email: 'MARK@ACME.TEST' }), 'operator'],
    // The Kelvin sign becomes a k in lower case: another person may own that address.
    ['not by an address that only lower case makes alike', person({ email: 'mar\u212A@acme.test' }), undefined],
    ['nor by such a domain', person({ email: 'eve@\u212Aind.test' }), undefined],
    ['by a group', person({ groups: ['the admins', 'family'] }), 'admin'],
    ['not by part of a group', person({ groups: ['admins', 'fam'] }), undefined],
    ['by the name in a header', person({ name: 'otto', from: 'header' }), 'operator'],
    ['not by a name at the issuer, which people choose', person({ name: 'otto' }), undefined],
    ['not by an address that is only a name', person({ name: 'anna@example.com' }), undefined],
    ['not without anything', person({ name: '' }), undefined],
  ])('has a role %s', (_, who, role) => {
    expect(rightsOfPerson(who, lists)?.role).toBe(role);
  });
});
