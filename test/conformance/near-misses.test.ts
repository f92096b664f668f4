import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/interfaces/http/service/route.ts';
import { type Reply, webhookSecret } from '../support/http/http-scene.ts';
import { startWholeService, type WholeService } from '../support/http/whole-service.ts';

/**
 * A container with an update that waits, one that can go back, a decision, a session and two tokens: everything that a
 * request could change.
 */
let scene: WholeService;
let folder: string;
let decision: string;
let session: string;
let containerId: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'upkeep-near-misses-'));
  const path = join(folder, 'tokens');
  writeFileSync(path, `owner: ${token}\nci: token-of-ci-for-tests viewer\n`);
  scene = await startWholeService({ settings: { token: { kind: 'file', path }, watchtowerCompat: true } });
  scene.publish('web:1', 'one');
  scene.publish('db:1', 'one');
  for (const name of ['web', 'db']) await scene.run(name, `${name}:1`);
  scene.publish('db:1', 'two');
  await ask('/v1/update', { method: 'POST' });
  const digest = scene.publish('web:1', 'two');
  await ask('/v1/check', { method: 'POST' });
  decision = (await post('/v1/decisions', { container: 'web', decision: 'skip', digest })).json().id;
  const headers = { origin: scene.url, 'x-upkeep-page': '1' };
  const body = JSON.stringify({ secret: token });
  session = (await scene.ask('/v1/session', { method: 'POST', token: null, headers, body })).json().id;
  containerId = (await ask('/v1/containers')).json().containers.find(({ name }: { name: string }) => name === 'web').id;
});
afterAll(async () => {
  await scene.stop();
  rmSync(folder, { recursive: true });
});

const token = 'owner-token-for-tests';
const ask = (target: string, options: object = {}) => scene.ask(target, { token, ...options });
const post = (target: string, body: object) => ask(target, { method: 'POST', body: JSON.stringify(body) });

/** Without the times, which checks change. */
async function everything(): Promise<unknown> {
  const [{ containers }, { entries }, { decisions }, { sessions }, { tokens }] = await Promise.all(
    ['/v1/containers', '/v1/history', '/v1/decisions', '/v1/sessions', '/v1/tokens'].map(async (path) =>
      (await ask(path)).json(),
    ),
  );
  const ids = (sessions as { id: string }[]).map(({ id }) => id);
  return { containers, runs: entries.length, decisions, ids, tokens };
}

/** Every route that changes something, with an address and a body that it would obey. */
const changing = (): readonly { readonly route: Route; readonly method: string; readonly target: string }[] =>
  scene.http.routes
    .filter(({ methods }) => methods.some((method) => method !== 'GET'))
    .flatMap((route) => targetsOf(route).map((target) => ({ route, method: route.methods[0] ?? '', target })));

const targetsOf = ({ path, methods }: Route): readonly string[] =>
  ({
    '/v1/rollback': ['/v1/rollback?container=db'],
    '/v1/decisions/*': [`/v1/decisions/${decision}`],
    '/v1/sessions/*': [`/v1/sessions/${session}`],
    '/v1/tokens/*': ['/v1/tokens/ci'],
    '/api/containers/*': ['/api/containers/watch', `/api/containers/${containerId}/triggers/upkeep/update`],
  })[path] ?? (methods.includes('POST') ? [path] : []);

function send({ route, method, target }: ReturnType<typeof changing>[number], query: string): Promise<Reply> {
  const glue = target.includes('?') ? '&' : '?';
  const body = route.body && JSON.stringify({ container: 'web', decision: 'approve', digest: 'sha256:1', secret: 'x' });
  const headers = { origin: scene.url, 'x-upkeep-page': '1' };
  const own = route.access === 'webhook secret' ? webhookSecret : token;
  return scene.ask(`${target}${glue}${query}`, { method, token: own, headers, ...(body && { body }) });
}

