import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  describeForbidden,
  describeWithout,
  howToPermit,
  permissionNames,
  permissions,
  preventing,
  type PermissionName,
} from './permission.ts';

test('docs/engines.md has each call with its variables, and what does not work without it', () => {
  const page = readFileSync(new URL('../../../docs/engines.md', import.meta.url), 'utf8');
  const rows = new Map(
    [...page.matchAll(/^\| ([A-Z]+) \| `([^`]+)` \| ((?:`[A-Z_]+` ?)+)\|(?: ([^|]+) \|)?/gm)].map(
      ([, method, path, variables = '', without]) => [`${method} ${path}`, { variables, without }] as const,
    ),
  );
  for (const name of permissionNames) {
    const { call, variables, needed, ...rest } = permissions[name];
    const row = rows.get(call);
    expect([call, row?.variables.match(/[A-Z_]+/g)]).toEqual([call, variables]);
    if (row?.without === undefined) continue;
    const without = { always: 'No update begins', pull: 'No update begins that pulls an image', no: undefined }[needed];
    expect([call, row?.without?.toLowerCase()]).toEqual([
      call,
      (without ?? ('without' in rest ? rest.without : '')).toLowerCase(),
    ]);
  }
  for (const flag of ['GET', 'POST', 'DELETE'] as const) {
    const name = permissionNames.find((one) => permissions[one].call.startsWith(flag));
    const [, pattern = 'none'] = /('-allow[A-Z]+=.+')/.exec(howToPermit([name!])) ?? [];
    expect(page).toContain(`- ${pattern}\n`);
  }
});

test('the patterns for the proxy of wollomatic permit all calls', () => {
  const flags = new Map(
    [...howToPermit(permissionNames).matchAll(/'-allow([A-Z]+)=([^']+)'/g)].map(([, method, pattern]) => [
      method,
      new RegExp(`^${pattern}$`),
    ]),
  );
  for (const name of permissionNames) {
    const [method, path = ''] = permissions[name].call.split(' ');
    const real = `/v1.41${path.replace('{id}', 'a'.repeat(64)).replace('{name}', 'docker.io/library/nginx:1')}`;
    expect([real, flags.get(method)?.test(real)]).toEqual([real, true]);
  }
  expect(flags.get('GET')?.test('/version')).toBe(true);
  expect(flags.get('GET')?.test('/v1.51/containers/json')).toBe(true);
});

test('several calls are told as one clause, with each setting once', () => {
  const all: readonly PermissionName[] = ['rename', 'start', 'remove'];
  expect(describeForbidden(all)).toBe(
    'a proxy in front of the engine forbids POST /containers/{id}/rename, POST /containers/{id}/start and DELETE /containers/{id}',
  );
  expect(howToPermit(all)).toContain('CONTAINERS=1 POST=1 ALLOW_START=1 DELETE=1 in the proxy of Tecnativa');
  expect(preventing(all, { pulls: true })).toEqual(['rename', 'start']);
  expect(preventing(['pull'], { pulls: false })).toEqual([]);
  expect(describeWithout(['remove', 'start'])).toBe('Until then, each update leaves its old container behind, stopped');
});
