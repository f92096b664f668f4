import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { startReceiver, type Receiver } from '../../support/notify/receiver.ts';
import { messageOf } from '../../support/notify/outbox-arbitrary.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

/** The built executable sends notifications about real containers. */
describeInLab('notifications of what happens on a real engine', (lab) => {
  const { engine } = lab;
  const { socket } = engine;
  const { run: runContainer, stale, push } = effectsScene(lab, 'notified');
  afterEach(() => engine.clear());

  const receiver = async (): Promise<Receiver> => {
    const notified = await startReceiver();
    onTestFinished(() => notified.close());
    return notified;
  };
  const stateDir = () => mkdtempSync(join(lab.dir, 'state-'));
  const common = ['--health-window', '1s', '--notification-retry', '20ms'];
  const once = (url: string, ...args: readonly string[]) =>
    runUpkeep(['run', '--run-once', '--no-startup-message', ...common, '--notification-url', url, ...args], { socket });
  const textsOf = (notified: Receiver) => notified.taken().map(({ text }) => text);

  test('an update, a rollback and a start are told of, each in one message', async () => {
    const notified = await receiver();
    await stale('web');
    await stale('api', { next: catalogue.crash });
    const { code, stderr } = await runUpkeep(
      ['run', '--run-once', ...common, '--notification-url', notified.url, '--notifications-hostname', 'nas'],
      { socket },
    );
    expect(code, stderr).toBe(1);
    const [start, run, ...more] = notified.taken();
    expect(more).toEqual([]);
    expect(start?.text).toMatch(/^Upkeep \S+ has started\./);
    expect(run?.title).toContain('nas');
    expect(run?.text).toMatch(/^1 failed and was rolled back, 1 updated of 2 containers/);
    expect(run?.text).toMatch(/Rolled back:\n- api .*failed and was rolled back: .+/);
    expect(run?.text).toMatch(/Updated:\n- web .*v1 → v2.*\n  About it: https:\/\/example\.test\/app/);
    expect(run?.text).toContain('upkeep rollback web');
  });

  test('a run with nothing to do is told of by the report of the Watchtower family alone', async () => {
    const notified = await receiver();
    await runContainer('web');
    await once(notified.url);
    expect(notified.asked).toEqual([]);
    await once(notified.url, '--notification-report', '--notifications-hostname', 'h1');
    expect(notified.taken()).toMatchObject([
      {
        title: 'Watchtower updates on h1',
        text: expect.stringMatching(/^1 Scanned, 0 Updated, 0 Restarted, 0 Failed, 1 Fresh, 0 Skipped\n- web /),
      },
    ]);
  });

  test('log lines of the Watchtower family are told word for word', async () => {
    const notified = await receiver();
    const before = await stale('web');
    await once(notified.url, '--cleanup', '--notification-style', 'watchtower', '--notification-title-tag', 'home');
    const after = await engine.inspect('web');
    const short = (id: string | undefined) => id?.replace('sha256:', '').slice(0, 12);
    const image = `${lab.registry.host}/notified/web:stable`;
    expect(notified.taken()).toMatchObject([{ title: expect.stringMatching(/^\[home\] Watchtower updates on ./) }]);
    expect(textsOf(notified)[0]?.split('\n')).toEqual([
      `Found new image: ${image} (${short(after?.Image)})`,
      `Stopped stale container: web (${short(before.Id)})`,
      `Started new container: web (${short(after?.Id)})`,
      `Cleaned up old image: ${image} (${short(before.Image)})`,
    ]);
  });

  test('an engine that cannot be reached is told of before the end', async () => {
    const notified = await receiver();
    const { code } = await runUpkeep(
      ['run', '--run-once', '--no-startup-message', '--notification-url', notified.url],
      { socket: join(lab.dir, 'nobody.sock') },
    );
    expect(code).toBe(1);
    expect(textsOf(notified)).toEqual([expect.stringContaining('Cannot')]);
  });

  test('what is only monitored is told of once, also by the next process, unless it is asked for again', async () => {
    const notified = await receiver();
    const folder = stateDir();
    await stale('web', { config: { Labels: { 'upkeep.monitor-only': 'true' } } });
    for (let run = 0; run < 3; run += 1) await once(notified.url, '--state-dir', folder);
    expect(textsOf(notified)).toEqual([expect.stringContaining('web')]);
    await once(notified.url, '--state-dir', folder, '--notification-repeat');
    expect(notified.taken()).toHaveLength(2);
    await push('web', catalogue.v2);
    await once(notified.url, '--state-dir', folder);
    expect(notified.taken()).toHaveLength(3);
  });

  test('many containers at once are one message that names them all', async () => {
    const notified = await receiver();
    await push('many', catalogue['plain-v1']);
    const image = `${lab.registry.host}/notified/many:stable`;
    await engine.pull(image);
    const names = Array.from({ length: 25 }, (_, index) => `many-${index}`);
    for (const name of names) await engine.create(name, image);
    await push('many', catalogue['plain-v2']);
    await once(notified.url, '--include-stopped', '--monitor-only');
    expect(notified.taken()).toHaveLength(1);
    for (const name of names) expect(textsOf(notified)[0]).toContain(name);
  });

  test('in quiet hours failures alone are told of, and the rest stays for their end', async () => {
    const notified = await receiver();
    const folder = stateDir();
    const hour = (offset: number) => `${(new Date().getUTCHours() + 24 + offset) % 24}:00`;
    const quiet = ['--notification-quiet-hours', `${hour(-1)}-${hour(2)}`, '--state-dir', folder];
    await stale('web');
    await once(notified.url, ...quiet);
    expect(notified.asked).toEqual([]);
    await stale('api', { next: catalogue.crash });
    await once(notified.url, ...quiet);
    expect(textsOf(notified)).toEqual([expect.stringContaining('Rolled back:\n- api')]);
    const list = await runUpkeep([
      'notify',
      'list',
      '--json',
      '--state-dir',
      folder,
      '--notification-url',
      notified.url,
    ]);
    expect(JSON.parse(list.stdout)).toMatchObject({ targets: [{ waiting: 1 }] });
    await once(notified.url, '--state-dir', folder);
    expect(notified.taken()).toHaveLength(1);
  });

  test('a container chooses who hears of it by its own label, and split messages are one for each', async () => {
    const [ops, family] = [await receiver(), await receiver()];
    const labelled = (notify: string) => ({
      config: { Labels: { 'upkeep.notify': notify, 'upkeep.monitor-only': 'true' } },
    });
    await stale('web', labelled('ops'));
    await stale('db', labelled('off'));
    await stale('tv', { config: { Labels: { 'upkeep.monitor-only': 'true' } } });
    await once(`ops=${ops.url} home=${family.url}`);
    expect(textsOf(ops)).toEqual([expect.stringMatching(/web[^]*tv|tv[^]*web/)]);
    expect(textsOf(family)).toEqual([expect.stringMatching(/^(?![^]*web)[^]*tv/)]);
    for (const text of [...textsOf(ops), ...textsOf(family)]) expect(text).not.toContain('db');
    await once(ops.url, '--notification-split-by-container');
    expect(textsOf(ops).slice(1)).toHaveLength(2);
  });

  test('a service that is down gets its message once it is up, and nothing waits for it meanwhile', async () => {
    const notified = await receiver();
    await stale('web');
    notified.answer = () => (notified.asked.length < 4 ? 503 : 200);
    const service = startUpkeep(
      [
        'run',
        '--interval',
        '1h',
        '--update-on-start',
        '--no-startup-message',
        ...common,
        '--notification-url',
        notified.url,
      ],
      { socket },
    );
    onTestFinished(() => void service.child.kill('SIGKILL'));
    await notified.askedTimes(4);
    service.child.kill('SIGTERM');
    const { code } = await service.ended;
    expect(code).toBe(0);
    expect(textsOf(notified)).toEqual([expect.stringContaining('web')]);
  });

  test('a message is there again after kill -9 between its sending and the answer', async () => {
    const notified = await receiver();
    const folder = stateDir();
    await stale('web');
    notified.answer = () => 'hang';
    const args = ['run', '--interval', '1h', '--no-startup-message', ...common, '--state-dir', folder];
    const killed = startUpkeep([...args, '--update-on-start', '--notification-url', notified.url], { socket });
    await notified.askedTimes(1);
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(readFileSync(join(folder, 'outbox.jsonl'), 'utf8')).toContain('"kind":"try"');
    notified.answer = () => 200;
    const next = startUpkeep([...args, '--notification-url', notified.url], { socket });
    await notified.askedTimes(2);
    next.child.kill('SIGTERM');
    await next.ended;
    expect(textsOf(notified)).toEqual([notified.asked[0]?.text]);
  });

  test('of two processes with one --state-dir the second keeps nothing and says so, and the next one takes over', async () => {
    const [first, second] = [await receiver(), await receiver()];
    const folder = stateDir();
    first.answer = () => 'hang';
    const begin = (notified: Receiver) =>
      startUpkeep(['run', '--interval', '1h', ...common, '--state-dir', folder, '--notification-url', notified.url], {
        socket,
      });
    const holder = begin(first);
    onTestFinished(() => void holder.child.kill('SIGKILL'));
    await first.askedTimes(1);
    const other = begin(second);
    await second.askedTimes(1);
    other.child.kill('SIGTERM');
    const { stderr } = await other.ended;
    expect(stderr.match(/Nothing is kept in the folder .* another Upkeep keeps its state there/g)).toHaveLength(1);
    expect(textsOf(second)).toHaveLength(1);
    expect(readFileSync(join(folder, 'outbox.jsonl'), 'utf8').match(/"kind":"put"/g)).toHaveLength(1);
    holder.child.kill('SIGKILL');
    await holder.ended;
    first.answer = () => 200;
    const next = begin(first);
    await first.askedTimes(3);
    next.child.kill('SIGTERM');
    expect((await next.ended).stderr).not.toContain('Nothing is kept');
    expect(textsOf(first)).toEqual([first.asked[0]?.text, expect.stringContaining('has started')]);
  });

  test('what became of an update that was killed is told by the next start', async () => {
    const notified = await receiver();
    await stale('web');
    const killed = startUpkeep(['update', 'web', '--health-window', '1m'], { socket });
    await killed.seen('checking health');
    killed.child.kill('SIGKILL');
    await killed.ended;
    const { stderr } = await once(notified.url);
    expect(textsOf(notified), stderr).toEqual([
      expect.stringMatching(/^Of earlier updates: 1 (undone|finished)\n\n- (Undid|Finished) the update of web/),
    ]);
  });

  test('a restart with a full outbox sends all of it in order, after a torn last line too', async () => {
    const notified = await receiver();
    const folder = stateDir();
    const now = Date.now();
    const lines = Array.from({ length: 1000 }, (_, index) => {
      const message = messageOf(`m${index}`, { createdAtMs: now });
      return JSON.stringify({ kind: 'put', target: 'ops', message, dueAtMs: now });
    });
    writeFileSync(join(folder, 'outbox.jsonl'), `${lines.join('\n')}\n{"kind":"put","target":"ops","mess`);
    const service = startUpkeep(
      [
        'run',
        '--interval',
        '1h',
        '--no-startup-message',
        '--state-dir',
        folder,
        '--notification-url',
        `ops=${notified.url}`,
      ],
      { socket },
    );
    await notified.askedTimes(1000);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    expect(textsOf(notified)).toEqual(lines.map((_, index) => `text m${index}`));
    const list = await runUpkeep([
      'notify',
      'list',
      '--json',
      '--state-dir',
      folder,
      '--notification-url',
      `ops=${notified.url}`,
    ]);
    expect(JSON.parse(list.stdout)).toMatchObject({ targets: [{ name: 'ops', waiting: 0 }] });
  });

  test('an end waits for no service that does not answer', async () => {
    const notified = await receiver();
    notified.answer = () => 'hang';
    const service = startUpkeep(['run', '--interval', '1h', ...common, '--notification-url', notified.url], { socket });
    await notified.askedTimes(1);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('Notifications that could not be sent before the end are lost');
  });
});
