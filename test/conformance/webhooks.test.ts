import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '../support/clock/fake-clock.ts';
import { apiToken, eventsToken, startHttp, webhookSecret } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';
import { type WebhookSample, webhookSamples } from '../support/http/webhook-samples.ts';
import { checkedContainer } from '../support/scene/fake-application.ts';
import { aTrackedContainer } from '../support/scene/tracked-container.ts';
import { type DescribedScene, startDescribed } from './described/described.ts';

let scene: DescribedScene;
let clock: FakeClock;
afterEach(() => scene.stop());

async function start(images: Readonly<Record<string, string>>, settings: object = {}): Promise<void> {
  clock = createFakeClock();
  const service = createScriptedService();
  const containers = Object.entries(images).map(([name, image]) => aTrackedContainer({ name, image, id: name }));
  service.script.inventory = { revision: 1, containers, images: [] };
  scene = await startDescribed({ clock, settings }, service);
}

/** Delivers a webhook as its registry does. */
function deliver({ headers, payload, proof }: WebhookSample, secret = webhookSecret, query = '') {
  const body = JSON.stringify(payload);
  const shown =
    proof === 'url'
      ? {}
      : proof === 'authorization'
        ? { authorization: secret }
        : { [proof.header]: proof.of(body, secret) };
  const target = `/v1/hooks/registry${proof === 'url' ? `?token=${secret}` : ''}${query}`;
  return scene.ask(target, {
    method: 'POST',
    token: null,
    headers: { 'content-type': 'application/json', ...headers, ...shown },
    body,
  });
}

const checks = () => scene.service.asked.filter(({ kind }) => kind === 'check').map(({ images }) => images);
const [hub = webhookSamples[0]!] = webhookSamples;

describe.each(webhookSamples)('a webhook of $from', (sample) => {
  test('is a hint to check the containers of its repository, and no others', async () => {
    await start({ shop: sample.image, stranger: sample.stranger, odd: 'sha256:nothing' });
    const reply = await deliver(sample);
    expect([reply.status, reply.json()]).toMatchObject([202, { matched: ['shop'], status: 'accepted' }]);
    expect(checks()).toEqual([]);
    await clock.advance(10_000);
    expect(checks()).toEqual([[expect.stringContaining('/')]]);
    expect(sample.image).toContain(String(checks()[0]?.[0]).replace('docker.io/', ''));
    expect(JSON.stringify(scene.lines)).not.toContain(webhookSecret);
  });

  test('is read in the same way with its kind', async () => {
    await start({ shop: sample.image });
    const reply = await deliver({ ...sample, proof: 'url' }, webhookSecret, `&kind=${sample.kind}`);
    expect(reply.json()).toMatchObject({ matched: ['shop'] });
  });

  test('with a wrong secret, or with its proof of another body, is refused', async () => {
    await start({ shop: sample.image });
    expect((await deliver(sample, `${webhookSecret}x`)).status).toBe(401);
    const { proof } = sample;
    const forged = typeof proof === 'object' ? proof.of('{"another":"body"}', webhookSecret) : 'sha256=00';
    const header = typeof proof === 'object' ? proof.header : 'x-hub-signature-256';
    // A registry that sends the secret itself proves nothing about the body.
    if (forged === webhookSecret) return;
    const body = JSON.stringify(sample.payload);
    const headers = { ...sample.headers, [header]: forged };
    expect((await scene.ask('/v1/hooks/registry', { method: 'POST', token: null, headers, body })).status).toBe(401);
    await clock.advance(120_000);
    expect(checks()).toEqual([]);
  });

  test('replayed many times costs a check a minute', async () => {
    await start({ shop: sample.image });
    for (let time = 0; time < 10; time += 1) expect((await deliver(sample)).status).toBe(202);
    await clock.advance(10_000);
    expect(checks()).toHaveLength(1);
    for (let time = 0; time < 10; time += 1) await deliver(sample);
    await clock.advance(30_000);
    expect(checks()).toHaveLength(1);
    await clock.advance(30_000);
    expect(checks()).toHaveLength(2);
    await clock.advance(600_000);
    expect(checks()).toHaveLength(2);
  });

  test('of more than 256 KiB is refused', async () => {
    await start({ shop: sample.image });
    const huge = Array.isArray(sample.payload)
      ? [...(sample.payload as object[]), { more: 'x'.repeat(262_144) }]
      : { ...sample.payload, more: 'x'.repeat(262_144) };
    expect((await deliver({ ...sample, payload: huge })).status).toBe(413);
    await clock.advance(60_000);
    expect(checks()).toEqual([]);
  });
});

