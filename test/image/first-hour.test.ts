import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { describeInBrowser, openBrowser } from '../browser/browser.ts';
import { drawerOf, openPage, type OpenPage, row } from '../browser/stage.ts';
import { violations } from '../browser/violations.ts';
import { httpRequest } from '../lab/http.ts';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { pushImage } from '../lab/registry/push.ts';
import { logOf } from '../support/scene/upkeep-in-a-container.ts';
import { describeImage } from './rig/describe-image.ts';
import { dockerEnvironment } from './rig/docker.ts';
import { type ImageScene, openImageScene } from './rig/scene.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const url = 'http://127.0.0.1:8080';

/** `docker compose up` of the project's own file beside the containers of a home server, and its page after that. */
describeImage('the first hour', (lab) => {
  const { engine, registry } = lab;
  let scene: ImageScene;
  let browser: Awaited<ReturnType<typeof openBrowser>> | undefined;
  let page: OpenPage;
  let token: string;

  describeInBrowser('with 14 containers', () => {
    beforeAll(async () => {
      scene = await openImageScene(lab);
      await startContainers();
      await compose('up', '--detach');
      await engine.waitFor('upkeep', ({ State }) => State.Running);
      await answers();
      token = await scene.docker('exec', 'upkeep', 'upkeep', 'token');
      browser = await openBrowser();
    });
    beforeEach(({ onTestFailed }) => {
      onTestFailed(async () => console.log((await logOf(engine, 'upkeep')).slice(-3000)));
    });
    afterAll(async () => {
      await browser?.close();
      await compose('down', '--volumes');
      await engine.clear();
    });

    test('the page shows the true state of each within 30 s after it is ready, and is live', async () => {
      const untilMs = Date.now() + 30_000;
      page = await open();
      for (const [name, word] of Object.entries(atFirst))
        await row(page, name)
          .locator('.c-status', { hasText: word })
          .waitFor({ timeout: Math.max(1000, untilMs - Date.now()) });
      expect(await page.locator('tr.row').count()).toBe(Object.keys(atFirst).length);
      await page.locator('#live', { hasText: 'Live' }).waitFor();
      expect((await row(page, 'mine').locator('.c-version').textContent())?.trim()).toBe('2.1');
      await shoot('first');
    });

    test('a word is the same on the page, in check, in containers and in the API', async () => {
      await agree();
    });

    test('Approve, Skip, Snooze, Update and Roll back work', async () => {
      await row(page, 'asks').getByRole('button', { name: 'Approve asks' }).click();
      await page.locator('#confirm').getByRole('button', { name: 'Approve and update' }).click();
      await untilRowSays('asks', /^Updated just now/);

      await row(page, 'shop-web').locator('.c-name a').click();
      await page
        .locator('#drawer')
        .getByRole('button', { name: /^Skip / })
        .click();
      await row(page, 'shop-web')
        .getByText(/ is skipped/)
        .waitFor();

      await row(page, 'shop-api').locator('.c-name a').click();
      await drawerOf(page, 'shop-api').waitFor();
      await page.locator('#drawer').getByRole('button', { name: 'Snooze…' }).click();
      await page.locator('#confirm').getByText('3 days').click();
      await page.locator('#confirm').getByRole('button', { name: 'Snooze', exact: true }).click();
      await row(page, 'shop-api')
        .getByText(/^Snoozed until/)
        .waitFor();
      await page.keyboard.press('Escape');

      await row(page, 'good').getByRole('button', { name: 'Update good' }).click();
      await page.locator('#confirm').getByRole('button', { name: 'Update', exact: true }).click();
      await untilRowSays('good', /^Updated just now/);
      await row(page, 'good').locator('.c-name a').click();
      await page.locator('#drawer').getByRole('button', { name: 'Roll back to v1…' }).click();
      await page.locator('#confirm').getByRole('button', { name: 'Roll back', exact: true }).click();
      await untilRowSays('good', /Went back to v1/);
      await page.keyboard.press('Escape');
    });

    test('what the command line does is on the page at once, with its reason and log', async () => {
      const said = await scene.docker('exec', 'upkeep', 'upkeep', 'update', 'bad').catch(outputOf);
      expect(said).toMatch(/^bad +failed; back on v1/m);
      await row(page, 'bad').getByText('Failed; back on v1').waitFor();
      await page.locator('tr.row[data-name="bad"][data-bucket="wrong"]').waitFor();
      await row(page, 'bad').getByRole('button', { name: 'See why bad' }).click();
      await page.locator('#drawer .log', { hasText: 'boom' }).waitFor();
      await page
        .locator('#drawer .tell')
        .getByText(/exited with code 3/)
        .waitFor();
      await shoot('drawer');
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: 'History' }).click();
      await page.locator('.run .by', { hasText: 'command line' }).first().waitFor();
      expect(await page.locator('.run .by').allTextContents()).toEqual(
        expect.arrayContaining([expect.stringMatching(/^browser session/), 'command line']),
      );
      await page.getByRole('link', { name: 'Containers', exact: true }).click();
      await agree();
    });

    test('a restart changes nothing on the page but ages', async () => {
      const before = await words();
      await page.close();
      await compose('restart', 'upkeep');
      await answers();
      page = await open();
      await expect.poll(words, { timeout: 120_000 }).toEqual(before);
      await row(page, 'bad').getByRole('button', { name: 'See why bad' }).click();
      await page.locator('#drawer .log', { hasText: 'boom' }).waitFor();
      await page.keyboard.press('Escape');
      await agree();
      await shoot('later');
      expect(await violations(page)).toEqual([]);
      expect(page.complaints).toEqual([]);
    });
  });

  async function startContainers(): Promise<void> {
    const image = (name: string) => `${registry.host}/first-hour/${name}`;
    const labels = (more: Readonly<Record<string, string>>) =>
      Object.entries(more).flatMap(([name, value]) => ['--label', `${name}=${value}`]);
    const run = async (name: string, tag: string, ...options: readonly string[]) =>
      scene.docker('run', '--detach', '--name', name, ...options, tag);
    for (const name of ['db', 'api', 'web', 'bad', 'vpn', 'once', 'asks', 'good', 'watched', 'young'])
      await pushImage(registry, `first-hour/${name}`, 'latest', catalogue.v1);
    // Its port is free in the network of the VPN.
    const besides = ['sh', '-c', "trap 'exit 0' TERM; httpd -f -p 8081 & wait"];
    await pushImage(registry, 'first-hour/torrent', 'latest', webServer('v1', { Cmd: besides }));
    const { digest } = await pushImage(registry, 'first-hour/pinned', 'latest', catalogue.v1);
    const shop = (service: string) =>
      labels({ 'com.docker.compose.project': 'shop', 'com.docker.compose.service': service });
    await run('shop-db', image('db'), ...shop('db'));
    await run('shop-api', image('api'), ...shop('api'), ...labels({ 'upkeep.depends-on': 'shop-db' }));
    await run('shop-web', image('web'), ...shop('web'), ...labels({ 'upkeep.depends-on': 'shop-api' }));
    await run('bad', image('bad'));
    await run('vpn', image('vpn'));
    await run('torrent', image('torrent'), '--network', 'container:vpn');
    await run('once', image('once'), '--rm');
    await run('pinned', `${image('pinned')}@${digest}`);
    await scene.derive('mine:2.1', `FROM ${image('db')}`, 'LABEL mine=yes');
    await run('mine', 'mine:2.1');
    await run('asks', image('asks'), ...labels({ 'upkeep.approve': 'true' }));
    await run('good', image('good'));
    await run('watched', image('watched'), ...labels({ 'upkeep.monitor-only': 'true' }));
    await run('young', image('young'), ...labels({ 'upkeep.cooldown-delay': '10d' }));
    const next = { created: new Date().toISOString() };
    for (const name of ['api', 'web', 'vpn', 'once', 'asks', 'good', 'watched', 'young'])
      await pushImage(registry, `first-hour/${name}`, 'latest', { ...catalogue.v2, ...next });
    await pushImage(registry, 'first-hour/bad', 'latest', webServer('v2', catalogue.crash.config));
  }

  /** The registry of the lab is on a loopback address, so the service uses the network of the host. */
  async function compose(...args: readonly string[]): Promise<void> {
    const file = join(lab.dir, 'first-hour.yaml');
    const environment = { UPKEEP_HEALTH_WINDOW: '2s', UPKEEP_HTTP_API_RATE_LIMIT: '100000' };
    const service = { network_mode: 'host', environment };
    const text = JSON.stringify({ services: { upkeep: service } }).replace(
      '"network_mode"',
      '"ports": !reset [], "network_mode"',
    );
    writeFileSync(file, text);
    const env = dockerEnvironment(lab.dir, '/run/docker.sock');
    await promisify(execFile)('docker', ['compose', '--file', 'compose.yaml', '--file', file, ...args], {
      cwd: root,
      env,
      maxBuffer: 64 << 20,
    });
  }

  async function answers(): Promise<void> {
    await vi.waitFor(async () => expect((await httpRequest({ url: `${url}/readyz` })).status).toBe(200), {
      timeout: 120_000,
    });
  }

  async function open(): Promise<OpenPage> {
    const opened = await openPage(browser!.context, url, { width: 1280, token });
    // Updates on a busy machine take longer than an element of the page.
    opened.setDefaultTimeout(120_000);
    await opened.locator('#live[data-state="live"]').waitFor();
    return opened;
  }

  /** An update takes two minutes where three suites run beside it on two slow cores. */
  async function untilRowSays(name: string, text: RegExp): Promise<void> {
    await expect
      .poll(async () => row(page, name).locator('.word').first().textContent(), { timeout: 300_000 })
      .toMatch(text);
  }

  /** The word of each row, without ages and times. */
  async function words(): Promise<Readonly<Record<string, string>>> {
    const texts = await page
      .locator('tr.row')
      .evaluateAll((rows) =>
        rows.map((each) => [each.getAttribute('data-name') ?? '', each.querySelector('.word')?.textContent ?? '']),
      );
    return Object.fromEntries(texts.map(([name = '', word = '']) => [name, word.replace(/(Updated|until|,).*/, '$1')]));
  }

  /** Page, `check`, `containers` and the API agree about each container. */
  async function agree(): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    // `check` asks the registry anew, so it comes first.
    const lists = [
      await scene.docker('exec', 'upkeep', 'upkeep', 'check').catch(outputOf),
      await scene.docker('exec', 'upkeep', 'upkeep', 'containers').catch(outputOf),
    ];
    const { body } = await httpRequest({ url: `${url}/v1/containers/details`, headers });
    const { containers } = JSON.parse(body.toString()) as {
      containers: { name: string; verdict: string; hold?: string }[];
    };
    for (const { name, verdict, hold = '' } of containers) {
      const onPage = hold === '' || verdict === 'unknown' ? pageWords[verdict] : pageWords[hold];
      await expect
        .poll(async () => [name, (await words())[name]])
        .toEqual([name, expect.stringMatching(onPage ?? /^$/)]);
      // On the page the version that is skipped and the age of an update stand beside the word.
      const inTerminal = verdict === 'fresh' ? 'up to date' : hold === 'skipped' ? hold : onPage?.source.slice(1);
      for (const list of lists) expect(list).toMatch(new RegExp(`^${name} +${inTerminal}`, 'im'));
    }
  }

  async function shoot(name: string): Promise<void> {
    const folder = join(root, 'test-results/first-hour');
    mkdirSync(folder, { recursive: true });
    for (const width of [1280, 390])
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), animations: 'disabled' });
      }
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'light' });
  }
});

