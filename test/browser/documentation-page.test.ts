import { networkInterfaces } from 'node:os';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiToken, eventsToken, type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService, watchedContainer } from '../support/http/scripted-service.ts';
import { describeInBrowser, openBrowser, watchPage } from './browser.ts';

describeInBrowser('the documentation page', () => {
  const service = createScriptedService();
  let scene: HttpScene;
  let browser: { readonly context: BrowserContext; readonly close: () => Promise<void> };
  beforeAll(async () => {
    service.script.inventory = { revision: 2, containers: [watchedContainer('web')], images: [] };
    [scene, browser] = await Promise.all([startHttp(service, { settings: { host: '0.0.0.0' } }), openBrowser()]);
  });
  const countOperations = async (): Promise<number> => {
    const description = (await scene.ask('/swagger/doc.json')).json() as { readonly paths: Record<string, object> };
    return Object.values(description.paths).flatMap((operations) => Object.keys(operations)).length;
  };
  afterAll(async () => {
    await browser.close();
    await scene.stop();
  });

  test('loads without a complaint, and asks nobody else for anything', async () => {
    const page = await browser.context.newPage();
    const { complaints, hosts } = watchPage(page);
    await page.goto(`${scene.url}/swagger/index.html`);
    await page.getByText('/v1/containers/details').waitFor();
    expect(await page.locator('.opblock').count()).toBe(await countOperations());
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(scene.url).host]);
    await page.close();
  });

  test('Authorize takes the bare token, Try it out sends it, and both last over a reload', async () => {
    const page = await browser.context.newPage();
    const { complaints } = watchPage(page);
    await page.goto(`${scene.url}/swagger/index.html`);
    await page.locator('.auth-wrapper .authorize').click();
    const keys = page.locator('.auth-container');
    await keys.filter({ hasText: 'BearerAuth' }).locator('input').fill(apiToken);
    await keys.filter({ hasText: 'BearerAuth' }).getByRole('button', { name: 'Apply credentials' }).click();
    await keys.filter({ hasText: 'EventsToken' }).locator('input').fill(eventsToken);
    await keys.filter({ hasText: 'EventsToken' }).getByRole('button', { name: 'Apply credentials' }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).first().click();

    await page.reload();
    const operation = page.locator('#operations-containers-getV1Containers');
    await operation.locator('.opblock-summary').click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const [reply] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/v1/containers')),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect(reply.status()).toBe(200);
    expect(await reply.json()).toMatchObject({ containers: [{ name: 'web' }] });
    expect(await reply.request().headerValue('authorization')).toBe(apiToken);
    await operation.locator('.live-responses-table').getByText('"name": "web"').waitFor();
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('keeps a token in its tab alone, and drops one that an earlier version has kept for ever', async () => {
    const context = await browser.context.browser()?.newContext();
    if (context === undefined) throw new Error('the browser has gone');
    const [page, beside] = [await context.newPage(), await context.newPage()];
    // A page without scripts of the same origin sees what is really stored.
    await beside.goto(`${scene.url}/livez`);
    const kept = () => beside.evaluate<string>('JSON.stringify({ ...localStorage })');
    await beside.evaluate(`localStorage.setItem('authorized', '{"BearerAuth":{"value":"old"}}')`);
    await page.goto(`${scene.url}/swagger/index.html`);
    await page.locator('.auth-wrapper .authorize').click();
    for (const [name, value] of [
      ['BearerAuth', apiToken],
      ['WebhookSecret', 'a-secret-of-hooks'],
    ] as const) {
      await page.locator('.auth-container').filter({ hasText: name }).locator('input').fill(value);
      await page
        .locator('.auth-container')
        .filter({ hasText: name })
        .getByRole('button', { name: 'Apply credentials' })
        .click();
    }
    expect(await page.evaluate('sessionStorage.getItem("authorized")')).toContain(apiToken);
    expect(await kept()).toBe('{}');
    expect(await beside.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    await beside.goto(`${scene.url}/swagger/index.html`);
    await beside.locator('.auth-wrapper .authorize.unlocked').waitFor();
    await context.close();
  });

  test.each([
    [390, 844],
    [1280, 800],
  ])('fits a window of %d by %d, with an operation open', async (width, height) => {
    const page = await browser.context.newPage();
    await page.setViewportSize({ width, height });
    await page.goto(`${scene.url}/swagger/index.html`);
    const operation = page.locator('#operations-update-postV1Update');
    await operation.locator('.opblock-summary').click();
    await operation.locator('.responses-wrapper').waitFor();
    // The width of the words themselves, because their box fills the available width.
    const overlaps = await page.evaluate(`(() => {
      const [heading, label] = ['h4', 'label'].map((name) => {
        const words = document.createRange();
        words.selectNodeContents(document.querySelector('.responses-wrapper .opblock-section-header > ' + name));
        return words.getBoundingClientRect();
      });
      return label.left < heading.right + 8 && label.top < heading.bottom;
    })()`);
    expect(overlaps).toBe(false);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await page.close();
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

  test.skipIf(address === undefined)(
    'works over plain HTTP from another machine, where browsers are stricter',
    async () => {
      const page = await browser.context.newPage();
      const { complaints } = watchPage(page);
      await page.goto(`http://${address}:${scene.port}/swagger/index.html`);
      await page.getByText('/v1/containers/details').waitFor();
      // Without TLS, browsers ignore this header with a message.
      expect(complaints.filter((complaint) => !complaint.includes('Cross-Origin-Opener-Policy'))).toEqual([]);
      await page.close();
    },
  );
});
