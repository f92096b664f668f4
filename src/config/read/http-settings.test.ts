import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { endpointGroups } from '../../domain/settings/http-settings.ts';
import { loadConfiguration } from './load.ts';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-http-'));
afterAll(() => rmSync(folder, { recursive: true }));

const tokens = { UPKEEP_HTTP_API_TOKEN: 'secret-of-the-api', UPKEEP_HTTP_API_EVENTS_TOKEN: 'secret-of-the-events' };

describe('people', () => {
  const on = ['--http-api-endpoints', 'dashboard'];
  const oidc = ['--oidc-issuer', 'https://auth.test', '--oidc-client-id', 'upkeep'];
  test.each([
    ['an issuer without a client', ['--oidc-issuer', 'https://auth.test', '--auth-admins', 'anna'], 'it needs both'],
    ['a client without an issuer', ['--oidc-client-id', 'upkeep', '--auth-admins', 'anna'], 'it needs both'],
    ['an issuer that lets nobody in', oidc, 'nobody has a role; list them with --auth-admins'],
    ['a header that lets nobody in', ['--auth-header', 'Remote-User'], 'nobody has a role'],
    ['an issuer with a query', ['--oidc-issuer', 'https://auth.test/?a=b'], 'expected the URL of an issuer'],
    ['an address to come back to elsewhere', ['--oidc-redirect-url', 'https://nas.test/'], '/v1/oidc-callback'],
    [
      'a secret in a file that is missing',
      [...oidc, '--auth-admins', 'a', '--oidc-client-secret', '/nope'],
      'Cannot read',
    ],
  ])('%s stops the start', (_, argv, why) => expect(faultsOf([...on, ...argv])).toContain(why));

  test.each([
    ['without a trusted proxy', ['--auth-header', 'Remote-User'], '--http-api-trusted-proxies'],
    ['with an issuer without TLS', ['--oidc-issuer', 'http://auth.test', '--oidc-client-id', 'a'], 'without TLS'],
  ])('%s there is a warning', (_, argv, words) => {
    const loaded = load([...on, '--auth-admins', 'anna', ...argv], {});
    if (loaded.kind !== 'command') throw new Error('faults');
    expect(loaded.warnings.join('\n')).toContain(words);
  });

  test('the secret is that of its file, whose path is kept', () => {
    const path = join(folder, 'client-secret');
    writeFileSync(path, 'the-secret\n');
    const { oidc: found } = httpOf([...on, ...oidc, '--auth-admins', '@a.test', '--oidc-client-secret', path], {});
    expect(found).toMatchObject({ clientSecret: { kind: 'file', path }, scopes: ['openid', 'profile', 'email'] });
  });

  const secretFile = (text: string, mode = 0o600) => {
    const path = join(folder, `client-secret-${(files += 1)}`);
    writeFileSync(path, text, { mode });
    return path;
  };
  let files = 0;
  const withSecret = (path: string) => [...on, ...oidc, '--auth-admins', '@a.test', '--oidc-client-secret', path];

  test.each([
    ['without the end of the line', 'the-secret', 0o600],
    ['with several ends of lines', '\n the-secret\r\n\n', 0o600],
    ['with a colon, an equals sign and quotes inside', 'a:b=c"d"==', 0o600],
    ['that begins with the sign of a comment', '#the-secret', 0o600],
    ['that everybody may read, as Docker mounts secrets', 'the-secret\n', 0o644],
  ])('a secret in a file %s is taken', (_, text, mode) => {
    const path = secretFile(text, mode);
    expect(httpOf(withSecret(path), {}).oidc).toMatchObject({ clientSecret: { kind: 'file', path } });
  });

  test.each([
    ['a name before it', 'upkeep: SECRET\n', 'it has a space, a name or a second line beside the secret'],
    ['a role behind it', 'upkeep: SECRET operator', 'it has a space, a name or a second line beside the secret'],
    ['a second line', 'SECRET\nSECOND', 'it has a space, a name or a second line beside the secret'],
    ['quotes', '"SECRET"\n', 'it has quotes around the secret'],
    ['single quotes', "'SECRET'", 'it has quotes around the secret'],
    ['nothing in it', ' \n', 'the file is empty'],
  ])('a file of the secret with %s stops the start, and its content is not told', (_, text, why) => {
    const faults = faultsOf(withSecret(secretFile(text)));
    expect(faults).toContain(why);
    expect(faults).toContain('--oidc-client-secret');
    expect(faults).not.toContain('SECRET');
  });

  test.skipIf(process.getuid?.() === 0)('a file of the secret that may not be read stops the start', () => {
    expect(faultsOf(withSecret(secretFile('SECRET', 0o000)))).toContain('permission denied');
  });

  test('a secret of webhooks has no role', () => {
    const path = join(folder, 'webhooks');
    writeFileSync(path, 'hub: the-secret-of-webhooks viewer\n');
    const argv = ['--http-api-endpoints', 'webhooks', '--http-api-webhook-secret', path];
    expect(faultsOf(argv)).toContain('a secret of webhooks has no role');
  });
});

