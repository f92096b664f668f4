import { describe, expect, test } from 'vitest';
import { parseAddress } from './connection.ts';
import { sshArguments } from './ssh.ts';

describe('parseAddress()', () => {
  test.each([
    ['unix:///var/run/docker.sock', { kind: 'unix', path: '/var/run/docker.sock' }],
    ['tcp://engine', { kind: 'tcp', host: 'engine', port: 2375, secure: false }],
    ['tcp://10.0.0.1:1234', { kind: 'tcp', host: '10.0.0.1', port: 1234, secure: false }],
    ['tcp://[::1]:2375/', { kind: 'tcp', host: '::1', port: 2375, secure: false }],
    ['http://engine', { kind: 'tcp', host: 'engine', port: 80, secure: false }],
    ['https://engine', { kind: 'tcp', host: 'engine', port: 443, secure: true }],
    ['ssh://host', { kind: 'ssh', host: 'host', port: undefined, user: undefined }],
    ['ssh://me@host.example:2222', { kind: 'ssh', host: 'host.example', port: 2222, user: 'me' }],
    ['ssh://me@[fe80::1]', { kind: 'ssh', host: 'fe80::1', port: undefined, user: 'me' }],
  ])('reads %s', (text, address) => {
    expect(parseAddress(text, false)).toEqual({ text, ...address });
  });

  test('encrypts tcp where TLS is configured, on its other port', () => {
    expect(parseAddress('tcp://engine', true)).toMatchObject({ port: 2376, secure: true });
    expect(parseAddress('https://engine:1', true)).toMatchObject({ port: 1, secure: true });
    expect(parseAddress('http://engine:1', true)).toMatchObject({ secure: false });
  });

  test.each([
    '',
    'engine',
    '/var/run/docker.sock',
    'unix://var/run/docker.sock',
    'unix:///a\0b',
    'npipe:////./pipe/docker_engine',
    'fd://',
    'tcp://',
    'tcp://user@engine',
    'tcp://engine:99999',
    'tcp://engine/path',
    'tcp://engine?x=1',
    'ssh://-oProxyCommand=touch%20x',
    'ssh://-oProxyCommand=x@host',
    'ssh://me@host/var/run/docker.sock',
    'ssh://me@ho%20st',
    'ssh://me;id@host',
    'ssh://$(id)@host',
    `tcp://${'x'.repeat(10_000)}:y`,
  ])('refuses %s', (text) => {
    expect(() => parseAddress(text, false)).toThrow(expect.objectContaining({ code: 'invalid-input' }));
  });

  test('does not repeat a password', () => {
    expect(() => parseAddress('tcp://me:hunter2@engine', false)).toThrow(/\*\*\*@engine/);
    for (const text of [
      'ssh://me:hunter2@engine',
      'ssh://me@nas:hunter2@engine',
      'ssh://me%3Ahunter2@engine',
      'tcp://hunter2@engine',
      'tcp://engine?token=hunter2',
      'tcp://engine/#hunter2',
      'ftp://me:a@hunter2@engine',
    ]) {
      expect(() => parseAddress(text, false)).toThrow(/^Cannot use "[^"]*\*\*\*[^"]*" as the address/);
      expect(() => parseAddress(text, false)).not.toThrow(/hunter2/);
    }
  });
});

describe('sshArguments()', () => {
  test('ends the options before the host', () => {
    const address = parseAddress('ssh://me@host:2222', false);
    if (address.kind !== 'ssh') throw new Error(address.kind);
    const args = sshArguments(address, 'docker');
    expect(args.slice(args.indexOf('-p'))).toEqual([
      '-p',
      '2222',
      '-l',
      'me',
      '--',
      'host',
      'docker system dial-stdio',
    ]);
    expect(args).toEqual(expect.arrayContaining(['-a', '-x', 'BatchMode=yes']));
  });
});