/** One mistake of a person or of another program in a name. */
const mistakes: readonly ((name: string) => string)[] = [
  (name) => name.toUpperCase(),
  (name) => `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
  (name) => `${name}[]`,
  (name) => `${name}[0]`,
  (name) => `filter.${name}`,
  (name) => `?${name}`,
  (name) => `${name}:`,
  (name) => ` ${name}`,
  (name) => `${name} `,
  (name) => `"${name}"`,
  (name) => `--${name.replaceAll('_', '-')}`,
  (name) => name.replaceAll(/_(.)/g, (_, next: string) => next.toUpperCase()),
  (name) => name.replaceAll('_', ''),
  (name) => (name.length > 4 ? `${name}s` : `${name}.`),
  (name) => (name.length > 6 ? name.slice(0, 3) + name.slice(4) : `${name}=`),
  (name) => (name.length > 6 ? name.slice(0, 2) + name.slice(3, 4) + name.slice(2, 3) + name.slice(4) : `_${name}`),
];

/** Names of other programs, which narrow a request or ask for no change. */
const foreign = {
  narrower: ['name', 'container_id', 'serviceName', 'image-name', 'repo', 'node', 'stack', 'label', 'only', 'exclude'],
  rehearsal: ['preview', 'simulate', 'what-if', 'noop', 'check_only', 'monitorOnly', 'test', 'plan'],
};

describe('a request that is not understood changes nothing, on every route that changes something', () => {
  test('a near miss of a name is refused with the right one', async () => {
    const before = await everything();
    const problems = new Set<string>();
    const cases = changing().flatMap((each) => {
      const fields = Object.keys(each.route.body?.properties ?? {});
      return [...Object.keys(each.route.query), ...fields].map((name) => ({
        each,
        name,
        inBody: fields.includes(name),
      }));
    });
    expect(new Set(cases.map(({ each }) => each.target)).size).toBeGreaterThan(4);
    for (const { each, name, inBody } of cases)
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...mistakes),
          fc.constantFrom('', '=', '=1', '=web'),
          async (mistake, value) => {
            const typed = mistake(name);
            if (Object.hasOwn(each.route.query, typed)) return;
            const reply = await send(each, `${encodeURIComponent(typed)}${value}`);
            const wanted = inBody ? `"${name}" belongs in the JSON body` : `did you mean "${name}"?`;
            if (reply.status !== 400 || !reply.json().error.includes(wanted))
              problems.add(`${each.method} ${each.target} ${typed}: ${reply.status} ${reply.text.slice(0, 200)}`);
          },
        ),
        { numRuns: 40 },
      );
    expect([...problems]).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test('a name that would narrow it, or rehearse it, is refused', async () => {
    const before = await everything();
    const problems: string[] = [];
    for (const each of changing())
      for (const [kind, names] of Object.entries(foreign))
        for (const name of names) {
          // A hook is a hint to check, whose sender may add what it likes; a check has nothing to rehearse.
          if (each.route.access === 'webhook secret' && kind === 'narrower') continue;
          if (each.target === '/v1/check' && kind === 'rehearsal') continue;
          const reply = await send(each, `${name}=true`);
          if (reply.status !== 400 || !/did you mean|JSON body|cannot be/.test(reply.json().error))
            problems.push(`${each.method} ${each.target} ${name}: ${reply.status} ${reply.text.slice(0, 200)}`);
        }
    expect(problems).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test('a near miss of a value is refused, with the name of its parameter', async () => {
    const before = await everything();
    const values: Readonly<Record<string, readonly string[]>> = {
      boolean: ['ture', 'on', '2', '-1', 'null', 'y', 'true,false', 'true;', '"true"', '%00', 'truefalse'],
      engine: ['nas', '', '%20', ',', '*', '.*'],
      data: ['', 'restored', 'keep', 'true', 'restore,leave', 'restore&data=leave'],
      kind: ['harbour', 'HARBOR', 'docker', 'true'],
    };
    const problems: string[] = [];
    for (const each of changing())
      for (const [name, { documentation }] of Object.entries(each.route.query)) {
        // The specification has its own values for these.
        if (each.target === '/v1/update' && name === 'async') continue;
        for (const value of values[name] ?? values[documentation.type] ?? []) {
          const reply = await send(each, `${name}=${value}`);
          if (reply.status !== 400 || !reply.json().error.includes(`"${name}"`))
            problems.push(
              `${each.method} ${each.target} ${name}=${value}: ${reply.status} ${reply.text.slice(0, 200)}`,
            );
        }
      }
    expect(problems).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test.each([
    ...['/v1/update;dry_run=true', '/v1/update&dry_run=true', '/v1/update,container=web', '/v1/update%3Fdry_run=true'],
    ...['/v1/update/web', '/v1/update/db/', '/v1/Update', '/V1/update', '/v1//update', '//v1/update', '/update'],
    ...['/v1/rollback/db', '/v1/rollback;container=db', '/v1/decisions%2Fx', '/v1/hooks/registry/harbor'],
  ])('there is nothing at %s', async (target) => {
    const before = await everything();
    expect((await ask(target, { method: 'POST', body: '{}' })).status).toBe(404);
    expect(await everything()).toEqual(before);
  });

  test.each(['{"container":"web"}', 'dry_run=true', '[]', '\u0000'])(
    'GET /v1/update of the first Watchtower with the body %j and a parameter of its own updates nothing',
    async (body) => {
      const before = await everything();
      for (const query of [
        'hostname=pmm-server&newImageName=percona/pmm-server:3',
        'Container=web',
        'dryRun=1',
        'img=web',
      ])
        expect((await ask(`/v1/update?${query}`, { body })).status).toBe(400);
      expect(await everything()).toEqual(before);
    },
  );
});