describe('the endpoints', () => {
  test('are none by default, and then nothing else about the API is looked at', () => {
    const settings = httpOf([], { UPKEEP_HTTP_API_TOKEN: '/run/secrets/not-there' });
    expect(settings.groups).toEqual([]);
    expect(settings.token).toBeUndefined();
  });

  test.each([
    ['health,swagger', ['health', 'swagger']],
    ['health swagger', ['health', 'swagger']],
    [' HEALTH ,, Swagger ', ['health', 'swagger']],
    ['health,health', ['health']],
    ['all', endpointGroups],
    ['ALL', endpointGroups],
  ])('%j are %j', (text, expected) => {
    expect(httpOf([], { ...tokens, UPKEEP_HTTP_API_ENDPOINTS: text }).groups).toEqual(expected);
  });

  test('may be given with a repeated flag, which wins over the variable', () => {
    const argv = ['--http-api-endpoints', 'health', '--http-api-endpoints=swagger,config'];
    const environment = { ...tokens, UPKEEP_HTTP_API_ENDPOINTS: 'update' };
    expect(httpOf(argv, environment).groups).toEqual(['health', 'config', 'swagger']);
  });

  test('come from the Watchtower variable too', () => {
    const environment = { WATCHTOWER_HTTP_API_ENDPOINTS: 'update', WATCHTOWER_HTTP_API_TOKEN: 'x' };
    expect(httpOf([], environment).groups).toEqual(['update']);
  });

  test('an unknown one stops the start', () => {
    expect(faultsOf([], { ...tokens, UPKEEP_HTTP_API_ENDPOINTS: 'health,nope' })).toContain(
      'Cannot use UPKEEP_HTTP_API_ENDPOINTS "health,nope": expected "all" alone, or some of health, update',
    );
  });

  test('"all" with another stops the start', () => {
    expect(faultsOf(['--http-api-endpoints', 'all,health'], tokens)).toBe(
      'Cannot use --http-api-endpoints "all,health": "all" must be the only value',
    );
  });

  test('the switches of old name groups too, with one line that says so', () => {
    const loaded = load(['--http-api-update', '--http-api-metrics=true'], {
      ...tokens,
      WATCHTOWER_HTTP_API_CONTAINERS: '1',
    });
    if (loaded.kind !== 'command') throw new Error('faults');
    expect(loaded.settings.http.groups).toEqual(['update', 'metrics', 'containers']);
    expect(loaded.warnings).toEqual([
      '--http-api-containers, --http-api-metrics, --http-api-update are deprecated: use --http-api-endpoints containers,metrics,update',
    ]);
  });
});

