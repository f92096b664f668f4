import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { writeJournal } from '../../src/domain/transaction/journal.ts';
import { webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { startHttpServer } from '../support/http/http-server.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { upkeepScene } from '../support/scene/upkeep-scene.ts';
import { composeLabels, effectsScene } from './effects/scene.ts';

const labelled = (version: string, Labels: Readonly<Record<string, string>>) => webServer(version, { Labels });

/** Labels that only the maker of an image has set, and false identities. */
describeInLab('labels that come from an image', (lab) => {
  const { engine } = lab;
  const { run, stale, inspect } = effectsScene(lab, 'image-labels');
  const upkeep = upkeepScene({ socket: engine.socket });
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await engine.clear();
    for (const close of closing.splice(0)) await close();
  });

  test('lead to no registry, and no registry but that of REPO_HOST is sent REPO_USER and REPO_PASS', async () => {
    const [user, password] = [randomBytes(6).toString('hex'), randomBytes(12).toString('hex')];
    const thief = await startHttpServer(() => ({ status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }));
    closing.push(() => thief[Symbol.asyncDispose]());
    const lead = { 'com.centurylinklabs.zodiac.original-image': `${thief.host}/team/app:1` };
    await run('lured', { old: labelled('v1', lead) });
    await run('named', { config: { Labels: lead, StopTimeout: 1 } });
    const { check } = upkeepScene({ socket: engine.socket, env: { REPO_USER: user, REPO_PASS: password } });
    const checked = await check();
    expect(checked['lured']).toMatchObject({ status: 'fresh' });
    expect(checked['named']).toMatchObject({ status: 'unknown' });
    expect(thief.seen.length).toBeGreaterThan(0);
    const sent = JSON.stringify(thief.seen.map(({ headers, url, body }) => [headers, url, body]));
    expect(sent).not.toContain(password);
    expect(thief.seen.map(({ headers }) => headers.authorization)).not.toContainEqual(expect.any(String));

    const { stderr } = await runUpkeep(['check'], {
      socket: engine.socket,
      env: { REPO_USER: user, REPO_PASS: password },
    });
    expect(stderr.match(/REPO_USER and REPO_PASS are not sent to this registry/g)).toHaveLength(1);
    expect(stderr).toContain('--repo-host');
  });

  test('name a hook, which runs as the container’s own user, and neither user, scope nor probe', async () => {
    const labels = {
      'upkeep.scope': 'theirs',
      'upkeep.health-probe': 'exec:exit 1',
      'upkeep.lifecycle.pre-update': 'echo "hook of $(id -u)"',
      'com.centurylinklabs.watchtower.lifecycle.uid': '4',
      'upkeep.lifecycle.gid': '0',
    };
    const config = { User: '1234', StopTimeout: 1 };
    await stale('web', { old: labelled('v1', labels), next: labelled('v2', labels), config });
    await stale('own', {
      old: labelled('v1', { 'upkeep.monitor-only': 'true', 'upkeep.lifecycle.uid': '4' }),
      config: { ...config, Labels: { 'com.centurylinklabs.watchtower.monitor-only': 'false' } },
    });
    await stale('watched', { old: labelled('v1', { 'upkeep.monitor-only': 'true' }) });
    const { run: said, outcomes } = await upkeep.update('--enable-lifecycle-hooks', '--lifecycle-uid', '0');
    expect(outcomes, said.stderr).toMatchObject({
      web: { outcome: 'updated' },
      own: { outcome: 'updated' },
      watched: { outcome: 'skipped' },
    });
    expect(said.stderr).toContain('hook of 1234');
    expect(said.stderr).not.toContain('hook of 0');
    const lines = said.stderr.split('\n').filter((line) => line.includes('come from the image'));
    expect(lines).toHaveLength(2);
    for (const name of ['upkeep.scope', 'upkeep.health-probe', 'watchtower.lifecycle.uid', 'upkeep.lifecycle.gid'])
      expect(lines.join('\n')).toContain(name);
  });

  test('are no journal to roll back by', async () => {
    const target = await run('target');
    const oldId = randomBytes(32).toString('hex');
    const journal = writeJournal({
      transaction: randomBytes(8).toString('hex'),
      name: 'web',
      oldId,
      oldImageId: target.Image,
      oldDigest: '',
      taggedBefore: target.Image,
      newImageId: '',
      role: 'successor',
      autoRemoves: false,
      reference: 'web:1',
      policy: { Name: 'no', MaximumRetryCount: 0 },
      wasRunning: true,
      desiredEndState: 'running',
      keepMs: 0,
      owner: '',
      ownerContainer: '',
      members: [{ name: 'web', oldId }],
    });
    const web = await run('web', { old: labelled('v1', journal) });
    const { code, stderr } = await runUpkeep(['rollback', 'web'], { socket: engine.socket });
    expect(code).toBe(1);
    expect(stderr).toContain('it has not been updated since it was created');
    expect((await inspect('web')).Id).toBe(web.Id);
  });

  test('and durations that are too long count as the longest, with a warning', async () => {
    await stale('web', {
      config: { StopTimeout: 1, Labels: { 'upkeep.stop-timeout': '3650d', 'upkeep.cooldown-delay': '0' } },
    });
    const { run: said, outcomes } = await upkeep.update();
    expect(outcomes['web'], said.stderr).toMatchObject({ outcome: 'updated' });
    expect(said.stderr).toMatch(/Label \W+upkeep\.stop-timeout\W+ is limited to 1h/);
  });

  test('of compose, on a container of another folder, restart nothing and wait for nothing', async () => {
    const of = (service: string, folder: string, dependsOn = '') => ({
      Labels: {
        ...composeLabels(service, dependsOn),
        'com.docker.compose.project.working_dir': folder,
        'com.docker.compose.project.config_files': `${folder}/compose.yaml`,
      },
      StopTimeout: 1,
    });
    const web = await run('web', { config: of('web', '/srv/shop', 'db:service_started:true') });
    const near = await run('near', { config: of('near', '/tmp/x', 'db:service_started:true') });
    await stale('db', { config: of('db', '/tmp/x') });
    const { run: said, outcomes } = await upkeep.update();
    expect(outcomes, said.stderr).toMatchObject({
      db: { outcome: 'updated' },
      web: { outcome: 'fresh' },
      near: { outcome: 'restarted' },
    });
    expect((await inspect('web')).State.StartedAt).toBe(web.State.StartedAt);
    expect((await inspect('near')).State.StartedAt).not.toBe(near.State.StartedAt);
  });
});
