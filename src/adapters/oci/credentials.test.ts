import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { at, createOciRig, failureOf } from '../../../test/support/registry/oci-rig.ts';
import { parseImageReference } from '../../domain/image/image-reference.ts';
import { createCredentials, type Credentials, type CredentialOptions } from './credentials.ts';

const rig = createOciRig();
const path = process.env['PATH'];
afterEach(() => {
  process.env['PATH'] = path;
});

const jo = { username: 'jo', password: 'secret' };
const repo = { repoUser: 'repo', repoPass: 'all' };

/** Puts a program on the PATH that writes each input to a file and then runs the lines. */
function helper(name: string, ...lines: string[]): { readonly asked: () => string[] } {
  const folder = rig.folder();
  const notes = join(folder, 'notes');
  const file = join(folder, `docker-credential-${name}`);
  writeFileSync(file, ['#!/bin/sh', `echo "$1 $(cat)" >>${notes}`, ...lines].join('\n'));
  chmodSync(file, 0o755);
  process.env['PATH'] = `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
  return { asked: () => (existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []) };
}

const saying = (answer: object): string => `echo '${JSON.stringify(answer)}'`;
const notFound = "echo 'credentials not found in native keychain'; exit 1";

function create(config: object | undefined, options: Partial<CredentialOptions> = {}): Credentials {
  const dockerConfigPath = config === undefined ? undefined : rig.dockerConfig(config);
  return createCredentials({ clock: createFakeClock(), dockerConfigPath, ...options });
}

const userOf = async (login: ReturnType<Credentials['find']>): Promise<string | undefined> => {
  const { credential } = await login;
  return credential === undefined || credential.kind === 'registry-token' ? undefined : credential.username;
};

describe('find()', () => {
  test('takes the login in the file, and that of REPO_USER for Docker Hub where it names none', async () => {
    const credentials = create({ auths: { 'ghcr.io': jo, 'quay.io': { auth: 'rubbish' } } }, repo);
    expect(await userOf(credentials.find('ghcr.io'))).toBe('jo');
    expect(await userOf(credentials.find('docker.io'))).toBe('repo');
    expect(await userOf(credentials.findOwn('docker.io'))).toBeUndefined();
    expect(await credentials.find('quay.io')).toMatchObject({
      credential: undefined,
      origin: expect.stringMatching(/^its login in ".*config.json" cannot be read$/),
    });
  });

  test('does without a file, and without half a REPO login', async () => {
    expect(await userOf(create(undefined, repo).find('docker.io'))).toBe('repo');
    expect(await create(undefined, { repoUser: 'repo' }).find('ghcr.io')).toMatchObject({ credential: undefined });
    const missing = { dockerConfigPath: join(rig.folder(), 'none', 'config.json') };
    expect(await create(undefined, missing).find('ghcr.io')).toMatchObject({ origin: 'there is no login for it' });
  });

  test.each([
    [undefined, ['docker.io', 'registry.hub.docker.com'], ['ghcr.io', 'quay.io', 'docker.io.evil.test']],
    ['https://index.docker.io/v1/', ['docker.io'], ['ghcr.io']],
    ['registry.hub.docker.com', ['docker.io'], ['ghcr.io']],
    ['GHCR.io', ['ghcr.io'], ['docker.io', 'ghcr.io.evil.test', 'quay.io']],
    ['https://registry.test:5000/team', ['registry.test:5000'], ['registry.test', 'registry.test:5001', 'docker.io']],
  ])('with REPO_HOST %j, that of REPO_USER is for %j, and not for %j', async (repoHost, its, others) => {
    const credentials = create({ auths: {} }, { ...repo, repoHost });
    for (const registry of its) expect(await userOf(credentials.find(registry))).toBe('repo');
    for (const registry of others) {
      expect(await credentials.find(registry)).toMatchObject({
        credential: undefined,
        origin: expect.stringMatching(/^there is no login for it \(REPO_USER is for ".*"\)$/),
      });
    }
  });

  test('says once of each registry that REPO_USER is not for it', async () => {
    const said: unknown[] = [];
    const silent = { debug: () => {}, warn: () => {}, error: () => {} };
    const log = { ...silent, info: (...words: unknown[]) => void said.push(words) };
    const credentials = create(undefined, { ...repo, log });
    for (const registry of ['ghcr.io', 'quay.io', 'ghcr.io', 'docker.io']) await credentials.find(registry);
    expect(said).toEqual([
      [
        'REPO_USER and REPO_PASS are not sent to this registry: they are for "docker.io"',
        expect.objectContaining({ registry: 'ghcr.io' }),
      ],
      [
        expect.any(String),
        expect.objectContaining({ registry: 'quay.io', remedy: expect.stringContaining('--repo-host') }),
      ],
    ]);
    await create(undefined, { log }).find('ghcr.io');
    expect(said).toHaveLength(2);
  });

  test('asks the helper of the registry first, then the one for all, then the file', async () => {
    const own = helper('own', saying({ ServerURL: 'x', Username: 'own', Secret: 's' }));
    const store = helper(
      'store',
      'exec 3>&1',
      `case "$(tail -1 $(dirname $0)/notes)" in *v1/) ${saying({ Username: 'hub', Secret: 's' })};; *) ${notFound};; esac`,
    );
    const credentials = create({
      credHelpers: { 'ghcr.io': 'own' },
      credsStore: 'store',
      auths: { 'ghcr.io': jo, 'docker.io': jo, 'quay.io': jo },
    });
    expect(await userOf(credentials.find('ghcr.io'))).toBe('own');
    expect(await userOf(credentials.find('docker.io'))).toBe('hub');
    expect(await userOf(credentials.find('quay.io'))).toBe('jo');
    expect((await credentials.find('public.test')).origin).toBe('there is no login for it');
    expect(own.asked()).toEqual(['get ghcr.io']);
    expect(store.asked()).toEqual(['get https://index.docker.io/v1/', 'get quay.io', 'get public.test']);
  });

  test('asks no helper about a registry whose helper has no name', async () => {
    const { asked } = helper('store', saying({ Username: 'store', Secret: 's' }));
    const credentials = create({ credHelpers: { 'ghcr.io': '' }, credsStore: 'store', auths: { 'ghcr.io': jo } });
    expect(await userOf(credentials.find('ghcr.io'))).toBe('jo');
    expect(asked()).toEqual([]);
  });

  test('reads an identity token from a helper', async () => {
    helper('token', saying({ Username: '<token>', Secret: 'identity' }));
    expect(await create({ credsStore: 'token' }).find('ghcr.io')).toMatchObject({
      credential: { kind: 'identity-token', username: '', identityToken: 'identity' },
      origin: 'the login from docker-credential-token',
    });
  });

  test('asks a helper once in two minutes, once for callers at the same time, and again after forget()', async () => {
    const { asked } = helper('slow', 'sleep 0.05', saying({ Username: 'jo', Secret: 's' }));
    const clock = createFakeClock();
    const credentials = create({ credsStore: 'slow' }, { clock });
    await Promise.all([credentials.find('ghcr.io'), credentials.find('ghcr.io')]);
    await clock.advance(119_000);
    await credentials.find('ghcr.io');
    expect(asked().length).toBe(1);
    credentials.forget('ghcr.io');
    await credentials.find('ghcr.io');
    await clock.advance(121_000);
    await credentials.find('ghcr.io');
    expect(asked().length).toBe(3);
  });

  test('asks the helper again once what it said was refused', async () => {
    const { asked } = helper('old', saying({ Username: 'jo', Secret: 's' }));
    const server = await rig.serve(() => ({ status: 401, headers: { 'www-authenticate': 'Basic' } }));
    const registry = rig.registry({ dockerConfigPath: rig.dockerConfig({ credsStore: 'old' }) });
    for (let i = 0; i < 2; i += 1) {
      const error = await failureOf(registry.resolve(at(server)));
      expect(error.message).toContain('the login from docker-credential-old does not give access');
    }
    expect(asked().length).toBe(2);
  });

  test.each<[string, string[], RegExp, number?]>([
    ['is missing', [], /^docker-credential-broken is not installed here$/],
    ['fails', ["echo 'no \u001b[31mkeychain' >&2; exit 3"], /^docker-credential-broken failed: no \\x1b\[31mkeychain$/],
    [
      'says a login and fails',
      [`echo '{"Username":"jo","Secret":"geheim"}'; exit 1`],
      /^docker-credential-broken failed: 1$/,
    ],
    ['says nothing to read', ['echo secret stuff'], /^docker-credential-broken gave an answer that cannot be read$/],
    ['says too much', ['yes | head -c 100000'], /^docker-credential-broken wrote more than 65536 bytes$/],
    ['hangs', ['sleep 60'], /^docker-credential-broken did not answer within 200ms$/, 200],
  ])('goes on as anyone when the helper %s, and remembers why', async (_, lines, why, helperDeadlineMs) => {
    if (lines.length > 0) helper('broken', ...lines);
    const credentials = create(
      { credsStore: 'broken' },
      { ...(helperDeadlineMs !== undefined && { helperDeadlineMs }) },
    );
    const { credential, origin } = await credentials.find('ghcr.io');
    expect(credential).toBeUndefined();
    expect(origin).toMatch(why);
  });

  test.each(['../evil', 'a b', 'UPPER', 'x;y'])('never runs a helper named %j', async (name) => {
    const { credential, origin } = await create({ credHelpers: { 'ghcr.io': name } }).find('ghcr.io');
    expect(credential).toBeUndefined();
    expect(origin).toContain('is not the name of a credential helper');
  });
});

describe('config.json', () => {
  test('is read again when it has changed', async () => {
    const dockerConfigPath = rig.dockerConfig({ auths: { 'ghcr.io': jo } });
    const clock = createFakeClock();
    const credentials = createCredentials({ clock, dockerConfigPath });
    expect(await userOf(credentials.find('ghcr.io'))).toBe('jo');
    writeFileSync(dockerConfigPath, JSON.stringify({ auths: { 'ghcr.io': { username: 'ann', password: 'secret' } } }));
    await clock.advance(300);
    expect(await userOf(credentials.find('ghcr.io'))).toBe('ann');
  });

  test.each([
    ['{"auths":{"ghcr.io":{"auth":"c2VjcmV0"', 'it is not a JSON object'],
    ['[1]', 'it is not a JSON object'],
    [`"${'x'.repeat(1024 * 1024)}"`, 'it has more than 1048576 bytes'],
  ])('that cannot be read is one clear failure without its content', async (text, why) => {
    const dockerConfigPath = rig.dockerConfig({});
    writeFileSync(dockerConfigPath, text);
    const registry = rig.registry({ dockerConfigPath, ...repo });
    const error = await failureOf(registry.credentialsFor(parseImageReference('ghcr.io/a/b')));
    expect(error.code).toBe('registry-denied');
    expect(error.message).toBe(
      `Cannot log in for "ghcr.io/a/b:latest" at "ghcr.io": the logins in "${dockerConfigPath}" cannot be read: ${why}`,
    );
    expect(error.cause).toBeUndefined();
  });

  test('that is a folder is explained', async () => {
    const dockerConfigPath = join(rig.folder(), 'config.json');
    mkdirSync(dockerConfigPath);
    const credentials = createCredentials({ clock: createFakeClock(), dockerConfigPath });
    await expect(credentials.find('ghcr.io')).rejects.toThrow('it is a folder');
  });
});

test.each<[string, object | undefined, unknown]>([
  ['ghcr.io/a/b', { 'ghcr.io': jo }, { kind: 'password', ...jo, serverAddress: 'ghcr.io' }],
  ['nginx', { 'docker.io': jo }, { kind: 'password', ...jo, serverAddress: 'https://index.docker.io/v1/' }],
  [
    'GHCR.IO/a/b',
    { 'ghcr.io': { identitytoken: 't' } },
    { kind: 'identity-token', username: '', identityToken: 't', serverAddress: 'ghcr.io' },
  ],
  [
    'ghcr.io/a/b',
    { 'ghcr.io': { registrytoken: 't' } },
    { kind: 'registry-token', registryToken: 't', serverAddress: 'ghcr.io' },
  ],
  ['ghcr.io/a/b', {}, undefined],
])('credentialsFor(%s) is what an engine needs', async (image, auths, expected) => {
  const registry = rig.registry({ dockerConfigPath: rig.dockerConfig({ auths }) });
  expect(await registry.credentialsFor(parseImageReference(image))).toEqual(expected);
});

describe('the logins of Podman', () => {
  const login = (username: string) => ({ auth: Buffer.from(`${username}:secret`).toString('base64') });

  /** Writes the file, and returns its path. */
  function authFile(auths: object): string {
    const file = join(rig.folder(), 'auth.json');
    writeFileSync(file, JSON.stringify({ auths }));
    return file;
  }

  const finder = (options: Partial<CredentialOptions>) => {
    const credentials = createCredentials({ clock: createFakeClock(), ...options });
    return (name: string) => {
      const [registry = '', ...rest] = name.split('/');
      return userOf(credentials.find(registry, rest.join('/')));
    };
  };

  test('the longest key that names the image counts', async () => {
    const usual = authFile({
      'quay.io/acme': login('acme'),
      'quay.io': login('all'),
      'quay.io/acme/app/deep': login('deep'),
      'docker.io/library': login('library'),
      'https://index.docker.io/v1/': login('hub'),
      'Registry.Test:5000/Team': login('team'),
      'ghcr.io/one': login('one'),
    });
    const find = finder({ authFiles: { chosen: undefined, usual: [usual] } });
    for (const [name, user] of [
      ['quay.io/acme/app', 'acme'],
      ['quay.io/acme/app/deep', 'deep'],
      ['quay.io/acme/app/deeper', 'acme'],
      ['quay.io/acmes/app', 'all'],
      ['quay.io/other', 'all'],
      ['docker.io/library/nginx', 'library'],
      ['docker.io/me/nginx', 'hub'],
      ['registry.test:5000/Team/app', 'team'],
      ['registry.test:5000/app', undefined],
      ['ghcr.io/one/app', 'one'],
      ['ghcr.io/two/app', undefined],
    ] as const)
      expect(await find(name), name).toBe(user);
  });

  test("in Docker's file too, where a key with a path is else that of its whole registry", async () => {
    const dockerConfigPath = rig.dockerConfig({ auths: { 'ghcr.io/one': login('one'), 'ghcr.io/two/': login('two') } });
    const find = finder({ dockerConfigPath });
    expect(await find('ghcr.io/two/app')).toBe('two');
    expect(await find('ghcr.io/three/app')).toBe('one');
  });

  test('the first file with a login counts: the chosen one, then that of Docker, and with Podman its own before', async () => {
    const dockerConfigPath = rig.dockerConfig({ auths: { 'a.test': login('docker'), 'b.test': login('docker') } });
    const usual = [join(rig.folder(), 'none'), authFile({ 'a.test': login('run'), 'c.test': login('run') })];
    const chosen = authFile({ 'b.test': login('chosen') });
    const onDocker = finder({ dockerConfigPath, authFiles: { chosen, usual } });
    expect(await onDocker('a.test/app')).toBe('docker');
    expect(await onDocker('b.test/app')).toBe('chosen');
    expect(await onDocker('c.test/app')).toBe('run');
    const prefersPodman = () => Promise.resolve(true);
    const onPodman = finder({ dockerConfigPath, authFiles: { chosen, usual }, prefersPodman });
    expect(await onPodman('a.test/app')).toBe('run');
    expect(await onPodman('b.test/app')).toBe('chosen');
    const repoUser = finder({ ...repo, repoHost: 'c.test', authFiles: { chosen, usual } });
    expect(await repoUser('c.test/app')).toBe('run');
  });

  test('a login of a namespace asks for no access to other repositories', async () => {
    const usual = authFile({ 'quay.io/acme': login('acme'), 'quay.io': login('all') });
    const credentials = createCredentials({
      clock: createFakeClock(),
      authFiles: { chosen: undefined, usual: [usual] },
    });
    expect(await credentials.find('quay.io', 'acme/app')).toMatchObject({ isNamespaced: true });
    expect(await credentials.find('quay.io', 'app')).not.toHaveProperty('isNamespaced');
  });

  test('a damaged file is named, wherever it is', async () => {
    const file = join(rig.folder(), 'auth.json');
    writeFileSync(file, 'secret');
    const find = finder({ authFiles: { chosen: undefined, usual: [file] } });
    await expect(find('quay.io/app')).rejects.toThrow(
      `the logins in "${file}" cannot be read: it is not a JSON object`,
    );
  });
});
