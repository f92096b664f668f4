import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { apiToken } from '../support/http/http-scene.ts';
import { describeInBrowser, watchPage } from './browser.ts';
import { home, startHome } from './home.ts';
import { openPage, row, signIn, type Stage, startStage, withoutSharedWorker } from './stage.ts';

const few = home.filter(({ name }) => ['traefik', 'vaultwarden', 'loki'].includes(name));

describeInBrowser('signing in to the page', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(few);
    await stage.service.ask('/v1/check', { method: 'POST' });
  });
  afterAll(() => stage.close());

  afterEach(() => stage.context.clearCookies());

  test('needs a token: a wrong one is refused in words, the right one shows the containers', async () => {
    const page = await stage.context.newPage();
    const { hosts, complaints } = watchPage(page);
    await page.goto(stage.service.url);
    await page.locator('#token').waitFor();
    expect(await page.evaluate('document.getElementById("main").inert')).toBe(true);
    expect(complaints).toEqual([]);
    await signIn(page, 'wrong');
    await page.getByText('That token was not accepted.').waitFor();
    expect(await page.locator('#token').getAttribute('aria-invalid')).toBe('true');
    await signIn(page, apiToken);
    await row(page, 'traefik').waitFor();
    expect([...hosts]).toEqual([new URL(stage.service.url).host]);
    await page.close();
  });

  test('lasts over a reload and in other tabs, and ends with Sign out in all of them', async () => {
    const page = await stage.open();
    await page.reload();
    await row(page, 'traefik').waitFor();
    const other = await stage.context.newPage();
    await other.goto(stage.service.url);
    await row(other, 'traefik').waitFor();
    await page.locator('#leave-button').click();
    await page.locator('#token').waitFor();
    await other.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await other.getByText('You are signed out.').waitFor();
    for (const each of [page, other]) await each.close();
  });

  test('leaves nothing that a script could steal, nor a token in a URL', async () => {
    const page = await stage.context.newPage();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto(stage.service.url);
    await signIn(page, apiToken);
    await row(page, 'traefik').waitFor();
    const kept = await page.evaluate<string>(
      `JSON.stringify([document.cookie, { ...sessionStorage }, { ...localStorage }, document.documentElement.outerHTML])`,
    );
    const [cookie] = await stage.context.cookies(`${stage.service.url}/v1/status`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/v1' });
    expect(kept).not.toContain(cookie?.value);
    expect(kept).not.toContain(apiToken);
    expect(urls.filter((url) => url.includes(apiToken))).toEqual([]);
    await page.close();
  });

  test('a browser that keeps no cookies has the token in its tab, and asks every 10 s', async () => {
    const page = await stage.context.newPage();
    await page.route('**/v1/session', (route) =>
      route.fulfill({ status: 201, contentType: 'application/json', body: '{"id":"none"}' }),
    );
    await page.goto(stage.service.url);
    await signIn(page, apiToken);
    await page.locator('#live[data-state="polling"]').waitFor();
    expect(await page.locator('#live').textContent()).toBe('Every 10s');
    await page.reload();
    await row(page, 'traefik').waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.locator('#sessions td').first().waitFor();
    expect(await page.locator('#sessions').textContent()).not.toContain('This browser');
    await page.close();
  });

  test('is Live, and the console has nothing to say', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    expect(await page.locator('#live').textContent()).toBe('Live');
    expect(page.complaints).toEqual([]);
    await page.close();
  });

  test('the settings list the browsers that are signed in, and sign one out', async () => {
    const { headers } = await stage.service.ask('/v1/session', {
      method: 'POST',
      headers: { origin: stage.service.url, 'x-upkeep-page': '1', 'user-agent': 'Mozilla Firefox/1 (X11; Linux)' },
      body: JSON.stringify({ secret: apiToken, keep: true }),
    });
    const page = await stage.open({ at: '#/settings' });
    await page.locator('#sessions').getByText('This browser').waitFor();
    await page.getByRole('button', { name: 'Sign out Firefox on Linux' }).click();
    await page.getByRole('button', { name: 'Sign out Firefox on Linux' }).waitFor({ state: 'detached' });
    const cookie = String(headers['set-cookie']?.[0]).split(';')[0] ?? '';
    expect((await stage.service.ask('/v1/status', { token: null, headers: { cookie } })).status).toBe(401);
    expect(page.complaints).toEqual([]);
    await page.close();
  });

  test('a hundred reloads within a minute are all served', async () => {
    const limited = await startHome(few, { dashboardFolder: stage.folder, settings: { rateLimit: 60 } });
    const page = await openPage(stage.context, limited.url);
    const refused: string[] = [];
    page.on('response', (response) => response.status() === 429 && refused.push(response.url()));
    for (let each = 0; each < 100; each += 1) {
      await page.reload();
      await row(page, 'traefik').waitFor();
    }
    expect(refused).toEqual([]);
    await page.close();
    await limited.stop();
  });
});

