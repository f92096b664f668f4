import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { describe } from 'vitest';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);

/** Without a browser, fails in CI and is skipped elsewhere with a notice. */
export const describeInBrowser = executablePath === undefined ? describeWithoutBrowser() : describe;

function describeWithoutBrowser() {
  if (process.env['CI'] === 'true') throw new Error('there is no browser: apt-get install chromium');
  console.log('NOTICE: there is no Chromium here; tests in a browser are skipped');
  return describe.skip;
}

/** An own browser, which sends requests to the page's server only. `more`: flags of Chromium. */
export async function openBrowser(more: readonly string[] = []): Promise<{
  readonly context: BrowserContext;
  readonly close: () => Promise<void>;
}> {
  const profile = mkdtempSync(join(tmpdir(), 'upkeep-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath ?? '',
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
  return {
    context,
    close: async () => {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** A page's errors, and the hosts of its requests. */
export function watchPage(page: Page): { readonly complaints: string[]; readonly hosts: Set<string> } {
  const complaints: string[] = [];
  const hosts = new Set<string>();
  page.on('console', (message) => {
    if ((message.type() === 'error' || message.type() === 'warning') && !message.text().includes(networkChanged))
      complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('requestfailed', (request) => {
    if (request.failure()?.errorText !== networkChanged) complaints.push(`failed: ${request.url()}`);
  });
  page.on('request', (request) => {
    if (/^https?:/.test(request.url())) hosts.add(new URL(request.url()).host);
  });
  return { complaints, hosts };
}

/** Containers add and remove network interfaces, and Chromium then aborts requests; the page asks again. */
const networkChanged = 'net::ERR_NETWORK_CHANGED';
