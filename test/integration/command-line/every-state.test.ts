import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { readDetails } from '../../../src/interfaces/dashboard/state/documents/container.ts';
import { createContainerStore } from '../../../src/interfaces/dashboard/state/containers/container-store.ts';
import { readHistory } from '../../../src/interfaces/dashboard/state/documents/history.ts';
import { readEvent, readStatus } from '../../../src/interfaces/dashboard/state/documents/status.ts';
import { describeState } from '../../../src/interfaces/dashboard/state/display/describe-state.ts';
import { words } from '../../../src/domain/text/words.ts';
import type { UpdatePhase } from '../../../src/domain/run/session.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultRule } from '../../lab/proxy/fault-proxy.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { pushIndex } from '../../lab/registry/push.ts';
import { startFront } from '../../lab/registry/registry-front.ts';
import { followEvents } from '../../support/http/event-reader.ts';
import { eventsToken } from '../../support/http/http-scene.ts';
import { startReceiver } from '../../support/notify/receiver.ts';
import { forgeCa, startFakeForge, type FakeForge } from '../../support/forge/fake-forge.ts';
import { provideDataHelper } from '../../support/scene/data-app.ts';
import { nodeMounts, socketProxyImage } from '../../support/scene/upkeep-in-a-container.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

/** The word and the API values of each container, after the commands of `settle`. */
const states = {
  fine: [words.verdict.fresh, 'fresh'],
  ready: [words.verdict.stale, 'stale'],
  bad: [words.backOn('v1'), 'held', 'failed'],
  like: [words.hold['failed-elsewhere'], 'held', 'failed-elsewhere'],
  also: [words.hold['failed-elsewhere'], 'held', 'failed-elsewhere'],
  back: ['went back to v1', 'held', 'went-back'],
  asks: [words.hold.approval, 'held', 'approval'],
  young: [words.hold.cooldown, 'held', 'cooldown'],
  shut: [words.hold.window, 'held', 'window'],
  skips: [words.hold.skipped, 'held', 'skipped'],
  naps: [words.hold.snoozed, 'held', 'snoozed'],
  breaks: [words.hold.approval, 'held', 'approval'],
  unread: [words.hold.approval, 'held', 'approval'],
  unseen: [words.hold.notes, 'held', 'notes'],
  plain: [words.hold.unsigned, 'held', 'unsigned'],
  watched: [words.hold['monitor-only'], 'held', 'monitor-only'],
  removes: [words.hold['not-replaceable'], 'held', 'not-replaceable'],
  pinned: [words.verdict.pinned, 'pinned'],
  mine: [words.verdict.local, 'local'],
  lost: [words.verdict.unknown, 'unknown', 'unreachable'],
  gone: [words.verdict.unknown, 'unknown', 'not-found'],
  limited: [words.verdict.unknown, 'unknown', 'rate-limited'],
  locked: [words.verdict.unknown, 'unknown', 'unauthorised'],
  broken: [words.verdict.unknown, 'unknown', 'other'],
  foreign: [words.verdict.unknown, 'unknown', 'not-found'],
  mute: [words.hold['no-pull'], 'unknown', 'no-pull'],
} as const;

/** The containers of which nothing is known: the reason has the word of its kind, except for `other`. */
const unknowns = ['lost', 'gone', 'limited', 'locked', 'foreign'] as const;

/** Registries that refuse everything. */
const refusals = {
  limited: { refusal: { status: 429, body: '{}' }, headers: { 'retry-after': '3600' } },
  locked: { refusal: { status: 401, body: '{}' }, headers: { 'www-authenticate': 'Basic realm="lab"' } },
  broken: { refusal: { status: 200, body: 'no manifest' } },
} as const;

type Name = keyof typeof states;

/** With the engine, if there are several, as on the page. */
function nameOf({ name, engine }: Record<string, unknown>): string {
  return typeof engine === 'string' && engine !== '' ? `${engine}/${String(name)}` : String(name);
}