/** The commands exit with 1 where something failed. */
function outputOf(error: unknown): string {
  return error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
}

const atFirst: Readonly<Record<string, string>> = {
  upkeep: 'Built here',
  'shop-db': 'Up to date',
  'shop-api': 'Update ready',
  'shop-web': 'Update ready',
  bad: 'Update ready',
  vpn: 'Update ready',
  torrent: 'Up to date',
  once: 'Not replaced by an update',
  pinned: 'Pinned to a digest',
  mine: 'Built here',
  asks: 'Waits for your approval',
  good: 'Update ready',
  watched: 'Monitored only',
  young: 'Too young',
};

/** The words on the page by verdict or hold. */
const pageWords: Readonly<Record<string, RegExp>> = {
  fresh: /^(?:Up to date|Updated)/,
  stale: /^Update ready/,
  pinned: /^Pinned to a digest/,
  local: /^Built here/,
  unknown: /^Could not be checked/,
  'failed-elsewhere': /^Failed in another container/,
  failed: /^Failed; back on/,
  'went-back': /^Went back to/,
  approval: /^Waits for your approval/,
  cooldown: /^Too young/,
  skipped: / is skipped/,
  snoozed: /^Snoozed/,
  'monitor-only': /^Monitored only/,
  'not-replaceable': /^Not replaced by an update/,
};