describe('the tokens', () => {
  test.each(['run', 'config'])('that the first start makes are enough for "upkeep %s"', (command) => {
    const environment = { UPKEEP_STATE_DIR: folder, UPKEEP_HTTP_API_ENDPOINTS: 'containers,events,dashboard' };
    expect(loadConfiguration([command], environment)).toMatchObject({ kind: 'command', command });
  });

  test.each(endpointGroups)('%s without its token', (group) => {
    const loaded = load(['--http-api-endpoints', group]);
    if (group === 'health' || group === 'swagger' || group === 'dashboard') expect(loaded.kind).toBe('command');
    else {
      const own: Partial<Record<string, string>> = {
        events: '--http-api-events-token',
        webhooks: '--http-api-webhook-secret',
      };
      const flag = own[group] ?? '--http-api-token';
      expect(loaded).toMatchObject({ kind: 'faults', exitCode: 1 });
      expect(faultsOf(['--http-api-endpoints', group])).toContain(
        `Cannot serve ${group} without a token: give one with ${flag}`,
      );
    }
  });

  test('all groups need no secret of webhooks, whose endpoint is off without one', () => {
    const settings = httpOf([], { ...tokens, UPKEEP_HTTP_API_ENDPOINTS: 'all' });
    expect([settings.webhookSecret, settings.webhookUpdate]).toEqual([undefined, false]);
    const given = httpOf(['--http-api-webhook-secret', ' of-the-hooks '], {
      ...tokens,
      UPKEEP_HTTP_API_ENDPOINTS: 'webhooks',
    });
    expect(given.webhookSecret).toEqual({ kind: 'value', value: 'of-the-hooks' });
  });

  test('one does not stand for the other', () => {
    expect(faultsOf(['--http-api-endpoints', 'events'], { UPKEEP_HTTP_API_TOKEN: 'x' })).toContain('events-token');
    expect(faultsOf(['--http-api-endpoints', 'check'], { UPKEEP_HTTP_API_EVENTS_TOKEN: 'x' })).toContain(
      'http-api-token',
    );
  });

  test('a value is the token, without the space around it', () => {
    expect(httpOf(['--http-api-endpoints', 'check', '--http-api-token', ' s3cret '], {}).token).toEqual({
      kind: 'value',
      value: 's3cret',
    });
  });

  test('the name of a file stands for the file', () => {
    const path = join(folder, 'token');
    writeFileSync(path, 's3cret\n');
    expect(httpOf(['--http-api-endpoints', 'check', '--http-api-token', path], {}).token).toEqual({
      kind: 'file',
      path,
    });
  });

  test.each([
    ['an empty file', join(folder, 'empty'), () => writeFileSync(join(folder, 'empty'), ' \n'), 'the file is empty'],
    ['a secret that is not there', '/run/secrets/upkeep-not-there', () => undefined, 'there is no such file'],
    ['a path that leads nowhere', join(folder, 'nobody', 'token'), () => undefined, 'there is no such file'],
    ['a path with space around it', ` ${join(folder, 'nothing')} `, () => undefined, 'there is no such file'],
    ['a path from here that leads nowhere', './no/such/token', () => undefined, 'there is no such file'],
    ['a folder', join(folder, 'mount'), () => mkdirSync(join(folder, 'mount')), 'it is a folder, which Docker creates'],
    ['a folder named with a slash behind', `${folder}/`, () => undefined, 'it is a folder'],
    ['a device', '/dev/null', () => undefined, 'it is not a file'],
  ])('%s stops the start, with a remedy', (_, path, make, why) => {
    make();
    for (const [group, flag] of [
      ['check', '--http-api-token'],
      ['events', '--http-api-events-token'],
    ] as const) {
      const faults = faultsOf(['--http-api-endpoints', group, flag, path]);
      expect(faults).toContain(`Cannot read the file of ${flag} "${path.trim()}": ${why}`);
      expect(faults).toContain('name a file with the value in it, which this user may read');
    }
  });

  test.each([
    [
      '\n\n# people\nanna: first-of-the-tokens\nSECRET\n',
      'line 5 is not NAME: TOKEN, as each line of several has to be',
    ],
    ['\n# people\nSECRET:\n', 'line 3 has a name without a token'],
    [
      'bob: SECRET SECRET',
      'line 1 has a token with a space in it, or a word after it that is no role (viewer, operator, admin)',
    ],
    ['#SECRET', 'the file has no token: each of its lines is a comment'],
  ])('a token file with %j stops the start, and its content is not told', (text, why) => {
    const path = join(folder, 'people');
    writeFileSync(path, text);
    for (const [group, flag] of [
      ['check', '--http-api-token'],
      ['events', '--http-api-events-token'],
    ] as const) {
      const faults = faultsOf(['--http-api-endpoints', group, flag, path]);
      expect(faults).toContain(`Cannot use the file of ${flag} "${path}": ${why}; write one token alone, or a line`);
      expect(faults).not.toContain('SECRET');
    }
  });

  test('a path is not told where it may be a token that begins with a slash', () => {
    for (const token of ['/9j4AAQSkZJRgABAQ==', '/9j4AAQS/kZJRgABAQ/+=='])
      expect(faultsOf(['--http-api-endpoints', 'check', '--http-api-token', token])).toMatch(
        /^Cannot read the file of --http-api-token: there is no such file; a value that begins with \/ has to be in a file/,
      );
  });

  test('one of fewer than 16 characters is warned about, in a file too', () => {
    const path = join(folder, 'short');
    writeFileSync(path, 'fifteen-letters\n');
    const warningsOf = (token: string) => {
      const loaded = load(['--http-api-endpoints', 'check,events', '--http-api-token', token], {
        UPKEEP_HTTP_API_EVENTS_TOKEN: 'x'.repeat(16),
      });
      return loaded.kind === 'command' ? loaded.warnings : [];
    };
    for (const short of ['hunter2', ' fifteen-letters ', path])
      expect(warningsOf(short)).toEqual([expect.stringContaining('--http-api-token has fewer than 16 characters')]);
    expect(warningsOf('sixteen--letters')).toEqual([]);
    const events = load(['--http-api-endpoints', 'events', '--http-api-events-token', 'x']);
    expect(events).toMatchObject({ warnings: [expect.stringContaining('--http-api-events-token has fewer')] });
  });

  test.skipIf(process.getuid?.() === 0)('a file that may not be read stops the start', () => {
    const path = join(folder, 'secret');
    writeFileSync(path, 'x');
    chmodSync(path, 0o000);
    expect(faultsOf(['--http-api-endpoints', 'check', '--http-api-token', path])).toContain('permission denied');
  });

  test('a faulty value never shows a token', () => {
    const faults = faultsOf(['--http-api-endpoints', 'check,nope', '--http-api-token', 'hunter2'], {});
    expect(faults).not.toContain('hunter2');
  });
});

