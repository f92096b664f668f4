import type { Route } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from './browser.ts';
import { home } from './home.ts';
import { type OpenPage, row, type Stage, startStage, withoutSharedWorker } from './stage.ts';

describeInBrowser('the page while things happen', () => {
  let stage: Stage;
  let page: OpenPage;
  beforeAll(async () => {
    stage = await startStage(home);
    await stage.service.ask('/v1/check', { method: 'POST' });
    page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
  });
  afterAll(() => stage.close());

  test('an update goes through its steps to its end in its row, and only that row changes', async () => {
    await page.evaluate(`(() => {
      globalThis.touched = new Set();
      new MutationObserver((records) => {
        for (const { target } of records) {
          // A node that was replaced later; the replacement has its own record.
          if (!target.isConnected) continue;
          const row = (target.closest ? target : target.parentElement)?.closest('tr.row');
          touched.add(row?.dataset.name ?? target.id);
        }
      }).observe(document.getElementById('rows'), { subtree: true, childList: true, attributes: true, characterData: true });
    })()`);
    const before = await order(page);
    const notice = page.getByText('Done: 1 updated.').waitFor();
    await stage.service.ask('/v1/update?container=vaultwarden', { method: 'POST' });
    await row(page, 'vaultwarden')
      .getByText(/^Updated just now, down/)
      .waitFor();
    const touched = await page.evaluate<string[]>('[...touched]');
    // During a run, the buttons of the other containers are disabled.
    const withButtons = home.filter(({ newer }) => newer !== undefined).map(({ name }) => name);
    expect(touched.filter((name) => name !== 'vaultwarden' && !withButtons.includes(name))).toEqual([]);
    expect(touched).toContain('vaultwarden');
    expect(await order(page)).toEqual(before);
    await notice;
  });

  test('a release that crashes is rolled back, with the reason in its row', async () => {
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
    await row(page, 'grafana')
      .getByText(/^Failed; back on/)
      .waitFor();
    expect(await row(page, 'grafana').locator('.why').textContent()).toMatch(/exited with code 1/);
    await page.locator('#lead').getByText('1 update was rolled back').waitFor();
    await row(page, 'grafana')
      .locator('.c-state', { hasText: /healthy|running/ })
      .waitFor();
  });

  test('a container that is stopped, and one that is started, are seen without a reload', async () => {
    await stage.service.sandbox.control.stopContainer('loki');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await row(page, 'loki').waitFor({ state: 'detached' });
    expect(await miscounted(page)).toEqual([]);
    await stage.service.run('newcomer', 'traefik:v3');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await row(page, 'newcomer').waitFor();
    expect(await miscounted(page)).toEqual([]);
  });

  test('the history has the run with its outcome', async () => {
    await page.getByRole('link', { name: 'History' }).click();
    await page.locator('.run').first().waitFor();
    expect(await page.locator('#runs-list').textContent()).toMatch(/failed and went back/);
    await page.getByRole('link', { name: 'Containers', exact: true }).click();
  });

  test('nothing went to the console, and nobody else was asked', () => {
    expect(page.complaints).toEqual([]);
    expect([...page.hosts]).toEqual([new URL(stage.service.url).host]);
  });
});

describeInBrowser('the page without its service', () => {
  test('says from when the data is, switches actions off, and comes back by itself', async () => {
    const stage = await startStage(home.slice(0, 6), { service: { gateWindowMs: 2000 } });
    await stage.service.ask('/v1/check', { method: 'POST' });
    await stage.context.addInitScript(withoutSharedWorker);
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    await stage.service.ask('/v1/update?async=true&container=immich-server', { method: 'POST' });
    await page.locator('#runbar').waitFor();
    await stage.context.setOffline(true);
    stage.service.http.server.closeAllConnections();
    await page.getByText('Upkeep does not answer.').waitFor({ timeout: 20_000 });
    expect(await page.locator('#verdict').textContent()).toMatch(/^At \d\d:\d\d, /);
    expect(await page.locator('#runbar').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Check now' }).isDisabled()).toBe(true);
    await stage.context.setOffline(false);
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.locator('#live[data-state="live"]').waitFor({ timeout: 20_000 });
    expect(await page.locator('#banner').isVisible()).toBe(false);
    expect(await page.locator('#verdict').textContent()).not.toMatch(/^At /);
    await page.close();
    await stage.close();
  });

  test('says that the history and the options are being read, or why they cannot be, and reads them again', async () => {
    const stage = await startStage(home.slice(0, 2));
    const held: Route[] = [];
    await stage.context.addInitScript(withoutSharedWorker);
    await stage.context.route(/\/v1\/(history|config)$/, (route) => void held.push(route));
    const page = await stage.open({ at: '#/history' });
    await page.locator('#live[data-state="live"]').waitFor();
    await page.getByRole('heading', { name: 'Reading the history…' }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Reading the options…' }).waitFor();
    for (const route of held) await route.abort();
    await page.getByRole('heading', { name: 'Cannot read the options' }).waitFor();
    await page.getByText('Upkeep does not answer.').waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'Cannot read the history' }).waitFor();
    await stage.context.unrouteAll();
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.getByRole('heading', { name: 'No run yet' }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.locator('#options td').first().waitFor();
    await page.close();
    await stage.close();
  });

  test('asks for a token again once its session is revoked elsewhere', async () => {
    const stage = await startStage(home.slice(0, 2));
    const page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
    await page.keyboard.press('?');
    await page.locator('#help').waitFor();
    for (const { id } of (await stage.service.ask('/v1/sessions')).json().sessions)
      await stage.service.ask(`/v1/sessions/${id}`, { method: 'DELETE' });
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await page.getByText('You are signed out.').waitFor({ timeout: 20_000 });
    expect(await page.locator('#live').getAttribute('data-state')).toBe('connecting');
    expect(await page.locator('dialog[open]').count()).toBe(0);
    expect(await page.evaluate('document.activeElement.id')).toBe('token');
    await page.close();
    await stage.close();
  });
});

async function order(page: OpenPage): Promise<readonly string[]> {
  return page.locator('tr.row').evaluateAll((rows) => rows.map((each) => each.getAttribute('data-name') ?? ''));
}

/** Groups whose header has another count than rows. */
async function miscounted(page: OpenPage): Promise<readonly string[]> {
  return page.evaluate<
    string[]
  >(`[...document.querySelectorAll('.group-row')].filter((head) => !head.hidden).flatMap((head) => {
    const { group } = head.dataset;
    const rows = document.querySelectorAll('tr.row[data-bucket="' + group + '"]').length;
    const count = head.querySelector('.sum').textContent;
    return count === String(rows) ? [] : [group + ': ' + count + ' instead of ' + rows];
  })`);
}