describeInLab('every state', (lab) => {
  const { engine, registry } = lab;
  const { run, stale, push, image } = effectsScene(lab, 'every-state');
  let folder = '';
  let forge: FakeForge;
  /** Variables of one test. */
  let more: Readonly<Record<string, string>> = {};
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'every-state-'));
    more = {};
    const releases = [
      { tag: 'v2', body: '## Breaking changes\n\n* The database moves to another folder' },
      { tag: 'v1' },
    ];
    forge = await startFakeForge({ 'git.acme.example/acme/breaks': { releases } });
    // An outage, which passes.
    forge.misbehave = (_, path) => (path.includes('/acme/unseen') ? { status: 503 } : undefined);
    writeFileSync(join(folder, 'ca.pem'), forgeCa);
  });
  afterEach(async () => {
    await engine.clear();
    await forge[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const env = () => ({
    UPKEEP_STATE_DIR: folder,
    UPKEEP_REGISTRY_CA: join(folder, 'ca.pem'),
    UPKEEP_RELEASE_NOTES_HOSTS: 'gitea=git.acme.example',
    HTTPS_PROXY: forge.proxyUrl,
    DOCKER_HOST: `unix://${engine.socket}`,
    UPKEEP_HEALTH_WINDOW: '1s',
    UPKEEP_HTTP_API_ENDPOINTS: 'containers,metrics,update,events,dashboard',
    UPKEEP_HTTP_API_TOKEN: 'secret',
    UPKEEP_HTTP_API_RATE_LIMIT: '100000',
    UPKEEP_HTTP_API_EVENTS_TOKEN: eventsToken,
    ...more,
  });
  const upkeep = async (...args: readonly string[]) => (await runUpkeep(args, { env: env() })).stdout;

  async function serve(...args: readonly string[]) {
    const api = ['--http-api-host', '127.0.0.1', '--http-api-port', '18797'];
    const service = startUpkeep(['run', ...api, ...args], { env: env() });
    const stop = async () => {
      service.child.kill('SIGTERM');
      await service.ended;
    };
    onTestFinished(stop);
    await service.seen('"listening"');
    return { stop, seen: service.seen };
  }

  async function details(): Promise<Record<string, unknown>> {
    const headers = { Authorization: 'Bearer secret' };
    const answer = await fetch('http://127.0.0.1:18797/v1/containers/details', { headers });
    return (await answer.json()) as Record<string, unknown>;
  }

  /** The word on the page, and the values of the API. */
  async function told(): Promise<Readonly<Record<string, readonly unknown[]>>> {
    const document = await details();
    const entries = new Map((document['containers'] as Record<string, unknown>[]).map((one) => [nameOf(one), one]));

    return Object.fromEntries(
      readDetails(document).map((one) => {
        const { verdict, hold } = entries.get(one.name) ?? {};
        const { word } = describeState(one, undefined, Date.now());
        return [one.name, [word.toLowerCase(), verdict, ...(hold === undefined ? [] : [hold])]];
      }),
    );
  }

  /** The reasons beside the words on the page. */
  const whys = async () =>
    Object.fromEntries(
      readDetails(await details()).map((one) => [
        one.name,
        (describeState(one, undefined, Date.now()).why ?? '').replaceAll('\u00A0', ' '),
      ]),
    );

  /** A time, or the version that is skipped, may stand beside the word on the page. */
  const onPage = (names: readonly Name[]) =>
    Object.fromEntries(
      names.map((name) => [name, [expect.stringContaining(states[name][0]), ...states[name].slice(1)]]),
    );

  const inTerminal = (names: readonly Name[]) =>
    Object.fromEntries(names.map((name) => [name, expect.stringMatching(new RegExp(`^${states[name][0]}`))]));

  /** The words of a table, by container. */
  function wordsOf(table: string): Readonly<Record<string, string>> {
    const rows = table.split('\n').map((line) => /^([a-z]+) {2,}(\S+(?: \S+)*) {2,}/.exec(line));
    return Object.fromEntries(rows.flatMap((row) => (row ? [[row[1] ?? '', row[2] ?? '']] : [])));
  }

  async function startContainers(): Promise<void> {
    const labelled = (labels: Readonly<Record<string, string>>) => ({ config: { Labels: labels } });
    const hour = (new Date().getUTCHours() + 12) % 24;
    const window = `${String(hour).padStart(2, '0')}:00-${String(hour).padStart(2, '0')}:30`;
    await run('fine');
    for (const name of ['ready', 'back', 'skips', 'naps']) await stale(name);
    for (const name of ['bad', 'like', 'also']) await stale(name, { next: catalogue.crash });
    for (const name of ['breaks', 'unseen']) {
      const source = { 'upkeep.approve': 'breaking', 'upkeep.source': `https://git.acme.example/acme/${name}` };
      await stale(name, labelled(source));
    }
    await stale('unread', labelled({ 'upkeep.approve': 'unread' }));
    await stale('asks', labelled({ 'upkeep.approve': 'true' }));
    const created = new Date().toISOString();
    await stale('young', {
      next: { ...catalogue['plain-v2'], created },
      ...labelled({ 'upkeep.cooldown-delay': '10d' }),
    });
    await stale('shut', labelled({ 'upkeep.window': window }));
    await stale('plain', labelled({ 'upkeep.verify': 'any' }));
    await stale('watched', labelled({ 'upkeep.monitor-only': 'true' }));
    await stale('removes', { config: { HostConfig: { AutoRemove: true } } });
    const { digest } = await push('pinned', catalogue['plain-v1']);
    const pinned = `${image('pinned').replace(/:stable$/, '')}@${digest}`;
    await engine.pull(pinned);
    await engine.run('pinned', pinned);
    await engine.call('POST', '/commit?container=fine&repo=mine&tag=2.1', {});
    await engine.run('mine', 'mine:2.1');
    const tag = async (of: string, repo: string) =>
      engine.call('POST', `/images/${encodeURIComponent(of)}/tag?repo=${encodeURIComponent(repo)}&tag=stable`);
    await tag(image('fine'), '127.0.0.1:1/lost');
    await engine.run('lost', '127.0.0.1:1/lost:stable');
    for (const [name, said] of Object.entries(refusals)) {
      const front = await startFront({ upstreams: {}, says: () => said });
      onTestFinished(() => front.close());
      await tag(image('fine'), `127.0.0.1:${front.port}/${name}`);
      await engine.run(name, `127.0.0.1:${front.port}/${name}:stable`);
    }
    await tag(image('fine'), `${registry.host}/every-state/gone`);
    await engine.run('gone', image('gone'));
    await run('foreign');
    await pushIndex(registry, 'every-state/foreign', 'stable', catalogue['plain-v2'], {
      platforms: [{ os: 'linux', architecture: 's390x' }],
    });
    await run('mute', { old: catalogue['unlabelled-v1'], ...labelled({ 'upkeep.no-pull': 'true' }) });
    await tag(image('mute'), 'kept');
    await engine.call('DELETE', `/images/${encodeURIComponent(image('mute'))}`);
  }

  test('has the same word on the page, in check and containers, and in the API: after the command line, and after a restart', async () => {
    const names = Object.keys(states) as readonly Name[];
    await startContainers();
    const service = await serve();
    await expect.poll(async () => (await told())['ready']?.[1], { timeout: 30_000 }).toBe('stale');

    await upkeep('update', 'back', '--health-window', '1s');
    await upkeep('rollback', 'back');
    await upkeep('update', 'bad');
    await upkeep('skip', 'skips');
    await upkeep('snooze', 'naps');
    await expect.poll(told, { timeout: 20_000 }).toEqual(onPage(names));
    for (const command of ['check', 'containers']) {
      const table = await upkeep(command);
      expect(wordsOf(table), command).toMatchObject(inTerminal(names));
      for (const name of unknowns)
        expect(table, command).toMatch(new RegExp(`^${name} .*${words.hold[states[name][2]]}`, 'im'));
    }
    expect(await told()).toEqual(onPage(names));
    for (const name of unknowns) expect((await whys())[name]?.toLowerCase()).toContain(words.hold[states[name][2]]);

    await upkeep('unskip', 'skips');
    await expect.poll(async () => (await told())['skips']).toEqual([words.verdict.stale, 'stale']);
    expect(wordsOf(await upkeep('containers'))['skips']).toBe(words.verdict.stale);
    await upkeep('skip', 'skips');
    await expect.poll(told, { timeout: 20_000 }).toEqual(onPage(names));

    await service.stop();
    await upkeep('unskip', 'naps');
    const again = await serve();
    const { naps: _, ...others } = onPage(names);
    await expect.poll(told, { timeout: 20_000 }).toEqual({ ...others, naps: [words.verdict.stale, 'stale'] });
    await run('late');
    await expect.poll(async () => (await told())['late']?.[0]).toBe(words.unchecked);
    expect(wordsOf(await upkeep('containers'))['late']).toBe(words.unchecked);

    writeFileSync(join(folder, 'decisions.jsonl'), 'not a decision\n');
    const unreadable = [words.hold.unreadable, 'held', 'unreadable'];
    await upkeep('check');
    await expect.poll(async () => (await told())['ready'], { timeout: 20_000 }).toEqual(unreadable);
    for (const command of ['check', 'containers'])
      expect(wordsOf(await upkeep(command))['ready']).toBe(words.hold.unreadable);
    await again.stop();
  });

  test('a message says what became of a container in the words of the page', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    await stale('back');
    await stale('bad', { next: catalogue.crash });
    const saying = async (...args: readonly string[]) => {
      const before = receiver.taken().length;
      await upkeep(...args, '--notification-url', receiver.url);
      return receiver
        .taken()
        .slice(before)
        .map(({ title, text }) => `${title}\n${text}`)
        .join('\n');
    };
    expect(await saying('run', '--run-once', 'back')).toContain(words.outcome.updated);
    expect(await saying('run', '--run-once', 'bad')).toContain(words.outcome.rolled_back);
    expect(await saying('run', '--run-once', 'back', 'bad')).not.toMatch(/updated/);
  });

  test('a message has the word of each container that a run left as it is', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    await startContainers();
    await upkeep('update', 'back');
    await upkeep('rollback', 'back');
    await upkeep('update', 'bad');
    await upkeep('skip', 'skips');
    await upkeep('snooze', 'naps');
    await upkeep('run', '--run-once', '--notification-url', receiver.url);
    const text = receiver
      .taken()
      .map((message) => message.text)
      .join('\n');
    const { fine: _, ready: __, pinned: ___, mine: ____, ...left } = states;
    for (const [name, [word]] of Object.entries(left)) expect(text).toMatch(new RegExp(`^- ${name} .*${word}`, 'im'));
  });

  test('an update that another process makes, or has left, has one word', async () => {
    await stale('slow', { config: { Labels: { 'upkeep.health-window': '15s' } } });
    await stale('killed');
    const service = await serve();
    await expect.poll(async () => (await told())['killed']?.[1], { timeout: 30_000 }).toBe('stale');
    const sameWord = async (name: string, word: string) => {
      await expect.poll(async () => (await told())[name]?.[0], { timeout: 20_000 }).toContain(word);
      for (const command of ['check', 'containers']) {
        const table = await upkeep(command);
        expect([table, wordsOf(table)[name]], command).toEqual([table, word]);
      }
    };
    const other = upkeep('update', 'slow');
    await sameWord('slow', words.unfinished['in progress']);
    await other;
    await service.stop();
    const proxy = await viaProxy({
      at: ({ path, change }) => change !== undefined && path.endsWith('/start'),
      fault: { kind: 'answer', status: 500, body: '{"message":"no task"}', when: 'before' },
      times: 1000,
    });
    await upkeep('update', 'killed');
    const again = await serve();
    await again.seen('Cannot repair an interrupted update of killed');
    await sameWord('killed', words.unfinished['repair pending']);
    proxy.disarm();
    // The engine was at fault, so the version is ready again.
    await expect.poll(async () => (await told())['killed']?.[1], { timeout: 70_000 }).toBe('stale');
  });

  /** The words of a run's results, by container, with the kind of each. */
  const results = {
    good: [words.outcome.updated, 'updated'],
    broke: [words.backOn('v1'), 'rolled_back'],
    cut: [words.outcome.failed, 'failed'],
    beside: [words.outcome.restarted, 'restarted'],
    still: [words.hold['not-replaceable'], 'skipped'],
    later: [words.outcome.deferred, 'deferred'],
    fine: [words.outcome.fresh, 'fresh'],
  } as const;

  async function startForResults(): Promise<void> {
    more = { UPKEEP_LIFECYCLE_HOOKS: 'true', UPKEEP_HTTP_API_ENDPOINTS: 'all' };
    let refuses = false;
    const front = await startFront({
      upstreams: {},
      otherwise: registry.url,
      says: ({ agent }) => (refuses && !/upkeep/i.test(agent) ? { refusal: { status: 500, body: '{}' } } : {}),
    });
    onTestFinished(() => front.close());
    const cut = `127.0.0.1:${front.port}/every-state/cut:stable`;
    await push('cut', catalogue['plain-v1']);
    await engine.pull(cut);
    await engine.run('cut', cut, { StopTimeout: 1 });
    await push('cut', catalogue['plain-v2']);
    refuses = true;
    await stale('good');
    await run('beside', { config: { Cmd: ['sleep', '100000'], HostConfig: { NetworkMode: 'container:good' } } });
    await stale('broke', { next: catalogue.crash });
    await stale('still');
    await engine.call('POST', '/containers/still/pause');
    await stale('later', { config: { Labels: { 'upkeep.lifecycle.pre-update': 'exit 75' } } });
    await run('fine');
  }

  test('the result of a run has one word in its table, in the history and on the page', async () => {
    await startForResults();
    const service = await serve();
    const table = wordsOf(await upkeep('update'));
    const all = Object.entries(results);
    expect(table).toMatchObject(Object.fromEntries(all.map(([name, [word]]) => [name, word])));
    const saysSo = async () => {
      const answer = await fetch('http://127.0.0.1:18797/v1/history', {
        headers: { Authorization: 'Bearer secret' },
      });
      const [newest] = readHistory(await answer.json());
      const kept = new Map(newest?.containers.map((one) => [one.name, one]));
      const text = await upkeep('history');
      for (const [name, [word, kind]] of all.filter(([, [, each]]) => !/^(?:skipped|deferred|fresh)$/.test(each))) {
        const one = kept.get(name);
        expect([name, one && words.result(one.outcome, one), one?.outcome]).toEqual([name, word, kind]);
        expect(text).toMatch(new RegExp(`\\b${name} ${word}`));
      }
    };
    await saysSo();
    await service.stop();
    await serve();
    await saysSo();
  });

  test('a message has the word of each result', async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    await startForResults();
    await upkeep('run', '--run-once', '--notification-url', receiver.url);
    const text = receiver
      .taken()
      .map((message) => message.text)
      .join('\n');
    const sections = text.split(/^(?=[A-Z][a-z ]+:$)/m);
    const headings = {
      ...results,
      broke: ['rolled back'],
      cut: ['needs you'],
      still: ['not updated'],
      later: ['not updated'],
    } as const;
    const { fine: _, ...told } = headings;
    for (const [name, [word]] of Object.entries(told)) {
      const section = sections.find((each) => new RegExp(`^- ${name} `, 'm').test(each)) ?? text;
      expect([name, section.toLowerCase()]).toEqual([name, expect.stringMatching(new RegExp(`^${word}`))]);
    }
    const [summary] = sections;
    for (const word of ['updated', 'failed', 'rolled_back', 'restarted', 'deferred', 'fresh'] as const)
      expect(summary).toContain(words.counted(1, words.outcome[word]));
  });

  /** All that follows in the test asks the engine through a proxy with this fault. */
  async function viaProxy(rule: FaultRule) {
    const proxy = await createFaultProxy({ listen: { port: 0 }, upstream: { socketPath: engine.socket } });
    onTestFinished(() => proxy.close());
    proxy.arm(rule);
    more = { DOCKER_HOST: `tcp://127.0.0.1:${proxy.port}` };
    return proxy;
  }

  test.each([
    ['calm', catalogue['plain-v2'], ['pulling', 'preparing', 'stopping', 'starting', 'checking health', 'committing']],
    ['hasty', catalogue.crash, ['pulling', 'preparing', 'stopping', 'starting', 'checking health', 'rolling back']],
  ] as const)('while %s is updated the page has the word of each phase', async (name, next, phases) => {
    await stale(name, { next });
    await hasPhases(name, phases);
  });

  test.each([
    ['kept', catalogue['plain-v2'], ['stopping', 'saving data', 'starting', 'checking health', 'committing']],
    [
      'returned',
      catalogue.crash,
      ['stopping', 'saving data', 'starting', 'checking health', 'rolling back', 'restoring data', 'rolling back'],
    ],
  ] as const)('and while its data is copied: %s', async (name, next, phases) => {
    const helper = await provideDataHelper(engine, registry.host, catalogue['data-helper']);
    more = { UPKEEP_DATA_IMAGE: helper };
    const config = { Labels: { 'upkeep.data': 'volumes' }, HostConfig: { Binds: ['kept:/data'] } };
    await stale(name, { next, config });
    await hasPhases(name, ['pulling', 'preparing', ...phases]);
  });

  /** Updates the container, and expects these words on the page in their order. */
  async function hasPhases(name: string, phases: readonly UpdatePhase[]): Promise<void> {
    await serve();
    const url = 'http://127.0.0.1:18797';
    await expect.poll(async () => (await told())[name]?.[1], { timeout: 30_000 }).toBe('stale');
    const events = await followEvents(url, { extra: true });
    onTestFinished(events.end);
    const headers = { Authorization: 'Bearer secret' };
    const status = readStatus(await (await fetch(`${url}/v1/status?extra=true`, { headers })).json());
    const store = createContainerStore();
    store.take(readDetails(await details()), status, Date.now());
    await fetch(`${url}/v1/update?container=${name}`, { method: 'POST', headers });
    await events.until((text) => /event: scan_completed\n.*"purpose":"update"/.test(text));
    const seen: string[] = [];
    for (const line of events
      .text()
      .split('\n')
      .filter((text) => text.startsWith('data: '))) {
      const event = readEvent(line.slice('data: '.length));
      if (event === undefined) continue;
      store.onEvent(event, Date.now());
      const one = store.named(name);
      const update = store.updateOf(name);
      if (one === undefined || update === undefined) continue;
      const { word } = describeState(one, update, Date.now());
      if (seen.at(-1) !== word.toLowerCase()) seen.push(word.toLowerCase());
    }
    expect(seen.filter((word) => word !== words.phase.waiting)).toEqual(
      phases.map((phase) => expect.stringContaining(words.phase[phase])),
    );
  }

  test('the proxy that Upkeep reaches the engine through has one word, also after an update of all', async () => {
    more = { DOCKER_HOST: 'tcp://127.0.0.1:12379' };
    const binds = [...nodeMounts, `${engine.socket}:/var/run/docker.sock`];
    const ports = { '2375/tcp': [{ HostIp: '127.0.0.1', HostPort: '12379' }] };
    await stale('door', {
      old: socketProxyImage('v1'),
      next: socketProxyImage('v2'),
      config: { HostConfig: { Binds: binds, PortBindings: ports } },
    });
    const ownWay = [words.hold['own-way'], 'held', 'own-way'];
    const service = await serve();
    const saysSo = async () => {
      await expect.poll(async () => (await told())['door'], { timeout: 30_000 }).toEqual(ownWay);
      for (const command of ['check', 'containers'])
        expect(wordsOf(await upkeep(command))['door'], command).toBe(words.hold['own-way']);
    };
    await saysSo();
    await upkeep('update');
    await saysSo();
    await service.stop();
    await serve();
    await saysSo();
  });

  test('an engine of a later wave has one word, until the earlier one runs the version', async () => {
    const second = await lab.startEngine({ name: 'every-state-second' });
    onTestFinished(() => second.remove());
    more = { UPKEEP_WAVES: 'first, 100%', UPKEEP_WAVE_PAUSE: '1h' };
    const hosts = ['--host', `first=unix://${engine.socket}`, '--host', `second=unix://${second.socket}`];
    await push('web', catalogue['plain-v1']);
    for (const one of [engine, second]) {
      await one.pull(image('web'));
      await one.run('web', image('web'), { StopTimeout: 1 });
    }
    await push('web', catalogue['plain-v2']);
    const saysSo = async (first: string) => {
      await expect.poll(told, { timeout: 30_000 }).toEqual({
        'first/web': [expect.stringMatching(first === 'stale' ? words.verdict.stale : /^updated /), first],
        'second/web': wave,
      });
      for (const command of ['check', 'containers'])
        expect(await upkeep(command, ...hosts), command).toMatch(new RegExp(`second/web +${words.hold.wave}`));
    };
    const wave = [words.hold.wave, 'held', 'wave'];
    const service = await serve(...hosts);
    await saysSo('stale');
    await upkeep('update', ...hosts);
    await saysSo('fresh');
    await service.stop();
    await serve(...hosts);
    await saysSo('fresh');
  });
});
