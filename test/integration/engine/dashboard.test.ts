import { afterEach, expect, onTestFinished, test } from 'vitest';
import { describeInBrowser, openBrowser } from '../../browser/browser.ts';
import { openPage, row } from '../../browser/stage.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { apiToken, eventsToken } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

/** The page of the built program, with containers of a real engine behind it. */
describeInLab('the dashboard on an engine', (lab) => {
  const { engine } = lab;
  const { stale, run, inspect } = effectsScene(lab, 'page');
  afterEach(() => engine.clear());

  describeInBrowser('in a browser', () => {
    test('shows an update to its end, and a bad release that is rolled back with its reason and its log', async () => {
      const good = await stale('good', { old: catalogue.v1, next: catalogue.v2 });
      const bad = await stale('bad', { next: catalogue.crash });
      await run('calm');
      const { page, url } = await open();

      await page.getByRole('button', { name: 'Check now' }).click();
      await row(page, 'good').getByText('Update ready').waitFor();
      await row(page, 'calm').getByText('Up to date').waitFor();

      for (const name of ['good', 'bad']) {
        await fetch(`${url}/v1/update?container=${name}&async=true`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${apiToken}` },
        });
        await row(page, name).locator('.steps').waitFor();
        await row(page, name)
          .getByText(name === 'good' ? /^Updated just now, down/ : /^Failed; back on/)
          .waitFor();
      }
      expect((await inspect('good')).Id).not.toBe(good.Id);
      expect((await inspect('bad')).Id).toBe(bad.Id);

      await row(page, 'bad').locator('.c-name a').click();
      await page.locator('#drawer .log', { hasText: 'boom' }).waitFor();
      expect(await page.locator('#drawer .tell').textContent()).toMatch(/exited with code 3/);
      await page.locator('#drawer tr', { hasText: 'Runs since' }).getByText('today').waitFor();
      expect(page.complaints).toEqual([]);
      expect([...page.hosts]).toEqual([new URL(url).host]);
    });

    test('approves, skips and offers again what is held back, and the approved version is applied', async () => {
      const asked = { config: { Labels: { 'upkeep.approve': 'true' } } };
      const web = await stale('web', { ...asked, old: catalogue.v1, next: catalogue.v2 });
      const db = await stale('db', { old: catalogue.v1, next: catalogue.v2 });
      const { page } = await open();
      await page.getByRole('button', { name: 'Check now' }).click();
      await row(page, 'web').getByText('Waits for your approval').waitFor();
      await row(page, 'db').getByText('Update ready').waitFor();

      await row(page, 'db').locator('.c-name a').click();
      await page
        .locator('#drawer')
        .getByRole('button', { name: /^Skip / })
        .click();
      await row(page, 'db')
        .getByText(/ is skipped$/)
        .waitFor();
      await page.keyboard.press('Escape');

      await row(page, 'web').getByRole('button', { name: 'Approve web' }).click();
      await page.locator('#confirm').getByRole('button', { name: 'Approve and update' }).click();
      await row(page, 'web')
        .getByText(/^Updated just now, down/)
        .waitFor();
      expect((await inspect('web')).Id).not.toBe(web.Id);
      expect((await inspect('db')).Id).toBe(db.Id);

      await row(page, 'db').locator('.c-name a').click();
      await page.locator('#drawer').getByRole('button', { name: 'Offer again' }).click();
      await row(page, 'db').getByText('Update ready').waitFor();
      expect(page.complaints).toEqual([]);
    });
  });

  /** The built program on the engine, and its page, signed in. */
  async function open() {
    const args = ['run', '--interval', '1h', '--health-window', '2s', '--http-api-endpoints', 'all'];
    const http = ['--http-api-host', '127.0.0.1', '--http-api-port', '0', '--http-api-rate-limit', '100000'];
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', eventsToken];
    const service = startUpkeep([...args, ...http, ...tokens, '--log-format', 'json'], { socket: engine.socket });
    onTestFinished(() => void service.child.kill('SIGKILL'));
    await service.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    const browser = await openBrowser();
    onTestFinished(browser.close);
    const page = await openPage(browser.context, url);
    await page.locator('#live[data-state="live"]').waitFor();
    return { page, url };
  }
});
