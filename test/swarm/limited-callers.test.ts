import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lab } from '../lab/lab.ts';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { followEvents } from '../support/http/event-reader.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { limitedTokens, readsOf } from '../support/http/limited-tokens.ts';
import { serveFleet } from '../support/scene/serve-fleet.ts';
import { deploy } from './rig/deployed.ts';

describeInSwarm('a token with a filter, with services', { managers: 1 }, (swarm) => {
  test('updates and rolls back its own service, and is told of no other', async () => {
    const own = await deploy(swarm(), 'web', catalogue.v1, { replicas: 1 });
    const other = await deploy(swarm(), 'zz-hidden', catalogue.v1, { replicas: 1 });
    const imageOf = async ({ id }: { readonly id: string }) =>
      (await swarm().service(id)).Spec.TaskTemplate.ContainerSpec.Image;
    const files = limitedTokens(lab?.dir ?? '', `image=${swarm().registry.host}/swarm/web`);
    const { url, lists } = await serveFleet(['--host', `unix://${swarm().node(1).engine.socket}`], {
      tokens: [files.api, files.events],
      args: ['--swarm', '--http-api-watchtower-compat', '--state-dir', join(lab?.dir ?? '', 'limited-swarm')],
    });
    await lists(2);
    const answers: string[] = [];
    const ci = async (target: string, method = 'GET') => {
      const reply = await ask(url, target, { method, token: files.operator });
      answers.push(`${method} ${target}: ${reply.text}`);
      return reply;
    };
    const events = await followEvents(url, {
      extra: true,
      headers: { authorization: `Bearer ${files.eventsOperator}` },
    });
    const next = await own.publish(catalogue.v2);
    const otherNext = await other.publish(catalogue.v2);

    const named = (containers: readonly { readonly name: string }[]) => containers.map(({ name }) => name);
    expect(named((await ci('/v1/check', 'POST')).json().containers)).toEqual(['web']);
    expect(named((await ci('/v1/update?dry_run=true', 'POST')).json().plan)).toEqual(['web']);
    const updated = (await ci('/v1/update', 'POST')).json();
    expect(updated.containers).toMatchObject([{ name: 'web', kind: 'service', outcome: 'updated' }]);
    expect(await imageOf(own)).toContain(next);
    expect(await imageOf(other)).toBe(other.image);

    const back = (await ci('/v1/rollback?container=web', 'POST')).json();
    expect(back.containers).toMatchObject([{ name: 'web', kind: 'service', outcome: 'went_back' }]);
    expect(await imageOf(own)).toContain(own.digest);
    // Others are as unknown as a name that nobody has.
    for (const target of ['/v1/rollback?container=', '/v1/update?container=', '/v1/check?container='])
      for (const name of ['zz-hidden', 'zz-nobody']) {
        const { status, text } = await ask(url, `${target}${name}`, { method: 'POST', token: files.operator });
        answers.push(text.replaceAll(name, 'NAME'));
        expect(status, target).toBe(target.includes('rollback') ? 404 : 200);
      }
    expect(await imageOf(other)).toBe(other.image);

    const all = await ask(url, '/v1/update?container=zz-hidden', { method: 'POST', token: apiToken });
    expect(all.json().containers).toMatchObject([{ name: 'zz-hidden', outcome: 'updated' }]);
    expect(await imageOf(other)).toContain(otherNext);
    await ci('/v1/update', 'POST');
    const document = (await ask(url, '/v1/openapi.json')).json();
    for (const target of readsOf(document, 'web')) await ci(target);
    await events.until((text) => text.split('event: scan_completed').length > 4);
    for (const text of [...answers, events.text()]) expect(text).not.toContain('hidden');
    expect((await ask(url, '/v1/history')).text).toContain('zz-hidden');
    events.end();
  });
});
