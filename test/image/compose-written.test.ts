import { execFile } from 'node:child_process';
import { chmod, link, lstat, mkdir, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import { composeShop } from './rig/compose-shop.ts';

const run = promisify(execFile);

describeInLab('a compose file after an update to another tag', (lab) => {
  const { engine } = lab;
  const { push, shop, service, oneService, reference } = composeShop(lab);

  test('a tag is written into the compose file after its update, below --compose-roots, unless --compose-files or the label says off', async () => {
    const text = `${oneService()}${service('quiet', `${reference()}:1.27`).replace('minor }', 'minor, upkeep.compose-files: off }')}`;
    const { read, update, upkeep, up, folder } = await shop({ 'compose.yaml': text });
    const off = await upkeep(['update', 'shop-web-1'], []);
    expect(off.containers).toMatchObject([{ outcome: 'updated' }]);
    expect(await read()).toBe(text);
    expect(off.containers[0]?.reason).toContain('the compose file may still name');
    await upkeep(['rollback', 'shop-web-1'], []);
    await upkeep(['rollback', 'shop-web-1', '--yes'], []);
    await push('1.29');
    expect(await read()).toBe(text);

    const written = text.replace('1.27 # pinned', '1.29 # pinned');
    await writeFile(join(folder, 'compose.yaml'), text.replace('1.27 # pinned', '1.28 # pinned'));
    const on = await update();
    expect(await read()).toBe(written);
    expect(on.containers).toMatchObject([
      { name: 'shop-quiet-1', outcome: 'updated', reason: expect.stringContaining('may still name') },
      {
        name: 'shop-web-1',
        outcome: 'updated',
        compose: { state: 'written', file: join(folder, 'compose.yaml'), line: 4, from: '1.28', to: '1.29' },
      },
    ]);
    await up();
    expect((await engine.inspect('shop-web-1'))?.Config.Image).toBe(`${reference()}:1.29`);
  });

  test('says before what it will write, and a rollback puts it back, byte for byte', async () => {
    const text = `\u{feff}${oneService()}`.replaceAll('\n', '\r\n');
    const { read, update, upkeep, check, folder } = await shop({ 'compose.yaml': text });
    const place = { file: join(folder, 'compose.yaml'), line: 4 };
    expect(await check()).toMatchObject([{ compose: { state: 'will-write', ...place, from: '1.27', to: '1.28' } }]);
    await update();
    expect(await read()).toBe(text.replace('1.27', '1.28'));
    expect(await check()).toMatchObject([{ compose: { state: 'same' } }]);
    const back = await upkeep(['rollback', 'shop-web-1']);
    expect(back.containers).toMatchObject([
      { outcome: 'went_back', compose: { state: 'put-back', ...place, from: '1.28', to: '1.27' } },
    ]);
    expect(await read()).toBe(text);
  });

  test('a rollback with the kept container puts it back too, and leaves a line that somebody changed', async () => {
    const { read, update, upkeep, folder } = await shop({ 'compose.yaml': oneService() });
    const text = await read();
    await update('--keep-old', '1h');
    expect(await read()).toBe(text.replace('1.27', '1.28'));
    expect((await upkeep(['rollback', 'shop-web-1'])).containers).toMatchObject([{ compose: { state: 'put-back' } }]);
    expect(await read()).toBe(text);

    await push('1.29');
    await update();
    expect(await read()).toContain('1.29');
    await writeFile(join(folder, 'compose.yaml'), text.replace('1.27', '1.30'));
    expect((await upkeep(['rollback', 'shop-web-1'])).containers).toMatchObject([
      { outcome: 'went_back', compose: { state: 'refused', reason: 'other-value' } },
    ]);
    expect(await read()).toBe(text.replace('1.27', '1.30'));
  });

  test('a variable that two services share is written once both have moved', async () => {
    const of = `${reference()}:\${TAG:-1.0}`;
    const text = `services:\n${service('web', of)}${service('worker', of)}`;
    const env = '# versions\r\nexport TAG="1.27" # of both\r\nOTHER=1.27\r\n';
    const { read, update, folder } = await shop({ 'compose.yaml': text, '.env': env });
    const { containers } = await update();
    expect(containers).toMatchObject([{ compose: { state: 'written', line: 2 } }, { compose: { state: 'written' } }]);
    expect(containers.map(({ reason }) => reason)).toEqual(
      Array(2).fill(`${join(folder, '.env')} line 2 written: 1.27 → 1.28`),
    );
    expect(await read()).toBe(text);
    expect(await read('.env')).toBe(env.replace('"1.27"', '"1.28"'));
  });

  test('a text that also decides a service that stays is left, with the name of that service', async () => {
    const text = `x-image: &image ${reference()}:1.27\nservices:\n${service('web', '*image')}${service('db', '*image').replace('minor', 'digest')}`;
    const { read, update } = await shop({ 'compose.yaml': text });
    const { containers } = await update();
    expect(containers.find(({ name }) => name === 'shop-web-1')).toMatchObject({
      outcome: 'updated',
      compose: { state: 'refused', reason: 'shared', services: ['db'] },
      reason: expect.stringContaining('the same text decides other services: db'),
    });
    expect(await read()).toBe(text);
  });

  test('in an override file, an included and an extended one, behind a profile and a merge key', async () => {
    const override = `services:\n${service('web', `${reference()}:1.27`)}`;
    const main = [
      'include: [sub/more.yaml]',
      `x-common: &common\n  image: ${reference()}:1.27\n  stop_grace_period: 1s\n  labels: [ upkeep.policy=minor ]`,
      'services:',
      '  web:\n    image: busybox:9',
      '  merged:\n    <<: *common',
      '  extended:\n    extends: { file: sub/base.yaml, service: base }',
      service('asked', `${reference()}:1.27`, '    profiles: [tools]\n'),
    ].join('\n');
    const more = `services:\n${service('included', `"${reference()}:1.27"`)}`;
    const base = `services:\n${service('base', `'${reference()}:1.27'`)}`;
    const files = { 'compose.yaml': main, 'prod.yaml': override, 'sub/more.yaml': more, 'sub/base.yaml': base };
    const { read, update, compose } = await shop(files, 'compose.yaml', 'prod.yaml');
    await compose('--profile', 'tools', 'up', '-d');
    const { containers } = await update();
    expect(containers.map(({ compose: { state = '' } = {} }) => state)).toEqual(Array(5).fill('written'));
    for (const [path, text] of Object.entries(files)) expect(await read(path)).toBe(text.replaceAll('1.27', '1.28'));
  });

  test('two replicas of a service are written after the second', async () => {
    const { read, update } = await shop({
      'compose.yaml': `services:\n${service('web', `${reference()}:1.27`, '    scale: 2\n')}`,
    });
    expect((await update()).containers).toMatchObject([
      { compose: { state: 'written' } },
      { compose: { state: 'written' } },
    ]);
    expect(await read()).toContain(':1.28\n');
  });

  test('keeps mode, owner, hard link and link of the file', async () => {
    const { read, update, folder, roots } = await shop({ 'compose.yaml': oneService() });
    const [file, real] = [join(folder, 'compose.yaml'), join(roots, 'real.yaml')];
    const text = await read();
    await rm(file);
    await writeFile(real, text);
    await chmod(real, 0o640);
    await run('chown', ['1234:4321', real]);
    await link(real, join(roots, 'second.yaml'));
    await symlink('../real.yaml', file);
    const before = await stat(real);
    expect((await update()).containers).toMatchObject([{ compose: { state: 'written', file } }]);
    expect(await readFile(join(roots, 'second.yaml'), 'utf8')).toBe(text.replace('1.27', '1.28'));
    expect((await lstat(file)).isSymbolicLink()).toBe(true);
    const after = await stat(real);
    for (const field of ['ino', 'uid', 'gid', 'mode', 'nlink'] as const) expect(after[field]).toBe(before[field]);
    expect(after.mtimeMs).toBeGreaterThan(before.mtimeMs);
  });

  test('set-up compose file is written: it is left while an editor has it open, and written at the next run', async () => {
    const { read, update, folder } = await shop({ 'compose.yaml': oneService() });
    const text = await read();
    await writeFile(join(folder, '.compose.yaml.swp'), '');
    expect((await update()).containers).toMatchObject([
      { outcome: 'updated', compose: { state: 'pending', reason: 'busy', detail: '.compose.yaml.swp' } },
    ]);
    expect(await read()).toBe(text);
    await rm(join(folder, '.compose.yaml.swp'));
    await update();
    expect(await read()).toBe(text.replace('1.27', '1.28'));
  });

  test('is left where it is mounted read-only, and where only an old file of it is mounted', async () => {
    const { read, update, folder, roots } = await shop({ 'compose.yaml': oneService() });
    const [file, host] = [join(folder, 'compose.yaml'), join(roots, 'host.yaml')];
    const text = await read();
    await run('mount', ['--bind', folder, folder]);
    await run('mount', ['-o', 'remount,ro,bind', folder]);
    const first = await update();
    await run('umount', [folder]);
    expect(first.containers).toMatchObject([
      { outcome: 'updated', compose: { state: 'refused', reason: 'read-only' } },
    ]);

    await writeFile(file, text.replace('1.27', '1.28'));
    await writeFile(host, text.replace('1.27', '1.28'));
    await run('mount', ['--bind', host, file]);
    onTestFinished(async () => void (await run('umount', [file]).catch(() => undefined)));
    await writeFile(`${host}.new`, 'another text');
    await rename(`${host}.new`, host);
    await push('1.29');
    const second = await update();
    expect(await read()).toBe(text.replace('1.27', '1.28'));
    expect(second.containers).toMatchObject([{ outcome: 'updated', compose: { state: 'refused', reason: 'orphan' } }]);
  });

  test('a file that podman-compose and compose 1 name by a relative path is written, and one in a folder with a comma', async () => {
    const { read, update, roots, folder, compose } = await shop({ 'compose.yaml': oneService() });
    await takeDown(compose);
    const text = await read();
    const odd = join(roots, 'a,b');
    await mkdir(odd);
    await writeFile(join(odd, 'compose.yaml'), text);
    const labels = (project: string, at: string, files: string) => ({
      'com.docker.compose.project': project,
      'com.docker.compose.project.working_dir': at,
      'com.docker.compose.project.config_files': files,
      'com.docker.compose.container-number': '1',
      'com.docker.compose.service': 'web',
      'upkeep.policy': 'minor',
    });
    await engine.pull(`${reference()}:1.27`);
    const run = (name: string, Labels: Readonly<Record<string, string>>) =>
      engine.run(name, `${reference()}:1.27`, { Labels, StopTimeout: 1 });
    await run('shop_web_1', labels('shop', folder, 'compose.yaml'));
    await run('odd-web-1', labels('odd', odd, join(odd, 'compose.yaml')));
    expect((await update()).containers).toMatchObject([
      { name: 'odd-web-1', compose: { state: 'written', file: join(odd, 'compose.yaml') } },
      { name: 'shop_web_1', compose: { state: 'written', file: join(folder, 'compose.yaml') } },
    ]);
    expect(await read()).toBe(text.replace('1.27', '1.28'));
  });

  test('a file that git tracks is to be committed, as the outcome says, also when it is put back', async () => {
    const { read, update, upkeep, roots } = await shop({ 'compose.yaml': oneService() });
    const text = await read();
    await run('git', ['init', '-q', roots]);
    await run('git', ['-C', roots, 'add', 'shop']);
    expect((await update()).containers).toMatchObject([
      {
        compose: { state: 'written', detail: `commit it in ${roots}` },
        reason: expect.stringContaining(', commit it in'),
      },
    ]);
    expect((await upkeep(['rollback', 'shop-web-1'])).containers).toMatchObject([
      { compose: { state: 'put-back', detail: `commit it in ${roots}` } },
    ]);
    expect(await read()).toBe(text);
  });

  test('a text for which the disk has no room is put back, and the outcome says so', async () => {
    const { read, update, folder } = await shop({ 'compose.yaml': oneService() });
    const text = await read();
    const padded = `${text}#${'x'.repeat(pageSize - Buffer.byteLength(text) - 2)}\n`;
    await run('mount', ['-t', 'tmpfs', '-o', `size=${2 * pageSize}`, 'tmpfs', folder]);
    onTestFinished(() => void run('umount', [folder]).catch(() => undefined));
    await writeFile(join(folder, 'compose.yaml'), padded);
    await writeFile(join(folder, 'fill'), 'x'.repeat(pageSize));
    await push('1.100');
    expect((await update()).containers).toMatchObject([
      { outcome: 'updated', compose: { state: 'failed' }, reason: expect.stringContaining('no space left') },
    ]);
    expect(await read()).toBe(padded);
    await rm(join(folder, 'fill'));
    await run('umount', [folder]);
  });

  test('a failed update writes nothing', async () => {
    const { read, update } = await shop({ 'compose.yaml': oneService() });
    const text = await read();
    await push('1.29', webServer('1.29', { Cmd: ['/nothing'] }));
    const { containers } = await update();
    expect(containers).toMatchObject([{ outcome: 'rolled_back' }]);
    expect(containers[0]?.compose).toBeUndefined();
    expect(await read()).toBe(text);
  });

  describe('of somebody else', () => {
    /** A container whose labels claim a file; it moves by a label of its own. */
    async function claim(labels: Readonly<Record<string, string>>, name = 'evil-web-1') {
      await engine.run(name, `${reference()}:1.27`, {
        Labels: {
          'com.docker.compose.project': 'evil',
          'com.docker.compose.service': 'web',
          'com.docker.compose.config-hash': 'x',
          'upkeep.policy': 'minor',
          ...labels,
        },
        StopTimeout: 1,
      });
    }

    const label = (file: string, folder = dirname(file)) => ({
      'com.docker.compose.project.config_files': file,
      'com.docker.compose.project.working_dir': folder,
    });

    test.each([
      ['another project', {}, 'evil-web-1', 'foreign'],
      [
        'the same project and service, which has another name',
        { 'com.docker.compose.project': 'shop' },
        'evil',
        'shared',
      ],
      ['the same project, as a second replica', { 'com.docker.compose.project': 'shop' }, 'shop-web-2', 'shared'],
    ] as const)('is not written for a label of %s', async (_, labels, name, reason) => {
      const victim = `services:\n${service('web', `${reference()}:1.27`).replace('minor', 'digest')}`;
      const { read, update, folder } = await shop({ 'compose.yaml': victim });
      await claim({ ...label(join(folder, 'compose.yaml')), ...labels }, name);
      const { containers } = await update();
      const evil = containers.find((one) => one.name === name);
      expect(evil).toMatchObject({ outcome: 'updated', compose: { state: 'refused', reason } });
      expect(await read()).toBe(victim);
    });

    test('is not written where only the container has the label that moves it, even if nothing else of it exists', async () => {
      const { read, update, folder, compose } = await shop({
        'compose.yaml': `services:\n${service('web', `${reference()}:1.27`).replace('minor', 'digest')}`,
      });
      const victim = await read();
      await takeDown(compose);
      await claim({ ...label(join(folder, 'compose.yaml')), 'com.docker.compose.project': 'shop' }, 'shop-web-1');
      const { containers } = await update();
      expect(containers).toMatchObject([
        {
          outcome: 'updated',
          compose: { state: 'refused', reason: 'foreign', detail: expect.stringContaining('upkeep.policy') },
        },
      ]);
      expect(await read()).toBe(victim);
    });

    test('is not reached out of the roots, by a link, a path, or through /proc', async () => {
      const { update, roots, compose } = await shop({ 'compose.yaml': oneService() });
      await takeDown(compose);
      const outside = await mkdtemp(join(lab.dir, 'outside-'));
      onTestFinished(() => rm(outside, { recursive: true }));
      const text = `name: evil\nservices:\n${service('web', `${reference()}:1.27`)}`;
      await mkdir(join(roots, 'evil'));
      await writeFile(join(outside, 'compose.yaml'), text);
      await symlink(outside, join(roots, 'evil/link'));
      await symlink(join(outside, 'compose.yaml'), join(roots, 'evil/file.yaml'));
      await writeFile(join(roots, 'evil/includes.yaml'), `include: [${outside}/compose.yaml]\nservices: {}\n`);
      await writeFile(
        join(roots, 'evil/extends.yaml'),
        `name: evil\nservices:\n  web: {extends: {file: link/compose.yaml, service: web}}\n`,
      );
      for (const file of [
        join(outside, 'compose.yaml'),
        `${roots}/../${basename(outside)}/compose.yaml`,
        join(roots, 'evil/link/compose.yaml'),
        join(roots, 'evil/file.yaml'),
        join(roots, 'evil/includes.yaml'),
        join(roots, 'evil/extends.yaml'),
        `/proc/self/root${outside}/compose.yaml`,
        `/proc/${process.pid}/cwd/compose.yaml`,
      ]) {
        await engine.pull(`${reference()}:1.27`);
        await claim(label(file, join(roots, 'evil')));
        const { containers } = await update();
        expect(containers, file).toMatchObject([
          { outcome: 'updated', compose: { state: 'refused', reason: 'outside-roots' } },
        ]);
        expect(await readFile(join(outside, 'compose.yaml'), 'utf8')).toBe(text);
        await engine.clear();
      }
    });
  });
});

/** A file system in memory has room for whole pages. */
const pageSize = 4096;

/** Docker may still count the endpoint of a container that has just gone, and then keeps its network. */
async function takeDown(compose: (...args: string[]) => Promise<unknown>): Promise<void> {
  const down = () => compose('down', '-t', '1');
  await down().catch(down);
}
