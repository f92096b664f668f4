import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPage } from '../support/pages/built-page.ts';
import { type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';

const { folder, remove } = buildPage();
let scene: HttpScene;
beforeAll(async () => {
  scene = await startHttp(createScriptedService(), { dashboardFolder: folder });
});
afterAll(async () => {
  await scene.stop();
  remove();
});

describe('the dashboard', () => {
  test.each([
    ['/', 'text/html; charset=utf-8'],
    ['/dashboard/page.js', 'text/javascript; charset=utf-8'],
    ['/dashboard/worker.js', 'text/javascript; charset=utf-8'],
    ['/dashboard/page.css', 'text/css; charset=utf-8'],
    ['/dashboard/icon.svg', 'image/svg+xml'],
  ])('%s is served without a token, as %s', async (path, type) => {
    const { status, headers, text } = await scene.ask(path, { token: null });
    expect([status, headers['content-type'], text.length > 100]).toEqual([200, type, true]);
  });

  test('its policy lets nothing in from elsewhere, and no markup be made of strings', async () => {
    const { headers } = await scene.ask('/');
    const policy = String(headers['content-security-policy']).replace(/ 'sha256-[\w+/]{43}='/, '');
    expect(policy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
  });

  test.each(['identity', 'gzip'])('a file that the browser has is not sent again (%s)', async (accepted) => {
    const { headers } = await scene.ask('/dashboard/page.js', { headers: { 'accept-encoding': accepted } });
    expect(String(headers.etag).startsWith('W/')).toBe(accepted === 'gzip');
    const again = await scene.ask('/dashboard/page.js', { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
    for (const tags of [`"other", ${headers.etag}`, '*']) {
      const { status } = await scene.ask('/dashboard/page.js', { headers: { 'if-none-match': tags } });
      expect(status).toBe(304);
    }
  });

  test.each([
    '/dashboard/',
    '/dashboard/index.html',
    '/dashboard/__proto__',
    '/dashboard/../package.json',
    '/dashboard/%2e%2e%2fpackage.json',
    '/dashboard/main.ts',
  ])('%s is unknown', async (path) => {
    expect((await scene.ask(path)).status).toBe(404);
  });

  test('the document names the groups that are on, so that the page asks for no other', async () => {
    const few = await startHttp(createScriptedService(), {
      dashboardFolder: folder,
      settings: { groups: ['containers', 'dashboard'] },
    });
    expect((await few.ask('/')).text).toContain('name="upkeep-groups" content="containers dashboard"');
    await few.stop();
  });

  test('without its group, / is unknown: no other group brings it', async () => {
    const others = await startHttp(createScriptedService(), {
      dashboardFolder: folder,
      settings: { groups: ['health', 'update', 'metrics', 'containers', 'swagger'] },
    });
    expect((await others.ask('/')).status).toBe(404);
    expect((await others.ask('/dashboard/page.js')).status).toBe(404);
    await others.stop();
  });
});