describe('TLS', () => {
  const cert = join(folder, 'cert.pem');
  const key = join(folder, 'key.pem');
  writeFileSync(cert, 'cert');
  writeFileSync(key, 'key');
  const base = ['--http-api-endpoints', 'health'];

  test('both files: HTTPS', () => {
    expect(httpOf([...base, '--http-api-tls-cert', cert, '--http-api-tls-key', key], {}).tls).toEqual({
      certFile: cert,
      keyFile: key,
    });
  });

  test.each([
    ['--http-api-tls-cert', cert, '--http-api-tls-key'],
    ['--http-api-tls-key', key, '--http-api-tls-cert'],
  ])('%s alone: plain HTTP, with a line of level error that names the other', (flag, path, missing) => {
    const loaded = load([...base, flag, path]);
    if (loaded.kind !== 'command') throw new Error('faults');
    expect(loaded.settings.http.tls).toBeUndefined();
    expect(loaded.warnings).toEqual([]);
    expect(loaded.alarms).toEqual([
      `The API is served over plain HTTP, without TLS: ${missing} is missing, which ${flag} needs`,
    ]);
  });

  test('a file that is not there stops the start', () => {
    expect(faultsOf([...base, '--http-api-tls-cert', join(folder, 'no'), '--http-api-tls-key', key])).toContain(
      'there is no such file',
    );
  });
});

test.each([
  ['-5', 60],
  ['0', 60],
  ['1', 1],
  ['1000', 1000],
])('a rate limit of %s means %d', (text, expected) => {
  expect(httpOf(['--http-api-endpoints', 'health', `--http-api-rate-limit=${text}`], {}).rateLimit).toBe(expected);
});

test.each(['127.0.0.1', '0.0.0.0', '::', '[::1]', 'localhost', 'api.example.com'])('listens on %s', (host) => {
  expect(httpOf([`--http-api-host=${host}`], {}).host).toBe(host.replace(/[[\]]/g, ''));
});

test.each([
  ['host', '999.1.1.1'],
  ['host', 'no host'],
  ['host', 'http://x'],
  ['port', '65536'],
  ['port', '-1'],
  ['port', 'http'],
  ['rate-limit', 'many'],
  ['check-timeout', '0'],
  ['update-timeout', 'soon'],
  ['trusted-proxies', '10.0.0.0/99'],
  ['trusted-proxies', 'proxy'],
  ['proxy-header', 'X Header'],
  ['cors-origins', 'example.com'],
  ['cors-origins', 'https://example.com/path'],
])('--http-api-%s %j stops the start', (name, value) => {
  expect(faultsOf([`--http-api-${name}=${value}`])).toContain(`Cannot use --http-api-${name}`);
});

test('all faults are told at once', () => {
  const faults = faultsOf([
    '--http-api-endpoints',
    'update,nope',
    '--http-api-port',
    'x',
    '--http-api-cors-origins',
    'y',
  ]);
  expect(faults.split('\n').map((line) => /--http-api-[a-z-]+/.exec(line)?.[0])).toEqual([
    '--http-api-endpoints',
    '--http-api-port',
    '--http-api-cors-origins',
  ]);
});

function load(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  return loadConfiguration(['run', ...argv], environment);
}

function httpOf(argv: readonly string[], environment: Readonly<Record<string, string>>) {
  const loaded = load(argv, environment);
  if (loaded.kind !== 'command') throw new Error(JSON.stringify(loaded));
  return loaded.settings.http;
}

function faultsOf(argv: readonly string[], environment: Readonly<Record<string, string>> = {}): string {
  const loaded = load(argv, environment);
  if (loaded.kind !== 'faults') throw new Error('no faults');
  return loaded.message;
}
