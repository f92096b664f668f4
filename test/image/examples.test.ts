import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { catalogue } from '../lab/registry/catalogue.ts';
import { httpRequest } from '../lab/http.ts';
import { pushImage } from '../lab/registry/push.ts';
import { runUpkeep, startUpkeep } from '../support/scene/run-upkeep.ts';
import { describeImage } from './rig/describe-image.ts';
import { dockerAt } from './rig/docker.ts';
import { needs } from './rig/needs.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const textOf = (path: string) => readFileSync(join(root, path), 'utf8');
const token = 'token-of-the-examples';

/** The examples with the programs that they configure. Addresses and paths of containers become those of the lab. */
describeImage('the examples', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  test('docker compose reads every compose file', async () => {
    const docker = dockerAt(lab.dir, engine.socket);
    const folders = readdirSync(join(root, 'examples')).filter((name) => !name.includes('.') && name !== 'ci');
    for (const file of ['compose.yaml', ...folders.map((name) => `examples/${name}/compose.yaml`)])
      expect(await docker('compose', '--file', file, 'config', '--services')).toContain(
        file.includes('/watchtower/') ? 'watchtower' : 'upkeep',
      );
  });

  test('the socket proxy lets an update pass, and refuses a command in a container', async () => {
    const config = textOf('examples/socket-proxy/haproxy.cfg')
      .replace('bind :2375', 'bind 127.0.0.1:12375')
      .replace('unix@/var/run/docker.sock', `unix@${engine.socket}`);
    const file = join(mkdtempSync(join(lab.dir, 'haproxy-')), 'haproxy.cfg');
    writeFileSync(file, config);
    start(needs.haproxy, ['-db', '-f', file]);
    await answers('http://127.0.0.1:12375/_ping');

    const image = `${registry.host}/examples/web:latest`;
    await pushImage(registry, 'examples/web', 'latest', catalogue.v1);
    await engine.pull(image);
    await engine.run('web', image);
    await pushImage(registry, 'examples/web', 'latest', catalogue.v2);
    const update = ['update', '--host', 'tcp://127.0.0.1:12375', '--health-window', '1s'];
    const { code, stdout, stderr } = await runUpkeep(update);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('1 updated');
    expect((await engine.inspect('web'))?.Config.Labels['org.opencontainers.image.version']).toBe('v2');

    for (const path of ['/containers/web/exec', '/containers/create/../web/exec', '/v1.41/volumes/create']) {
      const url = `http://127.0.0.1:12375${path}`;
      expect([path, (await httpRequest({ method: 'POST', url, body: '{}' })).status]).toEqual([path, 403]);
    }
  });

  test('Caddy serves the API with TLS', async () => {
    const address = await startDemo();
    const caddyfile = textOf('examples/caddy/Caddyfile').replace('upkeep:8080', new URL(address).host);
    const folder = mkdtempSync(join(lab.dir, 'caddy-'));
    // Only for the test: the authority that Caddy makes for localhost stays out of this machine's trust.
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tskip_install_trust\n}\n${caddyfile}`);
    const run = ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
    start(needs.caddy, run, { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, UPKEEP_DOMAIN: 'localhost' });
    const url = 'https://localhost/v1/containers';
    const authority = join(folder, 'caddy/pki/authorities/local/root.crt');
    await answers(url, authority);
    const ca = readFileSync(authority, 'utf8');
    expect((await httpRequest({ url, ca })).status).toBe(401);
    expect((await httpRequest({ url, ca, headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
  });

  test('the CI job prints what became of the container, and fails for an unknown container and a refused token', async () => {
    const address = await startDemo();
    const known = runJob(address, { CONTAINER: 'blog' });
    expect([known.status, known.stderr]).toEqual([0, '']);
    expect(known.stdout).toMatch(/^blog: fresh/);
    expect(runJob(address, { CONTAINER: 'nobody' }).status).not.toBe(0);
    const refused = runJob(address, { CONTAINER: 'blog', UPKEEP_TOKEN: 'wrong' });
    expect(refused.status).not.toBe(0);
    expect(refused.stdout).toContain('invalid or missing authentication token');
  });

  function runJob(address: string, variables: Readonly<Record<string, string>>) {
    type Workflow = { readonly jobs: { readonly update: { readonly steps: readonly { readonly run: string }[] } } };
    const { jobs } = parse(textOf('examples/ci/update-after-push.yml')) as Workflow;
    const env = { ...process.env, UPKEEP_URL: address, UPKEEP_TOKEN: token, RUNNER_TEMP: lab.dir, ...variables };
    // As GitHub runs it: https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell
    const shell = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', jobs.update.steps[0]?.run ?? ''];
    return spawnSync('bash', shell, { env, encoding: 'utf8' });
  }
});

/** The demonstration with the whole API; resolves to its address. */
async function startDemo(): Promise<string> {
  const demo = startUpkeep(['demo', '--http-api-port', '0', '--http-api-token', token]);
  onTestFinished(async () => {
    demo.child.kill('SIGTERM');
    await demo.ended;
  });
  await demo.seen('API token: ');
  return /http:\/\/[\w.:]+/.exec(demo.output())?.[0] ?? '';
}

function start(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function answers(url: string, authority?: string): Promise<void> {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    try {
      await httpRequest({ url, ...(authority !== undefined && { ca: readFileSync(authority, 'utf8') }) });
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(50);
    }
  }
}
