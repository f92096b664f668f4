import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ServiceEvent } from '../../src/domain/run/event.ts';
import { eventsToken, type HttpScene, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';
import { describeInBrowser, openBrowser } from './browser.ts';

describeInBrowser('an EventSource', () => {
  const service = createScriptedService();
  let scene: HttpScene;
  let browser: { readonly context: BrowserContext; readonly close: () => Promise<void> };
  beforeAll(async () => {
    [scene, browser] = await Promise.all([startHttp(service), openBrowser()]);
  });
  afterAll(async () => {
    await browser.close();
    await scene.stop();
  });

  test('receives scan_completed, and resumes after a dropped connection without losing any', async () => {
    const page = await browser.context.newPage();
    await page.goto(`${scene.url}/swagger/index.html`);
    await listen(page);
    while (scene.http.streams.count() === 0) await page.waitForTimeout(10);

    service.announce(completed('1'));
    await received(page, ['1']);
    scene.http.server.closeAllConnections();
    while (scene.http.streams.count() > 0) await page.waitForTimeout(10);
    service.announce(completed('2'));
    await received(page, ['1', '2']);
    service.announce(completed('3'));
    await received(page, ['1', '2', '3']);
    await page.close();
  });

  test('of a page from elsewhere is refused', async () => {
    const elsewhere = await startHttp(createScriptedService());
    const page = await browser.context.newPage();
    await page.goto(`${elsewhere.url}/swagger/nothing-here`);
    const state = await page.evaluate(async (url) => {
      const source = new EventSource(url);
      await new Promise((resolve) => source.addEventListener('error', resolve, { once: true }));
      return source.readyState;
    }, `${scene.url}/v1/events?access_token=${eventsToken}`);
    expect(state).toBe(2);
    await page.close();
    await elsewhere.stop();
  });

  async function listen(page: Page): Promise<void> {
    await page.evaluate((url) => {
      const heard: string[] = [];
      Object.assign(globalThis, { heard });
      const source = new EventSource(url);
      source.addEventListener('scan_completed', (event) =>
        heard.push(JSON.parse((event as MessageEvent).data).data.run_id),
      );
    }, `/v1/events?access_token=${eventsToken}`);
  }

  async function received(page: Page, runs: readonly string[]): Promise<void> {
    await page.waitForFunction(
      (wanted) => JSON.stringify((globalThis as { heard?: unknown }).heard) === wanted,
      JSON.stringify(runs),
      { timeout: 20_000 },
    );
  }
});

function completed(runId: string): ServiceEvent {
  const counts = { scanned: 1, updated: 0, failed: 0, restarted: 0, skipped: 0 };
  return { kind: 'scan_completed', runId, purpose: 'update', ...counts, session: undefined, atMs: Date.now() };
}
