import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { parseCompose } from '../../src/adapters/files/compose-files.ts';
import { imagesOf, textOf, type ComposeProject, type ComposeSource } from '../../src/domain/compose/compose-project.ts';
import { generatedProject } from '../support/compose/generated-project.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import { pushImage } from '../lab/registry/push.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { runUpkeep, startUpkeep } from '../support/scene/run-upkeep.ts';
import { dockerEnvironment } from './rig/docker.ts';
import { needs } from './rig/needs.ts';

const program = needs.compose;
const count = Number(process.env['COMPOSE_PROJECTS'] ?? 300);
const first = Number(process.env['COMPOSE_SEED'] ?? 1);
const run = promisify(execFile);

if (!existsSync(program) && process.env['CI'] === 'true') throw new Error(`missing: ${program}`);

describe.skipIf(!existsSync(program))('the images of generated projects', () => {
  test('are those of docker compose config', async () => {
    const root = await mkdtemp(join(tmpdir(), 'upkeep-compose-'));
    const wrong: unknown[] = [];
    let compared = 0;
    let refused = 0;
    for (let seed = first; seed < first + count; seed += 1) {
      const folder = join(root, `p${seed}`);
      const { files, order, envFiles } = generatedProject(seed);
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await writeFile(join(folder, path), text);
      }
      const theirs = await askCompose(folder, order, envFiles);
      // Compose refuses some, for example where the chosen references make no valid one.
      if (theirs === undefined) continue;
      compared += 1;
      const absolute = (path: string) => join(folder, path);
      const project = {
        name: basename(folder),
        folder,
        files: order.map(absolute),
        envFiles: envFiles.length > 0 ? envFiles.map(absolute) : undefined,
      };
      const ours = await evaluate(project);
      // Versions of compose disagree about some variables: nothing is said about these.
      if (ours === 'variables') refused += 1;
      else if (JSON.stringify(ours) !== JSON.stringify(theirs)) wrong.push({ seed, ours, theirs, files });
    }
    await rm(root, { recursive: true });
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(count * 0.9);
    expect(refused).toBeLessThan(count * 0.05);
  });
});

describeInLab('a container that docker compose has started', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  async function startShop(text: (image: string) => string, env = '') {
    const image = `${registry.host}/compose-files/web`;
    for (const tag of ['1.27', '1.28']) await pushImage(registry, 'compose-files/web', tag, webServer(tag));
    const folder = await mkdtemp(join(lab.dir, 'shop-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'compose.yaml'), text(image));
    if (env !== '') await writeFile(join(folder, '.env'), env);
    const environment = { ...dockerEnvironment(lab.dir, engine.socket), HOME: folder };
    const up = () => run(program, ['up', '-d', '--quiet-pull'], { cwd: folder, env: environment });
    await up();
    const upkeep = (args: readonly string[]) => runUpkeep(args, { socket: engine.socket });
    const check = async (...args: readonly string[]) => {
      const { stdout } = await upkeep(['check', '--json', '--compose-files', 'check', ...args]);
      const { containers } = JSON.parse(stdout) as { containers: { name: string; compose?: object }[] };
      return containers.find(({ name }) => name.includes('web'));
    };
    return { folder, image, upkeep, check };
  }

  const plain = (image: string): string =>
    `services:\n  web:\n    image: ${image}:1.27 # the shop\n    labels: { upkeep.policy: minor }\n    stop_grace_period: 1s\n`;

  test('is shown with the line of its tag, and then with the file that an update has left behind', async () => {
    const { folder, image, upkeep, check } = await startShop(plain);
    const file = join(folder, 'compose.yaml');
    const place = { file, line: 3 };
    expect(await check()).toMatchObject({ compose: { state: 'would-write', ...place, from: '1.27', to: '1.28' } });
    const before = await readFile(file, 'utf8');
    expect((await upkeep(['update', '--health-window', '1s'])).code).toBe(0);
    expect(await readFile(file, 'utf8')).toBe(before);
    const note = `${file} line 3 says "${image}:1.27"`;
    expect(await check()).toMatchObject({ compose: { state: 'differs', ...place, file_says: `${image}:1.27`, note } });
    const { stdout } = await upkeep(['check', '--compose-files', 'check']);
    expect(stdout).toContain(`shop-`);
    expect(stdout).toContain(note);

    await writeFile(file, before.replace('1.27', '1.28'));
    expect(await check()).toMatchObject({ compose: { state: 'same', ...place } });
    expect(await check('--compose-roots', '/opt/stacks')).toMatchObject({
      compose: { state: 'refused', reason: 'outside-roots' },
    });
    expect(await check('--compose-roots', `/opt/stacks,${folder}`)).toMatchObject({ compose: { state: 'same' } });
    const { stdout: silent } = await upkeep(['check', '--json']);
    expect(silent).not.toContain('"compose"');
  });

  test('is shown in the API of a service too', async () => {
    const { folder, image } = await startShop((name) => plain(name).replace('minor', 'digest'));
    await writeFile(join(folder, 'compose.yaml'), plain(image).replace('1.27', '1.26'));
    const tokens = ['--http-api-token', apiToken, '--http-api-endpoints', 'containers,check', '--http-api-port', '0'];
    const service = startUpkeep(['run', '--compose-files', 'check', ...tokens], { socket: engine.socket });
    await service.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    const compose = { state: 'differs', file: join(folder, 'compose.yaml'), line: 3, file_says: `${image}:1.26` };
    expect((await ask(url, '/v1/check', { method: 'POST' })).json().containers).toMatchObject([{ compose }]);
    expect((await ask(url, '/v1/containers/details')).json().containers).toMatchObject([{ compose }]);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });

  test('has its tag in a variable of the .env file, or in its default', async () => {
    const variable = (image: string): string => plain(image).replace(':1.27', ':${TAG:-1.26}');
    const { folder, check } = await startShop(variable, '# versions\nTAG=1.27\n');
    const place = { state: 'would-write', file: join(folder, '.env'), line: 2 };
    expect(await check()).toMatchObject({ compose: { ...place, from: '1.27', to: '1.28' } });
  });
});

type Images = readonly (readonly [string, string])[];

async function askCompose(
  folder: string,
  files: readonly string[],
  envFiles: readonly string[],
): Promise<Images | undefined> {
  const options = [...envFiles.flatMap((path) => ['--env-file', path]), ...files.flatMap((path) => ['-f', path])];
  const env = { PATH: process.env['PATH'], HOME: folder };
  const told = await run(program, [...options, 'config', '--format', 'json'], { cwd: folder, env }).catch(
    () => undefined,
  );
  if (told === undefined) return undefined;
  const { services } = JSON.parse(told.stdout) as { services: Record<string, { image?: string }> };
  return Object.entries(services)
    .flatMap(([name, { image }]) => (image === undefined ? [] : [[name, image] as const]))
    .sort(byName);
}

function byName([one]: Images[number], [other]: Images[number]): number {
  return one < other ? -1 : 1;
}

async function evaluate(project: ComposeProject): Promise<Images | string> {
  const sources = new Map<string, ComposeSource>();
  for (;;) {
    const result = imagesOf(project, sources);
    if (result.kind === 'fault') return result.fault;
    if (result.kind === 'images')
      return [...result.images].map(([name, image]) => [name, textOf(image)] as const).sort(byName);
    for (const path of result.files)
      sources.set(path, existsSync(path) ? parseCompose(await readFile(path, 'utf8')) : 'missing');
  }
}
