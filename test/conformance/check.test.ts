import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { digestOf } from '../support/scene/builders.ts';
import { checkedContainer as checked } from '../support/scene/fake-application.ts';
import { type DescribedScene, expectErrorBody, startDescribed } from './described/described.ts';

let scene: DescribedScene;
beforeEach(async () => {
  scene = await startDescribed();
});
afterEach(() => scene.stop());

const check = (query = '', options = {}) => scene.ask(`/v1/check${query}`, { method: 'POST', ...options });

describe('POST /v1/check', () => {
  test('lists what was found, in listing order', async () => {
    scene.service.script.checked = [
      checked('web', {
        status: 'stale',
        updateAvailable: true,
        latestDigest: digestOf('newer'),
        reason: 'A newer image is available',
      }),
      checked('api', { latestDigest: digestOf('manifest api'), latestImageId: digestOf('image api') }),
      checked('local', { status: 'local', digest: undefined }),
      checked('held', { status: 'held', updateAvailable: true }),
    ];
    const reply = await check();
    expect(reply.status).toBe(200);
    const { containers, count } = reply.json();
    expect(count).toBe(4);
    expect(containers.map((each: { name: string }) => each.name)).toEqual(['web', 'api', 'local', 'held']);
    expect(containers[0]).toEqual({
      name: 'web',
      image: 'web:1',
      image_id: digestOf('image web'),
      digest: digestOf('manifest web'),
      update_available: true,
      latest_image_id: '',
      latest_digest: digestOf('newer'),
      status: 'stale',
      reason: 'A newer image is available',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(containers[1]).toMatchObject({
      update_available: false,
      latest_image_id: digestOf('image api'),
      latest_digest: digestOf('manifest api'),
    });
    expect(containers[2]).toMatchObject({ digest: '', status: 'local' });
    expect(containers[3]).toMatchObject({ update_available: true, status: 'held' });
  });

  test('says nothing of an error where there is none', async () => {
    scene.service.script.checked = [checked('web')];
    expect((await check()).json().containers[0]).not.toHaveProperty('error');
  });

  test('a container that could not be checked says so in its own entry', async () => {
    scene.service.script.checked = [
      checked('web', {
        status: 'unknown',
        error: 'Cannot reach registry',
        updateAvailable: true,
        latestDigest: digestOf('x'),
        latestImageId: digestOf('x'),
      }),
    ];
    const reply = await check();
    expect(reply.status).toBe(200);
    expect(reply.json().containers[0]).toMatchObject({
      error: 'Cannot reach registry',
      update_available: false,
      latest_image_id: '',
      latest_digest: '',
      status: 'unknown',
    });
  });

  test('of nothing is an empty list', async () => {
    expect((await check('?container=nope')).json()).toMatchObject({ containers: [], count: 0 });
  });

  test('when the time is up, answers 200 with what there is', async () => {
    scene.service.script.checkEnds = new Promise(() => undefined);
    scene.service.script.checked = [checked('web', { status: 'unknown', error: 'check timed out' })];
    const reply = await check('?timeout=80ms');
    expect(reply.status).toBe(200);
    expect(reply.json().containers[0].error).toBe('check timed out');
  });

  test('when not even the list came in time, answers 408', async () => {
    scene.service.script.checkEnds = new Promise(() => undefined);
    scene.service.script.failure = new ServiceError('timeout', 'Cannot check containers: it did not end in time');
    const reply = await check('?timeout=80ms');
    expect(reply.status).toBe(408);
    expectErrorBody(reply);
    expect(reply.json().error).toMatch(/^the check timed out; "timeout" gives it longer, at most --http-api-check-/);
  });

  test('its timeout is capped by the option, and nonsense means the option', async () => {
    const { ask, stop, service } = await startDescribed({ settings: { checkTimeoutMs: 60 } });
    service.script.checkEnds = new Promise(() => undefined);
    for (const query of ['', '?timeout=1h', '?timeout=x', '?timeout=0', '?timeout=+1ms', '?timeout=1ms%20'])
      expect((await ask(`/v1/check${query}`, { method: 'POST' })).status).toBe(200);
    await stop();
  });

  test.each(['check', 'update'])('%s takes a hundred names or images, and no more', async (endpoint) => {
    const names = Array.from({ length: 101 }, (_, index) => `my.container-${index}`);
    const post = (query: string) => scene.ask(`/v1/${endpoint}?${query}`, { method: 'POST' });
    for (const kind of ['container', 'image']) {
      expect((await post(`${kind}=${names.slice(0, 100).join(',')}`)).status).toBe(200);
      const refused = await post(`${kind}=${names.slice(0, 50).join(',')}&${kind}=${names.slice(50).join(',')}`);
      expectErrorBody(refused);
      expect([refused.status, refused.json().error]).toEqual([400, expect.stringContaining(`"${kind}"`)]);
    }
  });

  test.each([
    ['one that is huge', ['\\PL{900}']],
    ['groups of groups', ['(?:(?:(?:a?b?){9}){9}){9}']],
    ['a long one', [`web|${'x'.repeat(1000)}`]],
    ['many that are not small', Array.from({ length: 100 }, () => '[a-z]{40}')],
    ['classes that fold', Array.from({ length: 100 }, () => '(?i)\\pL+\\pN+')],
  ])('patterns that are too much together are refused at once: %s', async (_, patterns) => {
    const query = patterns.map((pattern) => `container=${encodeURIComponent(pattern)}`).join('&');
    for (const endpoint of ['check', 'update']) {
      const reply = await scene.ask(`/v1/${endpoint}?${query}`, { method: 'POST' });
      expect(reply.status).toBe(400);
      expectErrorBody(reply);
    }
    expect(scene.service.asked).toEqual([]);
  });

  test('is not answered with GET', async () => {
    expect((await scene.ask('/v1/check')).status).toBe(405);
  });

  test('ends when its client goes', async () => {
    scene.service.script.checkEnds = new Promise(() => undefined);
    const controller = new AbortController();
    const asked = check('', { signal: controller.signal });
    await expect.poll(() => scene.service.asked.map(({ kind }) => kind)).toContain('check');
    controller.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => scene.lines.some(({ fields }) => fields['path'] === '/v1/check')).toBe(true);
  });
});
