import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiToken, eventsToken } from '../support/http/http-scene.ts';
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

  test('needs a token: a wrong one is refused in words, the right one shows the containers', async () => {
    const page = await stage.context.newPage();
    const { hosts } = watchPage(page);
    await page.goto(stage.service.url);
    expect(await page.evaluate('document.getElementById("main").inert')).toBe(true);
    await signIn(page, 'wrong', '');
    await page.getByText('That token was not accepted.').waitFor();
    expect(await page.locator('#token').getAttribute('aria-invalid')).toBe('true');
    await signIn(page, apiToken, eventsToken);
    await row(page, 'traefik').waitFor();
    expect([...hosts]).toEqual([new URL(stage.service.url).host]);
    await page.close();
  });

  test('lasts over a reload in the same tab, and ends with Sign out', async () => {
    const page = await stage.open();
    await page.reload();
    await row(page, 'traefik').waitFor();
    await page.locator('#leave-button').click();
    await page.locator('#signin').waitFor();
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(apiToken);
    await page.close();
  });

  test('puts no token into a URL', async () => {
    const page = await stage.context.newPage();
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto(stage.service.url);
    await signIn(page, apiToken, eventsToken);
    await row(page, 'traefik').waitFor();
    expect(urls.filter((url) => url.includes(apiToken) || url.includes(eventsToken))).toEqual([]);
    await page.close();
  });

  test('without the events token the page asks every 10 s, and says so', async () => {
    const page = await stage.open({ events: null });
    await page.locator('#live[data-state="polling"]').waitFor();
    expect(await page.locator('#live').textContent()).toBe('Every 10\u00A0s');
    expect(await page.locator('#live').getAttribute('title')).toContain('token');
    expect(page.complaints).toEqual([]);
    await page.close();
  });

  test('one token for both is Live without being asked for twice', async () => {
    const both = await startHome(few, {
      dashboardFolder: stage.folder,
      settings: { eventsToken: { kind: 'value', value: apiToken } },
    });
    const page = await openPage(stage.context, both.url, { events: null });
    await page.locator('#live[data-state="live"]').waitFor();
    expect(page.complaints).toEqual([]);
    await page.close();
    await both.stop();
  });

  test('a complete token is Live, and the console has nothing to say', async () => {
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    expect(await page.locator('#live').textContent()).toBe('Live');
    expect(page.complaints).toEqual([]);
    await page.close();
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
    stage.service.publish('traefik:v3', '3.2.9', {
      config: { Labels: { 'org.opencontainers.image.version': '3.2.9' } },
    });
    await stage.service.ask('/v1/check', { method: 'POST' });
    for (const page of others) {
      await row(page, 'traefik').getByText('3.2.9').waitFor();
      expect(page.complaints).toEqual([]);
      await page.close();
    }
  });

  test('without shared workers each reads for itself', async () => {
    const page = await stage.context.newPage();
    await page.addInitScript(withoutSharedWorker);
    await page.goto(stage.service.url);
    await signIn(page, apiToken, eventsToken);
    await row(page, 'traefik').waitFor();
    await page.locator('#live[data-state="live"]').waitFor();
    await page.close();
  });

  test('a worker that cannot be loaded is done without', async () => {
    const page = await stage.context.newPage();
    await page.addInitScript(`{
      const { SharedWorker } = window;
      window.SharedWorker = function (url, options) {
        return new SharedWorker(trustedTypes.createPolicy('none', { createScriptURL: () => 'dashboard/none.js' }).createScriptURL(''), options);
      };
    }`);
    await page.goto(stage.service.url);
    await signIn(page, apiToken, eventsToken);
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
    const page = await stage.open({ events: null });
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
