import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, onTestFinished } from 'vitest';
import { obtainPlugins } from '../../lab/engine/engines.mjs';
import type { Lab } from '../../lab/lab.ts';
import { webServer } from '../../lab/registry/catalogue.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { skipBecause } from '../../lab/skip-because.ts';
import { runUpkeep } from '../../support/scene/run-upkeep.ts';
import { dockerEnvironment } from './docker.ts';
import { needs } from './needs.ts';

const run = promisify(execFile);

type Told = {
  readonly name: string;
  readonly outcome: string;
  readonly reason: string;
  readonly compose?: { readonly state?: string; readonly reason?: string };
};

/**
 * Projects of docker compose on the lab's engine, and Upkeep that writes their files. Each test has a repository of its
 * own, and the engine is cleared after it.
 */
export function composeShop(lab: Lab) {
  const { engine, registry } = lab;
  const { failure } = obtainPlugins();
  let repository = '';
  let tests = 0;
  beforeEach((context) => {
    if (failure !== undefined || !existsSync(needs.compose))
      skipBecause(context, failure ?? `missing: ${needs.compose}`);
    repository = `${basename(context.task.file.name, '.test.ts')}/web${(tests += 1)}`;
  });
  afterEach(() => engine.clear());
  const reference = () => `${registry.host}/${repository}`;
  const push = (tag: string, content = webServer(tag)) => pushImage(registry, repository, tag, content);

  /** A project in a folder of its own, started by compose, with versions 1.27 and 1.28 in the registry. */
  async function shop(files: Readonly<Record<string, string>>, ...order: readonly string[]) {
    for (const tag of ['1.27', '1.28']) await push(tag);
    const roots = await mkdtemp(join(lab.dir, 'stacks-'));
    onTestFinished(() => rm(roots, { recursive: true }));
    const folder = join(roots, 'shop');
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const env = { ...dockerEnvironment(lab.dir, engine.socket), HOME: folder };
    const named = order.flatMap((path) => ['-f', path]);
    const compose = async (...args: readonly string[]) =>
      (await run(needs.compose, [...named, ...args], { cwd: folder, env })).stdout;
    const up = () => compose('up', '-d', '--quiet-pull');
    await up();
    const read = (path = 'compose.yaml') => readFile(join(folder, path), 'utf8');
    const writing = ['--compose-files', 'write', '--compose-roots', roots, '--state-dir', join(roots, 'state')];
    const check = async () => {
      const { stdout } = await runUpkeep(['check', '--json', ...writing.slice(0, 4)], { socket: engine.socket });
      return containersIn(stdout);
    };
    const upkeep = async (args: readonly string[], options = writing) => {
      const told = await runUpkeep([...args, '--json', '--health-window', '1s', ...options], { socket: engine.socket });
      return { ...told, containers: containersIn(told.stdout) };
    };
    const update = async (...options: readonly string[]) => upkeep(['update'], [...writing, ...options]);
    return { roots, folder, compose, up, read, upkeep, update, check };
  }

  const service = (name: string, of: string, more = '') =>
    `  ${name}:\n    image: ${of}\n    stop_grace_period: 1s\n    labels: { upkeep.policy: minor }\n${more}`;
  const oneService = (of = `${reference()}:1.27`) =>
    `# The shop\nservices:\n${service('web', `${of} # pinned by hand`)}`;
  return { reference, push, shop, service, oneService };
}

function containersIn(text: string): readonly Told[] {
  try {
    return (JSON.parse(text) as { containers: Told[] }).containers.toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
  } catch {
    return [];
  }
}
