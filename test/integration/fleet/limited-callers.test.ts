import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { LabEngine } from '../../lab/engine/engine.ts';
import type { EngineClient } from '../../lab/engine/engine-client.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { followEvents } from '../../support/http/event-reader.ts';
import { apiToken, ask, eventsToken } from '../../support/http/http-scene.ts';
import { limitedTokens, readsOf } from '../../support/http/limited-tokens.ts';
import { serveFleet } from '../../support/scene/serve-fleet.ts';

/** Everything of others has this in its name, its image, its labels and its output. */
const hidden = 'zz-hidden';

describeInLab('a token with a filter, with two engines', (lab) => {
  const { registry } = lab;
  let far: LabEngine;
  beforeAll(async () => {
    far = await lab.startEngine({ name: 'far' });
  });
  afterAll(() => far.remove());
  afterEach(async () => {
    await lab.engine.clear();
    await far.clear();
  });

  const publish = (repository: string, spec: (typeof catalogue)['plain-v1'], tag = '1') =>
    pushImage(registry, repository, tag, spec);

  async function run(engine: EngineClient, name: string, repository: string, labels: Readonly<Record<string, string>>) {
    const image = `${registry.host}/${repository}`;
    await engine.pull(image);
    const HostConfig = { RestartPolicy: { Name: 'always' } };
    await engine.run(name, image, { StopTimeout: 1, HostConfig, Labels: labels });
  }

  /** The same names on both engines, of which `app` is the caller's on one of them only. */
  async function runAll(): Promise<string> {
    const stacks = join(lab.dir, 'stacks-of-acme');
    mkdirSync(stacks, { recursive: true });
    const file = join(stacks, 'compose.yaml');
    const image = `${registry.host}/acme/app:\${TAG}`;
    writeFileSync(join(stacks, '.env'), 'TAG=1.0\n');
    writeFileSync(
      file,
      `name: shop\nservices:\n  app: {image: "${image}", container_name: app}\n  ${hidden}-side: {image: "${image}"}\n`,
    );
    const compose = {
      'com.docker.compose.project': 'shop',
      'com.docker.compose.service': 'app',
      'com.docker.compose.project.config_files': file,
      'com.docker.compose.project.working_dir': stacks,
    };
    const others = `${hidden}/db`;
    for (const repository of ['acme/app', 'acme/api', others, `${hidden}/bad`])
      await publish(repository, catalogue['plain-v1']);
    await publish('acme/app', catalogue['plain-v1'], '1.0');
    await run(lab.engine, `${hidden}-db`, `${others}:1`, { 'upkeep.depends-on': 'api' });
    await run(lab.engine, 'app', 'acme/app:1.0', {
      ...compose,
      'upkeep.policy': 'minor',
      'upkeep.depends-on': `${hidden}-db`,
    });
    await run(lab.engine, 'api', 'acme/api:1', { 'upkeep.approve': 'true' });
    await run(far, 'app', `${others}:1`, {});
    await run(far, 'worker', 'acme/app:1', {});
    await run(far, `${hidden}-bad`, `${hidden}/bad:1`, {});
    return stacks;
  }

  async function idsOf(engine: EngineClient, ...names: readonly string[]): Promise<readonly string[]> {
    return Promise.all(names.map(async (name) => (await engine.inspect(name))?.Id ?? 'none'));
  }

  test('updates, approves and rolls back its own, and is told of no other', async () => {
    const stacks = await runAll();
    const files = limitedTokens(lab.dir, `image=${registry.host}/acme/*`);
    const { url, lists, service } = await serveFleet(
      ['--host', `near=unix://${lab.engine.socket}`, '--host', `far=unix://${far.socket}`],
      {
        tokens: [files.api, files.events],
        args: [
          ...['--state-dir', join(lab.dir, 'limited-state'), '--http-api-watchtower-compat'],
          ...['--compose-files', 'check', '--compose-roots', stacks],
        ],
      },
    );
    await lists(6);
    const of =
      (token: string) =>
      async (target: string, method = 'GET', body?: object) => {
        const reply = await ask(url, target, { method, token, ...(body && { body: JSON.stringify(body) }) });
        if (token !== apiToken) answers.push(`${method} ${target}: ${reply.text}`);
        return reply;
      };
    const answers: string[] = [];
    const [ci, board, everyone] = [of(files.operator), of(files.viewer), of(apiToken)];
    const events = await followEvents(url, {
      extra: true,
      headers: { authorization: `Bearer ${files.eventsOperator}` },
    });
    const allEvents = await followEvents(url, { extra: true, headers: { authorization: `Bearer ${eventsToken}` } });

    for (const repository of ['acme/app', 'acme/api', `${hidden}/db`]) await publish(repository, catalogue['plain-v2']);
    await publish(`${hidden}/bad`, catalogue.crash);
    await publish('acme/app', catalogue['plain-v2'], '1.1');
    const others = async () => [
      ...(await idsOf(lab.engine, `${hidden}-db`)),
      ...(await idsOf(far, 'app', `${hidden}-bad`)),
    ];
    const before = await others();

    const checked = (await ci('/v1/check', 'POST')).json().containers;
    expect(namesIn(checked)).toEqual(['far/worker', 'near/api', 'near/app']);
    expect(checked.find(({ name }: { name: string }) => name === 'app').compose).toMatchObject({ reason: 'shared' });
    const plan = (await ci('/v1/update?dry_run=true', 'POST')).json();
    expect(namesIn(plan.plan)).toEqual(['far/worker', 'near/api', 'near/app']);

    // Two with the same dependency move, `api` waits for a decision, and what belongs to others stays.
    const updated = (await ci('/v1/update', 'POST')).json();
    expect(outcomesIn(updated.containers)).toEqual(['far/worker updated', 'near/api skipped', 'near/app updated']);
    expect(await others()).toEqual(before);

    // The names of others are as unknown as names that nobody has.
    const { json } = await everyone('/v1/containers/details');
    const digestOf = (name: string) =>
      json().containers.find((one: { name: string; latest_digest?: string }) => one.name === name)?.latest_digest;
    const asked: readonly (readonly [string, string, object?])[] = [
      ['POST', '/v1/rollback?container=NAME'],
      ['POST', '/v1/rollback?container=NAME&engine=far'],
      ['POST', '/v1/update?container=NAME'],
      ['POST', '/v1/check?container=NAME'],
      ['GET', '/v1/notes?container=NAME'],
      ['GET', '/v1/decisions?container=NAME'],
      ['POST', '/v1/decisions', { container: 'NAME', decision: 'approve', digest: digestOf(`${hidden}-db`) }],
      ['POST', '/v1/decisions', { container: 'NAME', engine: 'far', decision: 'skip' }],
    ];
    for (const [method, target, body] of asked) {
      const sent = async (name: string) => {
        const text = JSON.stringify(body ?? {}).replaceAll('NAME', name);
        const reply = await ask(url, target.replace('NAME', name), {
          method,
          token: files.operator,
          ...(body && { body: text }),
        });
        return [reply.status, unstamped(reply.text.replaceAll(name, 'NAME'))];
      };
      expect.soft(await sent(`${hidden}-db`), target).toEqual(await sent('zz-nobody-x'));
    }
    expect((await ci('/v1/rollback?container=app&engine=far', 'POST')).status).not.toBe(200);
    expect((await board('/v1/update', 'POST')).status).toBe(403);
    expect((await board('/v1/rollback?container=app', 'POST')).status).toBe(403);
    expect(await others()).toEqual(before);

    // A decision, and the update that it permits.
    const approval = { container: 'api', decision: 'approve', digest: digestOf('api') };
    expect((await board('/v1/decisions', 'POST', approval)).status).toBe(403);
    expect((await ci('/v1/decisions', 'POST', approval)).status).toBe(201);
    expect(outcomesIn((await ci('/v1/update', 'POST')).json().containers)).toContain('near/api updated');

    // A run of everybody's, with a failure whose log has the name of others.
    const all = (await everyone('/v1/update', 'POST')).json();
    expect(outcomesIn(all.containers)).toContain(`far/${hidden}-bad rolled_back`);
    expect(outcomesIn(all.containers)).toContain('far/app updated');
    const [ownApp] = await idsOf(lab.engine, 'app');
    const back = (await ci('/v1/rollback?container=app', 'POST')).json();
    expect(outcomesIn(back.containers)).toEqual(['near/app went_back']);
    expect(await idsOf(lab.engine, 'app')).not.toEqual([ownApp]);

    await allEvents.until((text) => text.split('event: scan_completed').length > 5);
    await events.until((text) => text.includes('"went_back"') || text.split('event: scan_completed').length > 5);
    const document = (await everyone('/v1/openapi.json')).json();
    for (const target of readsOf(document, 'app')) {
      await ci(target);
      await board(target);
    }
    const reads = answers.filter((text) => text.startsWith('GET'));
    expect(reads.length).toBeGreaterThan(20);
    for (const text of answers) expect(text).not.toContain(hidden);
    // What the filter hides is in those of everybody.
    for (const target of ['/v1/containers/details', '/v1/history', '/v1/metrics', '/v1/images', '/api/containers'])
      expect((await everyone(target)).text, target).toContain(hidden);
    const mine = (await ci('/v1/containers')).json().containers;
    expect(namesIn(mine)).toEqual(['far/worker', 'near/api', 'near/app']);
    expect((await ci('/v1/metrics')).text).toContain('container="worker"');
    expect(allEvents.text()).toContain(hidden);
    expect(events.text()).not.toContain(hidden);
    expect(events.text()).toContain('"by":"token ci"');
    for (const reader of [events, allEvents]) reader.end();
    expect(service.output()).not.toContain(files.operator);
  });
});

const namesIn = (containers: readonly { readonly engine: string; readonly name: string }[]) =>
  containers.map(({ engine, name }) => `${engine}/${name}`).toSorted();

const outcomesIn = (
  containers: readonly { readonly engine: string; readonly name: string; readonly outcome: string }[],
) => containers.map(({ engine, name, outcome }) => `${engine}/${name} ${outcome}`).toSorted();

/** Without times and ids, which differ in each answer. */
function unstamped(text: string): string {
  return text.replaceAll(/"[^"]*(?:timestamp|_id|_at|duration(?:_ms)?)":\s*(?:"[^"]*"|[\d.]+)/g, '');
}