describeInBrowser('many tabs', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(few);
    await stage.service.ask('/v1/check', { method: 'POST' });
  });
  afterAll(() => stage.close());

  test('are all live over one stream, although the browser opens six connections', async () => {
    const pages = [];
    for (let each = 0; each < 8; each += 1) pages.push(await stage.open());
    for (const page of pages) await page.locator('#live[data-state="live"]').waitFor();
    expect(stage.service.http.streams.count()).toBe(1);
    const [first, ...others] = pages;
    await first?.close();
    stage.service.publish('traefik:v3', '3.2.9', { createdAtMs: Date.now() - 42 * 24 * 3_600_000 });
    await stage.service.ask('/v1/check', { method: 'POST' });
    for (const page of others) {
      await row(page, 'traefik').getByText('42d ago').waitFor();
      expect(page.complaints).toEqual([]);
      await page.close();
    }
  });

  test('without shared workers each reads for itself', async () => {
    await stage.context.clearCookies();
    const page = await stage.context.newPage();
    await page.addInitScript(withoutSharedWorker);
    await page.goto(stage.service.url);
    await signIn(page, apiToken);
    await row(page, 'traefik').waitFor();
    await page.locator('#live[data-state="live"]').waitFor();
    await page.close();
  });

  test('a worker that cannot be loaded is done without', async () => {
    await stage.context.clearCookies();
    const page = await stage.context.newPage();
    await page.addInitScript(`{
      const { SharedWorker } = window;
      window.SharedWorker = function (url, options) {
        return new SharedWorker(trustedTypes.createPolicy('none', { createScriptURL: () => 'dashboard/none.js' }).createScriptURL(''), options);
      };
    }`);
    await page.goto(stage.service.url);
    await signIn(page, apiToken);
    await row(page, 'traefik').waitFor();
    await page.locator('#live[data-state="live"]').waitFor();
    await page.close();
  });
});

describeInBrowser('groups that are off', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(few, { settings: { groups: ['containers', 'metrics', 'config', 'dashboard'] } });
  });
  afterAll(() => stage.close());

  test('bring no button and no complaint; Settings say what would bring them', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="polling"]').waitFor();
    expect(await page.getByRole('button', { name: /^(Check|Update)(?! to)/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('The group history is not among the endpoints').waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Add update to http-api-endpoints').waitFor();
    expect(page.complaints).toEqual([]);
    await page.close();
  });

  test('without the containers there is a page that says how to add them', async () => {
    const other = await startHome([], {
      dashboardFolder: stage.folder,
      settings: { groups: ['dashboard'] },
    });
    const page = await stage.context.newPage();
    await page.goto(other.url);
    await page.getByText('The group containers is not among the endpoints').waitFor();
    await page.close();
    await other.stop();
  });
});

describeInBrowser('an engine without containers', () => {
  test('has an empty page with words, not an empty table', async () => {
    const stage = await startStage([]);
    const page = await openPage(stage.context, stage.service.url);
    await page.getByRole('heading', { name: 'Nothing is watched yet' }).waitFor();
    expect(await page.locator('#table').isVisible()).toBe(false);
    await page.close();
    await stage.close();
  });
});