describe('the proof of a webhook', () => {
  test.each([
    ['the API token', apiToken],
    ['the events token', eventsToken],
    ['nothing', ''],
  ])('is not %s', async (_, token) => {
    await start({ shop: hub.image });
    expect((await deliver(hub, token)).status).toBe(401);
    expect((await deliver({ ...hub, proof: 'authorization' }, token)).status).toBe(401);
  });

  test('opens nothing else', async () => {
    await start({ shop: hub.image });
    for (const path of ['/v1/containers', `/v1/containers?token=${webhookSecret}`, '/v1/events'])
      expect((await scene.ask(path, { token: webhookSecret })).status).toBe(401);
  });

  test.each(['Bearer SECRET', 'SECRET', `Basic ${Buffer.from(`x:${webhookSecret}`).toString('base64')}`])(
    'may be Authorization: %s',
    async (form) => {
      await start({ shop: hub.image });
      const authorization = form.replace('SECRET', webhookSecret);
      const body = JSON.stringify(hub.payload);
      const asked = { method: 'POST', token: null, headers: { authorization }, body };
      expect((await scene.ask('/v1/hooks/registry', asked)).status).toBe(202);
    },
  );

  test('is the same for a body that is sent as a form', async () => {
    const [, , sample = hub] = webhookSamples;
    await start({ shop: sample.image });
    const body = new URLSearchParams({ payload: JSON.stringify(sample.payload) }).toString();
    const headers = {
      ...sample.headers,
      'content-type': 'application/x-www-form-urlencoded',
      'x-hub-signature-256': `sha256=${createHmac('sha256', webhookSecret).update(body).digest('hex')}`,
    };
    const reply = await scene.ask('/v1/hooks/registry', { method: 'POST', token: null, headers, body });
    expect(reply.json()).toMatchObject({ matched: ['shop'] });
  });
});

describe('a webhook', () => {
  test.each([
    ['that is no JSON', 'nonsense'],
    ['that is empty', ''],
    ['of a list', '[1,null,"x"]'],
    ['of an unknown form', '{"hello":"world"}'],
    ['of hostile names', '{"push_data":{},"repository":{"repo_name":"../../etc/passwd"}}'],
    ['of names that are no text', '{"push_data":{},"repository":{"repo_name":{"a":[]}}}'],
    ['of an image that no container runs', '{"push_data":{"tag":"1"},"repository":{"repo_name":"acme/other"}}'],
    ['of a delete', '{"action":"delete","target":{"repository":"acme/shop"},"request":{"host":"docker.io"}}'],
  ])('%s is taken, so that it is not sent again, and causes nothing', async (_, body) => {
    await start({ shop: 'acme/shop:1.4' });
    const reply = await scene.ask(`/v1/hooks/registry?token=${webhookSecret}`, { method: 'POST', token: null, body });
    expect([reply.status, reply.json()]).toMatchObject([202, { matched: [], status: 'ignored' }]);
    await clock.advance(60_000);
    expect(checks()).toEqual([]);
  });

  test('of an unknown kind is refused, and the error has the known ones', async () => {
    await start({ shop: hub.image });
    const reply = await deliver(hub, webhookSecret, '&kind=hub');
    expect([reply.status, reply.json().error]).toEqual([400, expect.stringContaining('docker-hub')]);
  });

  test('of several repositories causes one check of at most twenty', async () => {
    const images = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`c${index}`, `hub.acme.test/shop${index}:1`]),
    );
    await start(images);
    const events = Object.values(images).map((image) => ({
      action: 'push',
      target: { repository: image.replace(/^[^/]+\/|:1$/g, '') },
      request: { host: 'hub.acme.test' },
    }));
    await deliver({ ...hub, payload: { events } });
    await clock.advance(10_000);
    expect(checks().map((each) => each.length)).toEqual([20]);
  });

  test('is answered with the code that Event Grid asks for', async () => {
    await start({});
    const payload = [
      {
        id: '2d1781af-3a4c-4d7c-bd0c-e34b19da4e66',
        data: { validationCode: '512d38b6-c7b8-40c8-89fe-f46f9e9622b6', validationUrl: 'https://evil.test' },
        eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
      },
    ];
    const reply = await deliver({ ...hub, headers: { 'aeg-event-type': 'SubscriptionValidation' }, payload });
    expect([reply.status, reply.json()]).toEqual([200, { validationResponse: '512d38b6-c7b8-40c8-89fe-f46f9e9622b6' }]);
  });

  test('causes no update, unless --http-api-webhook-update asks for one of what is stale', async () => {
    for (const webhookUpdate of [false, true]) {
      await start({ shop: hub.image }, { webhookUpdate });
      scene.service.script.checked = [checkedContainer('shop', { status: 'stale' })];
      await deliver(hub);
      await clock.advance(10_000);
      const updates = scene.service.asked.filter(({ kind }) => kind === 'update');
      expect(updates).toEqual(
        webhookUpdate ? [{ kind: 'update', images: ['docker.io/acme/shop'], containers: [] }] : [],
      );
      scene.service.script.checked = [checkedContainer('shop', { status: 'held' })];
      await deliver(hub);
      await clock.advance(60_000);
      expect(scene.service.asked.filter(({ kind }) => kind === 'update')).toHaveLength(updates.length);
      expect(checks()).toHaveLength(2);
      if (!webhookUpdate) await scene.stop();
    }
  });

  test('whose check fails leaves a line, and the next one is checked', async () => {
    await start({ shop: hub.image });
    scene.service.script.failure = new Error('the engine is away');
    await deliver(hub);
    await clock.advance(10_000);
    scene.service.script.failure = undefined;
    await deliver(hub);
    await clock.advance(60_000);
    expect(checks()).toHaveLength(2);
    expect(scene.lines.some(({ level, message }) => level === 'warn' && message.includes('webhook'))).toBe(true);
  });

  test('does not keep the service from stopping', async () => {
    await start({ shop: hub.image });
    await deliver(hub);
    await scene.stop();
    await clock.advance(60_000);
    expect(checks()).toEqual([]);
  });
});

test('without a secret there is no such path', async () => {
  await start({});
  const bare = await startHttp(createScriptedService(), { settings: { webhookSecret: undefined } });
  expect((await bare.ask('/v1/hooks/registry', { method: 'POST', body: '{}' })).status).toBe(404);
  await bare.stop();
});
