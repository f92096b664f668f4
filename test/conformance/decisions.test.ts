import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { startWholeService, type WholeService } from '../support/http/whole-service.ts';
import { describedAsk } from './described/described.ts';

let service: WholeService;
let ask: HttpScene['ask'];
beforeEach(async () => {
  service = await startWholeService({ service: { approve: { from: 'digest', breaking: false, unread: false } } });
  ask = await describedAsk(service);
  service.publish('web:1', 'one');
  await service.run('web', 'web:1');
  await vi.waitFor(() => expect(service.application.inventory().containers).toHaveLength(1), { timeout: 10_000 });
});
afterEach(() => service.stop());

const post = (body: unknown) =>
  ask('/v1/decisions', { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
const remove = (id: string) => ask(`/v1/decisions/${id}`, { method: 'DELETE' });
const list = async () => (await ask('/v1/decisions')).json();
const details = async () => (await ask('/v1/containers/details')).json().containers[0];

/** Publishes a release, and lets the service see it. */
async function release(version: string): Promise<string> {
  const digest = service.publish('web:1', version);
  await ask('/v1/check', { method: 'POST' });
  return digest;
}

describe('decisions', () => {
  test('are taken, listed and taken back, and the containers show them at once', async () => {
    expect(await list()).toMatchObject({ decisions: [], count: 0 });
    const digest = await release('two');
    expect(await details()).toMatchObject({ verdict: 'held', hold: 'approval', latest_digest: digest });
    const reply = await post({ container: '/web', decision: 'approve', digest });
    expect(reply.status).toBe(201);
    const decision = { container: 'web', decision: 'approve', digest, tag: '1', by: 'API token' };
    expect(reply.json()).toMatchObject({ ...decision, kept: false });
    expect(await list()).toMatchObject({ decisions: [decision], count: 1 });
    expect(await details()).toMatchObject({ verdict: 'stale', stale: true });
    expect((await remove(reply.json().id)).json()).toMatchObject(decision);
    expect(await details()).toMatchObject({ verdict: 'held', hold: 'approval' });
    expect((await remove(reply.json().id)).status).toBe(404);
    expect((await list()).count).toBe(0);
  });

  test('say the name of the token that they came with', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'upkeep-names-')), 'tokens');
    onTestFinished(() => rmSync(dirname(path), { recursive: true }));
    const digest = await release('two');
    for (const [content, token, by] of [
      ['anna: token-of-anna\nbert: token-of-bert\n', 'token-of-anna', 'anna'],
      ['token-of-nobody\n', 'token-of-nobody', 'API token'],
    ] as const) {
      writeFileSync(path, content);
      const { ask: askByName, stop } = await startHttp(service.application, {
        settings: { token: { kind: 'file', path } },
      });
      onTestFinished(stop);
      const body = JSON.stringify({ container: 'web', decision: 'skip', digest });
      await askByName('/v1/decisions', { method: 'POST', body, token });
      expect(await list()).toMatchObject({ decisions: [{ decision: 'skip', by }] });
      expect((await details()).reason).toMatch(`Skipped by "${by}"`);
    }
  });

  test('let an approved version be applied, and no other', async () => {
    const digest = await release('two');
    const update = async () => (await ask('/v1/update', { method: 'POST' })).json().summary.updated;
    expect(await update()).toBe(0);
    await post({ container: 'web', decision: 'approve', digest });
    service.publish('web:1', 'three');
    expect(await update()).toBe(0);
    const next = (await details()).latest_digest;
    expect(next).not.toBe(digest);
    await post({ container: 'web', decision: 'approve', digest: next });
    expect(await update()).toBe(1);
  });

  test('about a version that is not the newest any more are refused with 409, which names the other', async () => {
    const seen = await release('two');
    const now = await release('three');
    const reply = await post({ container: 'web', decision: 'approve', digest: seen });
    expect(reply.status).toBe(409);
    expect(reply.json().error).toContain(now);
    expect((await list()).count).toBe(0);
  });

  test('of two people at once leave one: the later one', async () => {
    const digest = await release('two');
    const replies = await Promise.all([
      post({ container: 'web', decision: 'approve', digest }),
      post({ container: 'web', decision: 'skip', digest }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([201, 201]);
    const { decisions } = await list();
    expect(decisions).toHaveLength(1);
    const [first] = decisions as { id: string; decision: string }[];
    expect((await details()).hold).toBe(first?.decision === 'skip' ? 'skipped' : undefined);
    const earlier = replies.map((reply) => reply.json().id).find((id) => id !== first?.id);
    expect((await remove(earlier)).status, 'the earlier one is not there to be taken back').toBe(404);
  });

  test('hold a version back until a time, which is listed', async () => {
    const digest = await release('two');
    const until = new Date(Date.now() + 3_600_000).toISOString();
    expect((await post({ container: 'web', decision: 'snooze', digest, until })).json()).toMatchObject({ until });
    expect(await details()).toMatchObject({ verdict: 'held', hold: 'snoozed', eligible_at: until });
  });

  test.each([
    ['no JSON', '{', 'expected a JSON object'],
    ['a list', '[]', 'expected a JSON object'],
    ['nothing', '', 'expected a JSON object'],
    ['no container', { decision: 'skip', digest: 'x' }, '"container"'],
    ['another decision', { container: 'web', decision: 'update', digest: 'x' }, '"decision"'],
    ['no digest', { container: 'web', decision: 'skip' }, '"digest"'],
    ['a strange digest', { container: 'web', decision: 'skip', digest: 'sha256:1' }, 'is not a digest'],
    ['a strange time', { container: 'web', decision: 'skip', digest: 'x', until: 'tomorrow' }, '"until"'],
    ['a very long name', { container: 'w'.repeat(301), decision: 'skip', digest: 'x' }, '"container"'],
  ])('are refused with 400 for %s', async (_, body, said) => {
    const reply = await post(body);
    expect(reply.status).toBe(400);
    expect(reply.json().error).toContain(said);
  });

  test.each([
    ['engines', { engines: ['nas'] }],
    ['Until', { Until: '2100-01-01T00:00:00Z' }],
    ['dry_run', { dry_run: true }],
    ['expires', { expires: '2100-01-01T00:00:00Z' }],
  ])('are refused for the unknown field %s, which may be meant to limit them', async (name, more) => {
    const digest = await release('two');
    const reply = await post({ container: 'web', decision: 'approve', digest, ...more });
    expect([reply.status, reply.json().error]).toEqual([
      400,
      `invalid field "${name}" of the request body: it is unknown; the fields are container, decision, digest, until, engine`,
    ]);
    expect((await list()).count).toBe(0);
  });

  test.each(['engine=nas', 'node=nas', 'until=2100-01-01T00:00:00Z', 'container=db', 'dry_run=true', 'digest=x'])(
    'are refused with the parameter %s in the URL, because it is not used there',
    async (query) => {
      const digest = await release('two');
      const body = JSON.stringify({ container: 'web', decision: 'approve', digest });
      expect((await ask(`/v1/decisions?${query}`, { method: 'POST', body })).status).toBe(400);
      expect((await list()).count).toBe(0);
    },
  );

  test('name no engine where there is one only, which is told with what to do', async () => {
    const digest = await release('two');
    const reply = await post({ container: 'web', decision: 'approve', digest, engine: 'nas' });
    const why = 'this service works on one engine alone; leave it out';
    expect([reply.status, reply.json().error]).toEqual([400, `invalid field "engine" of the request body: ${why}`]);
    const listed = await ask('/v1/notes?container=web&engine=nas');
    expect([listed.status, listed.json().error]).toEqual([400, `invalid query parameter "engine": ${why}`]);
  });

  test('need an end to be snoozed, one that is to come', async () => {
    const digest = await release('two');
    expect((await post({ container: 'web', decision: 'snooze', digest })).status).toBe(400);
    const over = await post({ container: 'web', decision: 'snooze', digest, until: '2020-01-01T00:00:00Z' });
    expect(over.status).toBe(400);
  });

  test('are refused for a container that is not watched, for a large body and without the token', async () => {
    const digest = await release('two');
    expect((await post({ container: 'db', decision: 'skip', digest })).status).toBe(404);
    expect((await post(`{"container":"${'x'.repeat(20_000)}"}`)).status).toBe(413);
    const none = { token: null, method: 'POST', body: '{}' };
    expect((await ask('/v1/decisions', none)).status).toBe(401);
    expect((await ask('/v1/decisions', { method: 'PUT' })).status).toBe(405);
  });

  test('are not there unless their group is on', async () => {
    const other = await startWholeService({ settings: { groups: ['update', 'containers', 'check'] } });
    expect((await other.ask('/v1/decisions')).status).toBe(404);
    await other.stop();
  });
});

describe('an update by name', () => {
  test('ignores windows with now=true, which needs a name', async () => {
    const closed = await startWholeService({
      service: { window: { kind: 'unreadable', text: 'never', fault: 'it is no window' } },
    });
    closed.publish('web:1', 'one');
    await closed.run('web', 'web:1');
    closed.publish('web:1', 'two');
    const update = async (query: string) => closed.ask(`/v1/update${query}`, { method: 'POST' });
    expect((await update('?container=web')).json().summary.updated).toBe(0);
    expect((await update('?now=true')).status).toBe(400);
    expect((await update('?container=web&now=true')).json().summary.updated).toBe(1);
    await closed.stop();
  });
});
