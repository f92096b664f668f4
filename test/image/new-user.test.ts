import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fencesOf } from '../support/pages/pages.ts';
import { describeImage } from './rig/describe-image.ts';
import { dockerAt, dockerEnvironment } from './rig/docker.ts';
import { importBase } from './rig/base.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

/** The commands of the README, unchanged, in a new checkout, with their output. */
describeImage('the README, read by a new user', (lab) => {
  const { engine } = lab;
  let checkout: string;

  beforeAll(async () => {
    await importBase(lab.dir, dockerAt(lab.dir, engine.socket));
    checkout = cleanCheckout(lab.dir);
  });
  afterAll(async () => {
    await shell('docker compose down --volumes');
    await engine.clear();
  });

  async function shell(command: string): Promise<string> {
    // At the address that users have.
    const env = dockerEnvironment(lab.dir, '/run/docker.sock');
    const { stdout } = await run('bash', ['-c', command], { cwd: checkout, env, maxBuffer: 64 << 20 });
    return stdout;
  }

  test('every command of its first section does what stands below it', async () => {
    const readme = readFileSync(join(checkout, 'README.md'), 'utf8');
    const steps = fencesOf(readme)
      .filter(({ language }) => language === 'console')
      .flatMap(({ content }) => stepsIn(content));
    expect(steps.map(({ command }) => command)).toEqual([
      'docker compose up --detach',
      'docker exec upkeep upkeep check',
      'docker exec upkeep upkeep update --dry-run',
    ]);
    for (const { command, output } of steps) {
      const printed = await shell(command);
      // Build output that the README does not show.
      if (output !== '') expect([command, printed]).toEqual([command, output]);
    }
    const container = await engine.waitFor('upkeep', ({ State }) => State.Health?.Status !== 'unhealthy');
    expect(container.State.Running).toBe(true);
    const status = await shell(
      'curl --silent --fail --header "Authorization: Bearer $(docker exec upkeep upkeep token)" http://127.0.0.1:8080/v1/containers',
    );
    expect((JSON.parse(status) as { readonly count: number }).count).toBe(1);
  });

  test('the demo starts after npm ci, and shows a rollback with its reason', async () => {
    // As after npm ci, which needs a network.
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'));
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: checkout });
    const told = await shell('npm run --silent demo -- --rounds 1 --http-api-port 0 2>/dev/null');
    expect(told).toMatch(/^grafana: failed; back on \S+ .*it exited with code 1$/m);
    expect(told).toMatch(/^Page: http:\/\/127\.0\.0\.1:\d+\//m);
    expect(told.trimEnd()).toMatch(/14 of 14 containers are running$/);
  });
});

/** The files of the git repository with their uncommitted changes. */
function cleanCheckout(labDir: string): string {
  const folder = mkdtempSync(join(labDir, 'checkout-'));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  });
  for (const file of files.split('\0').filter((path) => path !== '' && path !== 'node_modules')) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  return folder;
}

/** The commands of a block, each with the output below it. */
function stepsIn(block: string): readonly { readonly command: string; readonly output: string }[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const end = step.indexOf('\n');
      return { command: step.slice(0, end), output: step.slice(end + 1) };
    });
}
