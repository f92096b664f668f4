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

  test('an update goes through its steps to its end, and only its row changes and moves', async () => {
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
    const notice = page.getByText('Done: 1 updated.').waitFor();
    await stage.service.ask('/v1/update?container=vaultwarden', { method: 'POST' });
    await row(page, 'vaultwarden')
      .getByText(/^Updated just now, down/)
      .waitFor();
    const touched = await page.evaluate<string[]>('[...touched]');
    // During a run, the buttons of the other containers are disabled.
    const withButtons = home.filter(({ newer }) => newer !== undefined).map(({ name }) => name);
    expect(touched.filter((name) => name !== 'vaultwarden' && !withButtons.includes(name))).toEqual(['rows', '']);
    expect(touched).toContain('vaultwarden');
    await expect.poll(() => groupOf(page, 'vaultwarden'), { timeout: 10_000 }).toBe('fine');
    await expect.poll(() => miscounted(page), { timeout: 10_000 }).toEqual([]);
    await notice;
  });

  test('a release that crashes is rolled back, with the reason in its row', async () => {
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
    await row(page, 'grafana')
      .getByText(/^Failed; back on/)
      .waitFor();
    await row(page, 'grafana')
      .locator('.why', { hasText: /exited with code 1/ })
      .waitFor();
    await page.locator('#lead').getByText('1 update failed and was rolled back').waitFor();
    await expect.poll(() => groupOf(page, 'grafana'), { timeout: 10_000 }).toBe('wrong');
    await expect.poll(() => miscounted(page), { timeout: 10_000 }).toEqual([]);
    await row(page, 'grafana')
      .locator('.c-state', { hasText: /healthy|running/ })
      .waitFor();
  });

  test('a container that is stopped, and one that is started, are seen without a reload', async () => {
    await stage.service.sandbox.control.stopContainer('loki');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await row(page, 'loki').waitFor({ state: 'detached' });
    await expect.poll(() => miscounted(page), { timeout: 10_000 }).toEqual([]);
    await stage.service.run('newcomer', 'traefik:v3');
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await row(page, 'newcomer').waitFor();
    await expect.poll(() => miscounted(page), { timeout: 10_000 }).toEqual([]);
  });

  test('what happens between the reading and the stream is shown', async () => {
    const alone = await stage.context.newPage();
    await alone.addInitScript(withoutSharedWorker);
    // A check ends while the stream is being opened.
    await alone.route('**/v1/events*', async (route) => {
      stage.service.publish('lscr.io/linuxserver/prowlarr:latest', '1.25.9');
      await stage.service.ask('/v1/check', { method: 'POST' });
      await route.continue();
    });
    await alone.goto(stage.service.url);
    await row(alone, 'prowlarr').locator('.c-status', { hasText: 'Update ready' }).waitFor({ timeout: 10_000 });
    await alone.close();
  });

  test('the history has the run with its outcome', async () => {
    await page.getByRole('link', { name: 'History' }).click();
    await page.locator('.run').first().waitFor();
    expect(await page.locator('#runs-list').textContent()).toMatch(/failed and was rolled back/);
    await page.getByRole('link', { name: 'Containers', exact: true }).click();
  });

  test('nothing went to the console, and nobody else was asked', () => {
    expect(page.complaints).toEqual([]);
    expect([...page.hosts]).toEqual([new URL(stage.service.url).host]);
  });
});

