import { sshEnvironment, readContexts } from './engines.ts';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

/** A store as Docker's client writes it. */
function store(): {
  readonly folder: string;
  readonly add: (name: string, meta: unknown, pem?: readonly string[]) => string;
} {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-contexts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return {
    folder,
    add(name, meta, pem = []) {
      const id = createHash('sha256').update(name).digest('hex');
      const tls = join(folder, 'contexts/tls', id, 'docker');
      mkdirSync(join(folder, 'contexts/meta', id), { recursive: true });
      writeFileSync(
        join(folder, 'contexts/meta', id, 'meta.json'),
        typeof meta === 'string' ? meta : JSON.stringify(meta),
      );
      if (pem.length > 0) mkdirSync(tls, { recursive: true });
      for (const part of pem) writeFileSync(join(tls, `${part}.pem`), 'PEM');
      return tls;
    },
  };
}

const docker = (Name: string, Host: string, SkipTLSVerify = false) => ({
  Name,
  Metadata: {},
  Endpoints: { docker: { Host, SkipTLSVerify } },
});

test('a context is an engine with its own TLS files', () => {
  const { folder, add } = store();
  const tls = add('web', docker('web', 'tcp://web:2376'), ['ca', 'cert', 'key']);
  add('nas', docker('nas', 'ssh://admin@nas'));
  add('lax', docker('lax', 'tcp://lax:2376', true));
  expect(readContexts(['web', 'nas', 'lax', 'default'], folder)).toEqual([
    {
      engine: {
        name: 'web',
        host: 'tcp://web:2376',
        tls: { ca: join(tls, 'ca.pem'), cert: join(tls, 'cert.pem'), key: join(tls, 'key.pem'), verify: true },
      },
    },
    { engine: { name: 'nas', host: 'ssh://admin@nas' } },
    { engine: { name: 'lax', host: 'tcp://lax:2376', tls: { verify: false } } },
    { engine: { name: 'default', host: 'unix:///var/run/docker.sock' } },
  ]);
});

test('"all" is each context of the store, by name, and none twice', () => {
  const { folder, add } = store();
  for (const name of ['web', 'nas']) add(name, docker(name, `tcp://${name}:2376`));
  const names = readContexts(['all', 'web', 'default'], folder).map((read) => 'engine' in read && read.engine.name);
  expect(names).toEqual(['nas', 'web', 'default']);
});

test.each([
  ['gone', undefined, 'the context "gone" is not in'],
  ['torn', '{"Name":"torn","Endp', 'the context "torn" is not in'],
  ['list', '[]', 'the context "list" is not in'],
  ['kube', { Name: 'kube', Endpoints: { kubernetes: {} } }, 'names no Docker engine'],
  ['pipe', docker('pipe', 'npipe:////./pipe/docker_engine'), 'which is not a socket, TCP or SSH'],
  ['old', docker('old', 'npipe://me:hunter2@h/?hunter2'), 'the address "npipe://***@h/?***", which is not'],
  ['a+b', docker('a+b', 'tcp://a:1'), 'has a name that is not 1 to 63 letters'],
  ['../../etc', undefined, 'has a name that is not'],
])('%s: a clear fault', (name, meta, fault) => {
  const { folder, add } = store();
  if (meta !== undefined) add(name, meta);
  expect(readContexts([name], folder)).toEqual([{ fault: expect.stringContaining(fault) as unknown }]);
});

test('"all" of an empty store is a fault', () => {
  const { folder } = store();
  expect(readContexts(['all'], folder)).toEqual([{ fault: expect.stringContaining('has no contexts') as unknown }]);
});

test('a folder of contexts that cannot be read is a fault, except for "default"', () => {
  const folder = mkdtempSync(join(tmpdir(), 'upkeep-contexts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'contexts'));
  writeFileSync(join(folder, 'contexts', 'meta'), '');

  const fault = `the folder "${join(folder, 'contexts', 'meta')}" cannot be read (ENOTDIR)`;
  expect(readContexts(['all'], folder)).toEqual([{ fault }]);
  expect(readContexts(['default', 'shop'], folder)).toEqual([{ fault }]);
  expect(readContexts(['default'], folder)).toEqual([
    { engine: { name: 'default', host: 'unix:///var/run/docker.sock' } },
  ]);
});

test('ssh gets the variables that it needs, and no secret', () => {
  const needed = { PATH: '/bin', HOME: '/root', SSH_AUTH_SOCK: '/agent', LC_ALL: 'C', XDG_RUNTIME_DIR: '/run/user/1' };
  const secret = {
    UPKEEP_HTTP_API_TOKEN: 'x',
    UPKEEP_REPO_PASS: 'x',
    WATCHTOWER_NOTIFICATION_URL: 'x',
    WATCHTOWER_HTTP_API_TOKEN: 'x',
    REPO_PASS: 'x',
    HTTPS_PROXY: 'http://me:x@proxy',
    AWS_SECRET_ACCESS_KEY: 'x',
    NODE_OPTIONS: 'x',
    PATH_TOKEN: 'x',
    MY_HOME: 'x',
  };
  expect(sshEnvironment({ ...needed, ...secret })).toEqual(needed);
});
