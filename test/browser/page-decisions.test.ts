import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInBrowser } from './browser.ts';
import { home, type HomeContainer, publishNewer } from './home.ts';
import { drawerOf, type OpenPage, row, type Stage, startStage } from './stage.ts';
import { violations } from './violations.ts';

const approve = { 'upkeep.approve': 'true' };
const few: readonly HomeContainer[] = home
  .filter(({ name }) => ['traefik', 'vaultwarden', 'immich-server', 'loki'].includes(name))
  .map((one) => (one.name === 'traefik' ? { ...one, labels: { ...one.labels, ...approve } } : one));

describeInBrowser('decisions on the page', () => {
  let stage: Stage;
  let page: OpenPage;
  beforeAll(async () => {
    stage = await startStage(few);
    await stage.service.ask('/v1/check', { method: 'POST' });
    page = await stage.open();
    await page.locator('#live[data-state="live"]').waitFor();
  });
  afterAll(() => stage.close());

  test('a version that waits for approval is counted, and its row offers that', async () => {
    await row(page, 'traefik').getByText('Waits for your approval').waitFor();
    expect(await page.locator('#lead').textContent()).toContain('1 waits for your approval');
    await row(page, 'traefik').getByRole('button', { name: 'Approve traefik' }).click();
    await page.locator('#confirm .plan').waitFor();
    expect(await page.locator('#confirm h2').textContent()).toBe('Approve 3.2.1 of traefik?');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await decisions(stage)).toEqual([]);
    // Sooner than the next regular reading.
    await row(page, 'traefik').getByText('Waits for your approval').waitFor({ timeout: 5000 });
  });

  test('the plan of an approval leaves what the list says as it is', async () => {
    const { containers } = (await stage.service.ask('/v1/containers/details')).json();
    expect(find(containers, 'traefik')).toMatchObject({ verdict: 'held', hold: 'approval' });
  });

  test('an approval for the next run makes the update ready, and can be undone', async () => {
    await row(page, 'traefik').getByRole('button', { name: 'Approve traefik' }).click();
    await page.locator('#confirm').getByRole('button', { name: 'At the next run' }).click();
    await row(page, 'traefik').getByText('Update ready').waitFor();
    expect(await decisions(stage)).toEqual(['approve traefik']);
    await page.locator('#notice').getByRole('button', { name: 'Undo' }).click();
    await row(page, 'traefik').getByText('Waits for your approval').waitFor();
    expect(await decisions(stage)).toEqual([]);
  });

  test('an approval is taken back in the drawer', async () => {
    await row(page, 'traefik').getByRole('button', { name: 'Approve traefik' }).click();
    await page.locator('#confirm').getByRole('button', { name: 'At the next run' }).click();
    await row(page, 'traefik').getByText('Update ready').waitFor();
    await row(page, 'traefik').locator('.c-name a').click();
    await page
      .locator('#drawer')
      .getByText(/^Approved today \d\d:\d\d \(browser session\)\.$/)
      .waitFor();
    await page.locator('#drawer').getByRole('button', { name: 'Withdraw approval' }).click();
    await row(page, 'traefik').getByText('Waits for your approval').waitFor();
    await page.keyboard.press('Escape');
  });

  test('a skip holds the version back, Undo offers it again, and so does the drawer', async () => {
    await row(page, 'vaultwarden').locator('.c-name a').click();
    await page.locator('#drawer').getByRole('button', { name: 'Skip 1.32.5' }).click();
    await row(page, 'vaultwarden').getByText('1.32.5 is skipped').waitFor();
    await page
      .locator('#notice')
      .getByText(/^1\.32\.5 of vaultwarden is skipped\. It is forgotten/)
      .waitFor();
    await page.locator('#notice').getByRole('button', { name: 'Undo' }).click();
    await row(page, 'vaultwarden').getByText('Update ready').waitFor();
    await page.locator('#drawer').getByRole('button', { name: 'Skip 1.32.5' }).click();
    await row(page, 'vaultwarden').getByText('1.32.5 is skipped').waitFor();
    await page.locator('#drawer').getByRole('button', { name: 'Offer again' }).click();
    await row(page, 'vaultwarden').getByText('Update ready').waitFor();
    await page.keyboard.press('Escape');
  });

  test('the focus stays on a button while others come and go, and goes to a neighbour if its own goes', async () => {
    await row(page, 'vaultwarden').locator('.c-name a').click();
    await drawerOf(page, 'vaultwarden').waitFor();
    await page.locator('#drawer').getByRole('button', { name: 'Check', exact: true }).focus();
    await page.evaluate(
      `[...document.querySelectorAll('#drawer button')].find((node) => node.textContent === 'Skip 1.32.5').click()`,
    );
    const again = page.locator('#drawer').getByRole('button', { name: 'Offer again' });
    await again.waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Check');
    await again.focus();
    await page.keyboard.press('Enter');
    await again.waitFor({ state: 'detached' });
    expect(await page.evaluate(`document.activeElement.closest('#drawer') !== null`)).toBe(true);
    await page.keyboard.press('Escape');
  });

  test('a snooze says until when, and is in the group Held back', async () => {
    await row(page, 'vaultwarden').locator('.c-name a').click();
    await page.locator('#drawer').getByRole('button', { name: 'Snooze…' }).click();
    expect(await violations(page)).toEqual([]);
    await page.locator('#confirm').getByText('3 days').click();
    await page.locator('#confirm').getByRole('button', { name: 'Snooze', exact: true }).click();
    await row(page, 'vaultwarden')
      .getByText(/^Snoozed until /)
      .waitFor();
    await page.keyboard.press('Escape');
    const held = page.locator('.count[data-kind="held"] b');
    await expect.poll(() => held.textContent()).toBe('1');
    const [{ until }] = (await stage.service.ask('/v1/decisions')).json().decisions;
    expect(Math.round((Date.parse(until) - Date.now()) / 86_400_000)).toBe(3);
    const fresh = await stage.open();
    await fresh.locator('.group-row h2', { hasText: 'Held back' }).waitFor();
    await fresh.close();
  });

  test('a version that has come between the look and the approval is not approved, and is said', async () => {
    await row(page, 'traefik').getByRole('button', { name: 'Approve traefik' }).click();
    await page.locator('#confirm .plan').waitFor();
    publishNewer(
      stage.service,
      few.filter(({ name }) => name === 'traefik').map((one) => ({ ...one, newer: '3.2.2' })),
    );
    await stage.service.ask('/v1/check', { method: 'POST' });
    const refused = page.waitForResponse(
      (response) => response.url().endsWith('/v1/decisions') && response.status() === 409,
    );
    await page.locator('#confirm').getByRole('button', { name: 'Approve and update' }).click();
    await refused;
    await page.locator('#notice').getByText('traefik now waits for another version, or for none.').waitFor();
    await row(page, 'traefik').locator('.c-version', { hasText: '3.2.2' }).waitFor();
    expect(await decisions(stage)).toEqual(['snooze vaultwarden']);
    expect(page.complaints.splice(0)).toEqual([expect.stringContaining('409')]);
  });

  test('another browser sees a decision at once, and its withdrawal', async () => {
    const other = await stage.open();
    await other.locator('#live[data-state="live"]').waitFor();
    await row(other, 'immich-server').locator('.c-name a').click();
    await other.locator('#drawer').getByRole('button', { name: 'Skip v1.119.0' }).click();
    await row(other, 'immich-server').getByText('v1.119.0 is skipped').waitFor();
    await row(page, 'immich-server').getByText('v1.119.0 is skipped').waitFor();
    await row(page, 'immich-server').locator('.c-name a').click();
    await page.locator('#drawer').getByRole('button', { name: 'Offer again' }).click();
    await row(page, 'immich-server').getByText('Update ready').waitFor();
    await row(other, 'immich-server').getByText('Update ready').waitFor();
    expect(await decisions(stage)).toEqual(['snooze vaultwarden']);
    await page.keyboard.press('Escape');
    await other.close();
  });

  test('Approve and update does both', async () => {
    await row(page, 'traefik').getByRole('button', { name: 'Approve traefik' }).click();
    await page.locator('#confirm').getByRole('button', { name: 'Approve and update' }).click();
    await row(page, 'traefik')
      .getByText(/^Updated just now/)
      .waitFor();
    expect(await row(page, 'traefik').locator('.c-version').textContent()).toBe('3.2.2');
  });

  test('a snooze lasts as long as it says in a browser whose clock is two days behind', async () => {
    await stage.context.addInitScript(`{ const now = Date.now; Date.now = () => now() - 2 * 86400000; }`);
    const other = await stage.open();
    await row(other, 'immich-server').locator('.c-name a').click();
    await other.locator('#drawer').getByRole('button', { name: 'Snooze…' }).click();
    await other.locator('#confirm').getByText('until tomorrow').waitFor();
    await other.locator('#confirm').getByText('1 day').click();
    await other.locator('#confirm').getByRole('button', { name: 'Snooze', exact: true }).click();
    await row(other, 'immich-server')
      .getByText(/^Snoozed until tomorrow/)
      .waitFor();
    const { decisions: all } = (await stage.service.ask('/v1/decisions')).json();
    const until = all.find(({ container }: Record<string, string>) => container === 'immich-server')?.until;
    expect(Math.round((Date.parse(until) - Date.now()) / 3_600_000)).toBe(24);
    await other.close();
  });

  test('the console has nothing else to say', () =>
    expect(page.complaints.filter((text) => !text.includes('404'))).toEqual([]));
});

describeInBrowser('the page of a service without the group decisions', () => {
  test('says what waits and how it is released, and shows no button for it', async () => {
    const groups = ['containers', 'metrics', 'config', 'check', 'update', 'dashboard'] as const;
    const stage = await startStage(few, { settings: { groups } });
    await stage.service.ask('/v1/check', { method: 'POST' });
    const page = await stage.open();
    await row(page, 'traefik').getByText('Waits for your approval').waitFor();
    expect(await row(page, 'traefik').getByRole('button').count()).toBe(0);
    await row(page, 'traefik').locator('.c-name a').click();
    await page.locator('#drawer').getByText('release it with upkeep approve traefik').waitFor();
    expect(await page.getByRole('button', { name: /^(Approve|Skip|Snooze)(?! to)/ }).count()).toBe(0);
    expect(page.complaints).toEqual([]);
    await stage.close();
  });
});

async function decisions({ service }: Stage): Promise<readonly string[]> {
  const { decisions: all } = (await service.ask('/v1/decisions')).json();
  return all.map(({ decision, container }: Record<string, string>) => `${decision} ${container}`);
}

function find(containers: readonly { readonly name: string }[], name: string): unknown {
  return containers.find((one) => one.name === name);
}