describeInBrowser('the place of a row', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await startStage(home);
    await stage.service.ask('/v1/check', { method: 'POST' });
  });
  afterAll(() => stage.close());

  async function openLive(options: Parameters<Stage['open']>[0] = {}): Promise<OpenPage> {
    const page = await stage.open(options);
    await page.locator('#live[data-state="live"]').waitFor();
    return page;
  }

  test('follows its state through a run, with the headings and counters, whatever is searched for', async () => {
    const page = await openLive();
    await page.evaluate(`(() => {
      globalThis.seen = [];
      const body = document.getElementById('rows');
      new MutationObserver(() => requestAnimationFrame(() => {
        const head = body.querySelector('[data-group="now"]');
        const rows = [...body.querySelectorAll('tr.row[data-bucket="now"]')].map(({ dataset }) => dataset.name);
        const counter = document.querySelector('.count[data-kind="now"] b').textContent;
        seen.push([head?.querySelector('.sum').textContent ?? '0', counter, String(rows.length), rows.join()]);
      })).observe(body, { subtree: true, childList: true });
    })()`);
    await page.locator('#search').fill('immich');
    const before = await page.locator('.count[data-kind="fine"] b').textContent();
    await stage.service.ask('/v1/update?container=immich-server,immich-machine-learning', { method: 'POST' });
    await row(page, 'immich-server')
      .getByText(/^Updated just now/)
      .waitFor();
    await page.locator('.group-row[data-group="now"]').waitFor({ state: 'detached' });
    const seen = await page.evaluate<string[][]>('seen');
    expect(seen.filter(([heading, counter, rows]) => heading !== counter || counter !== rows)).toEqual([]);
    // A busy browser may draw no frame while one of the two is updated.
    const updated = seen.flatMap(([, , , names = '']) => names.split(',')).filter((name) => name !== '');
    expect(updated).not.toEqual([]);
    expect(['immich-machine-learning', 'immich-server']).toEqual(expect.arrayContaining(updated));
    // A row goes to its group with the next frame.
    await expect.poll(() => groupOf(page, 'immich-server'), { timeout: 10_000 }).toBe('fine');
    // The search hides rows, but no counts.
    expect(await page.locator('.count[data-kind="fine"] b').textContent()).toBe(String(Number(before) + 2));
    expect(await page.locator('.group-row[data-group="fine"] .sum').textContent()).toBe(String(Number(before) + 2));
    await page.close();
  });

  test('does not change under the pointer, nor behind a dialog, and does once they are gone', async () => {
    const page = await openLive();
    await row(page, 'vaultwarden').locator('.c-name').hover();
    const top = await topOf(page, 'vaultwarden');
    const { containers } = (await stage.service.ask('/v1/containers/details')).json();
    const { latest_digest: digest } = containers.find((one: { name: string }) => one.name === 'vaultwarden');
    const held = Number(await page.locator('.count[data-kind="held"] b').textContent());
    const skipped = await stage.service.ask('/v1/decisions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'skip', container: 'vaultwarden', digest }),
    });
    expect(skipped.status).toBe(201);
    await stage.service.ask('/v1/check?container=vaultwarden', { method: 'POST' });
    await row(page, 'vaultwarden').getByText('1.32.5 is skipped').waitFor();
    await page.locator('.count[data-kind="held"] b', { hasText: String(held + 1) }).waitFor();
    await expect.poll(() => groupOf(page, 'vaultwarden'), { timeout: 10_000 }).toBe('ready');
    expect(await topOf(page, 'vaultwarden')).toBe(top);
    await page.keyboard.press('?');
    await page.mouse.move(2, 2);
    await page.locator('#help').waitFor();
    await expect.poll(() => groupOf(page, 'vaultwarden'), { timeout: 10_000 }).toBe('ready');
    await page.keyboard.press('Escape');
    await page.locator('tr.row[data-name="vaultwarden"][data-bucket="held"]').waitFor();
    await expect.poll(() => miscounted(page), { timeout: 10_000 }).toEqual([]);
    await page.close();
  });

  test.each([
    ['glides', undefined],
    ['jumps, where less motion is wanted,', 'reduce'],
  ] as const)('%s to another group, with the focus, and the window stays where it is', async (_, reducedMotion) => {
    const name = reducedMotion === undefined ? 'sonarr' : 'traefik';
    const page = await openLive({ height: 500, ...(reducedMotion && { reducedMotion }) });
    await page.evaluate(`(() => {
      globalThis.glided = 0;
      const { animate } = Element.prototype;
      Element.prototype.animate = function (...given) { glided += 1; return animate.apply(this, given); };
    })()`);
    await row(page, name).locator('.c-name a').focus();
    await row(page, 'jellyfin').evaluate((node) => node.scrollIntoView({ block: 'center' }));
    const [scroll, top] = [await page.evaluate<number>('scrollY'), await topOf(page, 'jellyfin')];
    expect(scroll).toBeGreaterThan(0);
    await stage.service.ask(`/v1/update?container=${name}`, { method: 'POST' });
    await page.locator(`tr.row[data-name="${name}"][data-bucket="fine"]`).waitFor();
    await page.locator('#verdict.is-busy').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.closest(".row").dataset.name')).toBe(name);
    expect(Math.abs((await topOf(page, 'jellyfin')) - top)).toBeLessThan(40);
    expect((await page.evaluate<number>('glided')) > 0).toBe(reducedMotion === undefined);
    await page.close();
  });

  test('in a project is its place at first, while the sums of the projects follow', async () => {
    const page = await openLive({ at: '#/?group=project' });
    const before = await names(page);
    await stage.service.ask('/v1/update?container=grafana', { method: 'POST' });
    await row(page, 'grafana')
      .getByText(/^Failed; back on/)
      .waitFor();
    await page.locator('.group-row[data-group="monitoring"] .is-wrong').waitFor();
    expect(await names(page)).toEqual(before);
    await page.close();
  });

  async function topOf(page: OpenPage, name: string): Promise<number> {
    return row(page, name).evaluate((node) => node.getBoundingClientRect().top);
  }

  async function names(page: OpenPage): Promise<readonly string[]> {
    return page.locator('tr.row').evaluateAll((rows) => rows.map((each) => each.getAttribute('data-name') ?? ''));
  }
});

