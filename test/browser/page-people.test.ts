import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createOidcSignIns } from '../../src/interfaces/http/routes/oidc.ts';
import { createIssuer } from '../../src/adapters/oidc/issuer.ts';
import { createSystemClock } from '../../src/adapters/process/clock.ts';
import { apiToken } from '../support/http/http-scene.ts';
import {
  type OidcIssuer,
  portOfRedirects,
  type Product,
  products,
  settingsOfClient,
  startIssuer,
} from '../support/http/oidc-issuer.ts';
import { describeInBrowser, watchPage } from './browser.ts';
import { home } from './home.ts';
import { row, signIn, type Stage, startStage } from './stage.ts';

const few = home.filter(({ name }) => ['traefik', 'vaultwarden', 'loki'].includes(name));

/** Where screenshots go; none without the variable. */
const shots = process.env['UPKEEP_SHOTS'];

/** The page, with tokens, an issuer like this product, and a proxy that names people. */
async function startPeople(product: Product): Promise<{
  readonly stage: Stage;
  readonly issuer: OidcIssuer;
  readonly close: () => Promise<void>;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'cf-people-'));
  const port = portOfRedirects();
  const path = join(folder, 'tokens');
  const lines = [
    `all: ${apiToken}`,
    'ci: token-of-the-ci-job operator, image=traefik',
    'board: token-of-the-board viewer',
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  const issuer = await startIssuer({ product, redirectUrls: [`http://127.0.0.1:${port}/v1/oidc-callback`] });
  const oidc = settingsOfClient(issuer, product);
  const stage = await startStage(few, {
    service: { healthWindowMs: 8000 },
    settings: {
      port,
      oidc,
      token: { kind: 'file', path },
      people: {
        viewer: ['group:viewers'],
        operator: ['group:operators'],
        admin: ['group:upkeep-admins', 'proxy-admin', ...(product === products.Google ? ['anna@example.com'] : [])],
      },
      trustedProxies: ['127.0.0.1'],
      authHeader: { user: 'remote-user', groups: 'remote-groups' },
    },
    openSignIns: createOidcSignIns,
    issuer: createIssuer({
      settings: oidc,
      clientSecret: () => issuer.clientSecret,
      clock: createSystemClock(),
      version: '1.2.3',
      proxy: {},
      trust: { tlsMinVersion: 'TLSv1.2', extraCa: [], systemTrust: undefined },
    }),
  });
  const close = async () => {
    await stage.close();
    await issuer.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { stage, issuer, close };
}

async function openForm({ service, context }: Stage, at = ''): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${service.url}/${at}`);
  await page.locator('#oidc-link').waitFor();
  return page;
}

async function signInAs(page: Page, name: string): Promise<void> {
  await page.locator('#oidc-link').click();
  await page.locator('input[name="login"]').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

for (const [name, product] of Object.entries(products))
  describeInBrowser(`people of an issuer like ${name}`, () => {
    test('sign in there, come back to the link that they opened, stay signed in, and sign out', async () => {
      const { stage, issuer, close } = await startPeople(product);
      onTestFinished(close);
      const page = await openForm(stage, '#/c/traefik?show=ready');
      await signInAs(page, 'anna');
      await page.locator('#drawer').getByRole('heading', { name: 'traefik' }).waitFor();
      const place = new URL(page.url());
      expect([place.origin, place.search, place.hash]).toEqual([stage.service.url, '', '#/c/traefik?show=ready']);
      await issuer.rotate();
      await page.reload();
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByText(`Signed in as ${product.hasVerified ? 'anna@example.com' : 'anna'} (admin).`).waitFor();
      await page.locator('#leave-button').click();
      if (product.signsOut) {
        await page.waitForURL((url) => url.href.startsWith(issuer.url));
        await page.goto(stage.service.url);
      }
      await page.locator('#oidc-link').waitFor();
    });
  });

describeInBrowser('people on the page', () => {
  let stage: Stage;
  let issuer: OidcIssuer;
  let close = () => Promise.resolve();

  beforeAll(async () => {
    ({ stage, issuer, close } = await startPeople(products.Keycloak));
    await stage.service.ask('/v1/check', { method: 'POST' });
  });
  afterAll(() => close());
  afterEach(() => stage.context.clearCookies());

  async function shoot(page: Page, name: string): Promise<void> {
    if (shots === undefined) return;
    for (const [width, height] of [
      [1280, 900],
      [390, 800],
    ] as const)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(shots, `${name}-${width}-${colorScheme}.png`), animations: 'disabled' });
      }
    await page.setViewportSize({ width: 1280, height: 900 });
  }

  test('sign in at the issuer, come back to the link that they opened, and sign out there too', async () => {
    const page = await openForm(stage, '#/c/traefik?show=ready');
    await shoot(page, 'form');
    await signInAs(page, 'anna');
    await row(page, 'traefik').waitFor();
    expect(new URL(page.url()).hash).toBe('#/c/traefik?show=ready');
    await page.locator('#drawer').getByRole('heading', { name: 'traefik' }).waitFor();
    const { complaints } = watchPage(page);
    await page.locator('#live[data-state="live"]').waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Signed in as anna@example.com (admin).').waitFor();
    await page.locator('#sessions').getByText('This browser, anna@example.com').waitFor();
    await page.locator('#tokens').getByText('operator, image=traefik').waitFor();
    await shoot(page, 'settings');
    await page.locator('#who').scrollIntoViewIfNeeded();
    await shoot(page, 'settings-end');
    expect(complaints).toEqual([]);
    await page.locator('#leave-button').click();
    await page.waitForURL((url) => url.href.startsWith(issuer.url));
    await page.goto(stage.service.url);
    await page.locator('#oidc-link').waitFor();
    await page.close();
  });

  test('a token is revoked in the settings, after a question', async () => {
    const page = await openForm(stage, '#/settings');
    await signIn(page, apiToken);
    await page.getByRole('button', { name: 'Revoke the token of board' }).click();
    await shoot(page, 'revoke');
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke the token of board' }).waitFor({ state: 'detached' });
    expect((await stage.service.ask('/v1/status', { token: 'token-of-the-board' })).status).toBe(401);
    expect(await page.content()).not.toContain('token-of-the-ci-job');
    await page.close();
  });

  test('a viewer sees everything and has no buttons that change anything', async () => {
    const page = await openForm(stage, '#/c/traefik');
    await signInAs(page, 'vera');
    await page.locator('#drawer').getByRole('heading', { name: 'traefik' }).waitFor();
    await shoot(page, 'viewer');
    for (const name of [/^Update.*…$/, /^Check/, /^Skip/, /^Roll back/])
      expect(await page.getByRole('button', { name }).filter({ visible: true }).count()).toBe(0);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByText('Signed in as vera@example.com (viewer). Settings are for admins.').waitFor();
    expect(await page.locator('#sessions').isVisible()).toBe(false);
    await shoot(page, 'viewer-settings');
    await page.close();
  });

  test('somebody without a role is told so, and a refusal of the issuer too', async () => {
    const page = await openForm(stage);
    await signInAs(page, 'eve');
    await page.getByText('You are not signed in: "eve@example.com" has no role here.').waitFor();
    await shoot(page, 'refused');
    await stage.context.clearCookies();
    await page.reload();
    await page.locator('#oidc-link').waitFor();
    await signInAs(page, 'nobody-there');
    await page.getByText('it refuses with "access_denied" (You may not)').waitFor();
    await page.close();
  });

  test('a session that ends in the middle of an update: the update goes on, and is there after a new sign-in', async () => {
    const page = await openForm(stage, '#/c/vaultwarden');
    await signInAs(page, 'otto');
    await page.locator('#drawer').getByRole('button', { name: 'Update…' }).click();
    await page
      .locator('#confirm')
      .getByRole('button', { name: /^Update/ })
      .click();
    await page.locator('#runbar').waitFor();
    const { sessions } = (await stage.service.ask('/v1/sessions')).json();
    for (const { id } of sessions) await stage.service.ask(`/v1/sessions/${id}`, { method: 'DELETE' });
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.getByText('You are signed out.').waitFor({ timeout: 30_000 });
    await page.locator('#oidc-link').click();
    await row(page, 'vaultwarden').waitFor();
    expect(new URL(page.url()).hash).toBe('#/c/vaultwarden');
    await page.locator('#drawer').getByText('1.32.5').first().waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('otto@example.com').first().waitFor();
    await page.close();
  });

  test('a proxy that names somebody signs them in, without a form and without a button to sign out', async () => {
    const page = await stage.context.newPage();
    await page.route('**/v1/**', (route) =>
      route.continue({ headers: { ...route.request().headers(), 'remote-user': 'proxy-admin' } }),
    );
    await page.addInitScript('delete window.SharedWorker');
    await page.goto(`${stage.service.url}/#/settings`);
    await page.getByText('Signed in as proxy-admin (admin). Your proxy has signed you in').waitFor();
    expect(await page.locator('#leave-button').isVisible()).toBe(false);
    await page.close();
  });
});
