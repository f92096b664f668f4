import { request } from 'node:https';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../browser/browser.ts';
import { home, startHome } from '../browser/home.ts';
import { row } from '../browser/stage.ts';
import { apiToken } from '../support/http/http-scene.ts';
import type { WholeService } from '../support/http/whole-service.ts';
import { buildPage } from '../support/pages/built-page.ts';
import { describeWithProxies, person, proxyNames, type SignOn, startProxy, startSignOn, type Way } from './rig.ts';

const few = home.filter(({ name }) => ['traefik', 'vaultwarden'].includes(name));

describeWithProxies.each(proxyNames)('the page behind %s', (name) => {
  const built = buildPage();
  let service: WholeService;
  let withBasePath: WholeService;
  let browser: { readonly context: BrowserContext; readonly close: () => Promise<void> };
  let signOn: SignOn;
  beforeAll(async () => {
    const options = { dashboardFolder: built.folder };
    // One token for both kinds, so that the page is live.
    const settings = { eventsToken: { kind: 'value', value: apiToken } } as const;
    [service, withBasePath, browser] = await Promise.all([
      startHome(few, { ...options, settings }),
      startHome(few, { ...options, settings: { ...settings, basePath: '/upkeep' } }),
      openBrowser(['--ignore-certificate-errors']),
    ]);
    await service.ask('/v1/check', { method: 'POST' });
    signOn = await startSignOn(service.port);
  });
  afterAll(async () => {
    await browser.close();
    await signOn[Symbol.asyncDispose]();
    await service.stop();
    await withBasePath.stop();
    built.remove();
  });

  // Of an address with a port, too: cookies are for the host.
  afterEach(() => browser.context.clearCookies());

  const start = (way: Way) =>
    startProxy(name, way, { service: (way === 'base-path' ? withBasePath : service).port, signOn });

  test('at a host of its own: is live, and acts', async () => {
    await using proxy = await start('own-host');
    const page = await browser.context.newPage();
    await page.goto(`${proxy.url}/`);
    expect(await page.evaluate(`performance.getEntriesByType('navigation')[0].nextHopProtocol`)).toBe('h2');
    await signInAndAct(page);
    await page.close();
  });

  test.each(['/', '', '?a=b', '/#/settings', '#/settings'])(
    'at a sub-path that is removed, opened as /upkeep%s',
    async (end) => {
      await using proxy = await start('sub-path');
      const page = await browser.context.newPage();
      await page.goto(proxy.url + end);
      await page.waitForURL(/\/upkeep\/(?:\?a=b)?(?:#.*)?$/);
      if (end.includes('#')) await page.waitForURL(/#\/settings$/);
      if (end === '') await signInAndAct(page);
      else await page.locator('#token').waitFor();
      // It has its style sheet.
      expect(await page.evaluate(`getComputedStyle(document.getElementById('signin')).position`)).toBe('fixed');
      await page.close();
    },
  );

  test.each(['/', ''])('at a sub-path that is kept, opened as /upkeep%s', async (end) => {
    await using proxy = await start('base-path');
    const page = await browser.context.newPage();
    await page.goto(proxy.url + end);
    await page.waitForURL(/\/upkeep\/$/);
    await signIn(page);
    await page.goto(`${proxy.url}/swagger/index.html`);
    await page.getByText('/v1/containers/details').first().waitFor();
    await page.close();
  });

  test('with its basic auth, which takes Authorization', async () => {
    await using proxy = await start('basic-auth');
    const page = await browser.context.newPage();
    await page.goto(`${proxy.url.replace('://', `://${person.name}:${person.password}@`)}/`);
    await signInAndAct(page);
    const headers = { authorization: `Basic ${btoa(`${person.name}:${person.password}`)}` };
    const status = (more: object) => statusOf(`${proxy.url}/v1/containers`, { ...headers, ...more });
    expect([await status({}), await status({ 'x-upkeep-token': apiToken })]).toEqual([401, 200]);
    await page.close();
  });

  test('with its sign-on by cookie: works, and says when that has ended', async () => {
    await using proxy = await start('sign-on');
    const page = await browser.context.newPage();
    await page.goto(`${proxy.url}/`);
    await signOnAtProxy(page);
    await signInAndAct(page);
    await browser.context.clearCookies({ name: /^signon$/ });
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.getByText('Your proxy wants you to sign in.').waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    await signOnAtProxy(page);
    await row(page, 'traefik').waitFor();
    await page.close();
  });

  describe('and requests of a stranger beyond the limit', () => {
    const limited = (trustedProxies: readonly string[]) =>
      startHome(few, {
        dashboardFolder: built.folder,
        settings: { eventsToken: { kind: 'value', value: apiToken }, rateLimit: 60, trustedProxies },
      });
    const flood = (url: string) =>
      Promise.all(Array.from({ length: 80 }, () => statusOf(`${url}/v1/containers`, {}, '127.0.0.2')));
    const told = ({ lines }: WholeService) =>
      lines.filter(({ level, message }) => level === 'warn' && message.includes('proxy'));

    test('shut out no browser that is signed in, and the option that helps is told once', async () => {
      const own = await limited([]);
      await using proxy = await startProxy(name, 'own-host', { service: own.port, signOn });
      const pages = [await browser.context.newPage()];
      await pages[0]?.goto(`${proxy.url}/`);
      for (const page of pages) await signIn(page);
      while (pages.length < 5) pages.push(await browser.context.newPage());
      for (const page of pages.slice(1)) await page.goto(`${proxy.url}/`);
      const answered = await flood(proxy.url);
      expect(answered.filter((status) => status === 429).length).toBeGreaterThan(19);
      const refused: string[] = [];
      for (const page of pages) {
        page.on('response', (reply) => void (reply.status() === 429 && refused.push(reply.url())));
        await page.reload();
        await row(page, 'traefik').waitFor();
        await page.locator('#live[data-state="live"]').waitFor();
      }
      await pages[4]?.locator('#verdict-actions').getByRole('button', { name: 'Check' }).click();
      await pages[4]
        ?.locator('#notice')
        .getByText(/ready|nothing to update/i)
        .waitFor();
      expect(refused).toEqual([]);
      expect(told(own)).toMatchObject([
        { fields: { proxy: '127.0.0.1', remedy: expect.stringContaining('--http-api-trusted-proxies 127.0.0.1') } },
      ]);
      for (const page of pages) await page.close();
      await own.stop();
    });

    test('count for the stranger alone once the proxy is trusted', async () => {
      const own = await limited(['127.0.0.1']);
      await using proxy = await startProxy(name, 'own-host', { service: own.port, signOn });
      expect((await flood(proxy.url)).filter((status) => status === 429).length).toBe(20);
      const owner = { authorization: `Bearer ${apiToken}` };
      expect(await statusOf(`${proxy.url}/v1/containers`, owner, '127.0.0.3')).toBe(200);
      // As the health check of a proxy asks, which has no client.
      expect((await own.ask('/livez', { token: null })).status).toBe(200);
      expect(told(own)).toEqual([]);
      await own.stop();
    });
  });

  /** The portal of the rig signs in by itself; Apache shows its form. */
  async function signOnAtProxy(page: Page): Promise<void> {
    if (name !== 'apache') return;
    await page.locator('[name="httpd_username"]').fill(person.name);
    await page.locator('[name="httpd_password"]').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
});

async function signIn(page: Page): Promise<void> {
  await page.locator('#token').fill(apiToken);
  await page.locator('#signin-button').click();
  await row(page, 'traefik').waitFor();
  await page.locator('#live[data-state="live"]').waitFor();
}

async function signInAndAct(page: Page): Promise<void> {
  await signIn(page);
  await page.locator('#verdict-actions').getByRole('button', { name: 'Check' }).click();
  await page
    .locator('#notice')
    .getByText(/ready|nothing to update/i)
    .waitFor();
}

function statusOf(url: string, headers: Readonly<Record<string, string>>, localAddress = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const agent = false;
    request(url, { headers, localAddress, family: 4, agent, rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}