describeInBrowser('a row that was checked', () => {
  const names = ['grafana', 'nextcloud', 'nextcloud-db', 'vaultwarden', 'traefik', 'loki'];

  test('never shows "Not checked yet" again, whatever happens to its container', async () => {
    const containers = home.filter(({ name }) => names.includes(name));
    const stage = await startStage(containers);
    const { service } = stage;
    const { control } = service.sandbox;
    const post = async (target: string, body?: object) => {
      const reply = await service.ask(target, { method: 'POST', ...(body && { body: JSON.stringify(body) }) });
      expect(reply.status, reply.text).toBeLessThan(300);
    };
    await post('/v1/check');
    const pages = [await stage.open(), await stage.open()];
    for (const page of pages) {
      await page.locator('#live[data-state="live"]').waitFor();
      await page.evaluate(`(() => {
        globalThis.unchecked = new Set();
        const look = () => {
          for (const row of document.querySelectorAll('tr.row[data-bucket="unchecked"]')) unchecked.add(row.dataset.name);
        };
        look();
        new MutationObserver(look).observe(document.getElementById('rows'), {
          subtree: true, childList: true, attributes: true, characterData: true,
        });
      })()`);
    }
    const shown = (name: string, words: RegExp) =>
      Promise.all(pages.map((page) => row(page, name).getByText(words).first().waitFor()));

    const [{ latest_digest: digest }] = (await service.ask('/v1/containers/details?name=nextcloud')).json().containers;
    service.registry.store.misbehave('docker.io', { kind: 'slow', ms: 5000 });
    const asked = service.registry.store.requests();
    const slow = post('/v1/check');
    await expect.poll(service.registry.store.requests).toBeGreaterThan(asked);
    service.registry.store.behaveAgain('docker.io');
    await post('/v1/decisions', { container: 'nextcloud', decision: 'approve', digest });
    await post('/v1/update?container=nextcloud');
    await shown('nextcloud', /^Updated just now, down/);
    await slow;
    await post('/v1/update?container=vaultwarden');
    await post('/v1/update?container=grafana');
    await shown('grafana', /^Failed; back on/);
    await post('/v1/rollback?container=vaultwarden');
    await shown('vaultwarden', /went back/i);
    await control.stopContainer('loki');
    await post('/v1/check?container=vaultwarden');
    control.startContainer('loki');
    await post('/v1/check?container=vaultwarden');
    await service.sandbox.engine.pullImage({ reference: 'traefik:v3' });
    control.removeContainer('traefik');
    control.runContainer('traefik', { Image: 'traefik:v3', Labels: {}, HostConfig: {} });
    await shown('traefik', /Up to date/);
    service.registry.store.misbehave('docker.io', { kind: 'unreachable' });
    await post('/v1/check');
    await shown('loki', /unknown|cannot|reach/i);
    service.registry.store.behaveAgain('docker.io');
    await control.restartEngine('graceful', 300);
    await post('/v1/check');
    await shown('loki', /Up to date/);
    for (const page of pages) expect(await page.evaluate('[...unchecked]')).toEqual([]);
    await stage.close();
  });
});

describeInBrowser('the page without its service', () => {
  test('says from when the data is, switches actions off, and comes back by itself', async () => {
    const stage = await startStage(home.slice(0, 6), { service: { healthWindowMs: 2000 } });
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

/** The group that a row stands in: the header above it. */
async function groupOf(page: OpenPage, name: string): Promise<string> {
  return row(page, name).evaluate((node) => {
    let at = node.previousElementSibling;
    while (at !== null && !at.matches('.group-row')) at = at.previousElementSibling;
    return at?.getAttribute('data-group') ?? '';
  });
}

/** Groups whose header, rows and counter differ in number, read in one frame. */
async function miscounted(page: OpenPage): Promise<readonly string[]> {
  return page.evaluate<string[]>(`(() => {
    const wrong = [];
    for (const counter of document.querySelectorAll('.count:not([data-kind="all"])')) {
      const { kind } = counter.dataset;
      const head = document.querySelector('.group-row[data-group="' + kind + '"]');
      const rows = document.querySelectorAll('tr.row[data-bucket="' + kind + '"]').length;
      const counts = [counter.querySelector('b').textContent, head?.querySelector('.sum').textContent ?? '0', String(rows)];
      if (new Set(counts).size > 1) wrong.push(kind + ': ' + counts.join(', '));
    }
    return wrong;
  })()`);
}
