import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { obtainPlugins } from '../lab/engine/engines.mjs';
import { webServer } from '../lab/registry/catalogue.ts';
import { pushImage } from '../lab/registry/push.ts';
import { skipBecause } from '../lab/skip-because.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { dockerEnvironment } from './rig/docker.ts';
import { needs } from './rig/needs.ts';

const run = promisify(execFile);
const killer = fileURLToPath(new URL('../faults/rig/file-killer.mjs', import.meta.url));

describeInLab('an update that is killed while it writes a compose file', (lab) => {
  const { engine, registry } = lab;
  const { failure } = obtainPlugins();
  const program = needs.compose;
  beforeEach((context) => {
    if (failure !== undefined || !existsSync(program)) skipBecause(context, failure ?? `missing: ${program}`);
  });
  afterEach(() => engine.clear());

  test('before, in the middle of and after each change of a file: the next start makes file, record and container agree', async () => {
    const image = `${registry.host}/compose-killed/web`;
    const roots = await mkdtemp(join(lab.dir, 'killed-'));
    const [folder, state] = [join(roots, 'shop'), join(roots, 'state')];
    await mkdir(folder);
    const file = join(folder, 'compose.yaml');
    // More than a page of memory behind the tag, and tags of growing and shrinking length.
    const tail = `#${'x'.repeat(9000)}\n`;
    const textWith = (tag: string) =>
      `services:\n  web:\n    image: ${image}:${tag}\n    stop_grace_period: 1s\n    labels: { upkeep.policy: major }\n${tail}`;
    const push = (tag: string) => pushImage(registry, 'compose-killed/web', tag, webServer(tag));
    await push('1.0.0');
    await writeFile(file, textWith('1.0.0'));
    const env = { ...dockerEnvironment(lab.dir, engine.socket), HOME: folder };
    await run(program, ['up', '-d', '--quiet-pull'], { cwd: folder, env });
    const writing = ['--compose-files', 'write', '--compose-roots', roots, '--state-dir', state];
    const upkeep = (args: readonly string[], kill?: { at: number; when: string }) =>
      runUpkeep([...args, '--health-window', '200ms', ...writing], {
        socket: engine.socket,
        ...(kill && {
          nodeOptions: ['--import', killer],
          env: { KILL_AT: String(kill.at), KILL_WHEN: kill.when, KILL_IN: 'compose' },
        }),
      });
    const running = async () => (await engine.inspect('shop-web-1'))?.Config.Image;
    const lastSteps = async () => {
      const lines = (await readFile(join(state, 'compose.jsonl'), 'utf8').catch(() => '')).split('\n').slice(1);
      const records = lines.flatMap((line) =>
        line.startsWith('{"id"') && line.endsWith('}')
          ? [JSON.parse(line) as { id: string; step: string; to: string }]
          : [],
      );
      return new Map(records.map(({ id, step }) => [id, step]));
    };
    /** The tag of a whole text. */
    const described = (text: string) => {
      const [, found = ''] = /web:(\S+)/.exec(text) ?? [];
      return text === textWith(found) ? found : `${text.slice(0, 200)}…`;
    };
    let number = 1;
    let tag = '1.0.0';
    let killed = 0;
    const left = new Set<string>();
    for (const when of ['before', 'torn', 'after'])
      for (let at = 1; ; at += 1) {
        number += 1;
        const next = `${number}.${number % 2 === 0 ? 0 : 10_000}.0`;
        await push(next);
        const { code } = await upkeep(['update'], { at, when });
        const isWhole = code === 0;
        const about = `${when} ${at}: ${tag} → ${next}`;
        const text = await readFile(file, 'utf8');
        left.add(text === textWith(tag) ? 'old' : text === textWith(next) ? 'new' : 'between');
        const repaired = await upkeep(['recover']);
        expect(repaired.code, `${about}: ${repaired.stdout}${repaired.stderr}`).toBe(0);
        const now = (await running())?.slice(image.length + 1) ?? '';
        expect([tag, next], about).toContain(now);
        expect(described(await readFile(file, 'utf8')), about).toBe(now);
        const steps = await lastSteps();
        expect(
          [...steps.values()].filter((step) => step === 'begun' || step === 'writing'),
          about,
        ).toEqual([]);
        if (now === tag) expect((await upkeep(['update'])).code).toBe(0);
        expect(described(await readFile(file, 'utf8')), about).toBe(next);
        tag = next;
        if (isWhole) break;
        killed += 1;
      }
    expect(killed).toBeGreaterThan(20);
    expect([...left].sort()).toEqual(['between', 'new', 'old']);
  });
});
