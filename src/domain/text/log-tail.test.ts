import { describe, expect, test } from 'vitest';
import { hideSecrets, logTail } from './hidden-secrets.ts';

describe('logTail()', () => {
  test('keeps the last 50 lines, of 500 characters each', () => {
    const log = Array.from({ length: 80 }, (_, index) => `${index} ${'x'.repeat(index * 10)}\n`).join('');
    const lines = logTail(log, []).trimEnd().split('\n');
    expect(lines).toHaveLength(50);
    expect(lines[0]).toMatch(/^30 x/);
    expect(Math.max(...lines.map(({ length }) => length))).toBe(500);
  });

  test('moves no cursor, and keeps what is only foreign', () => {
    expect(logTail('\x1b[2Jhällo\r\nzwei\u202e', [])).toBe('\\x1b[2Jhällo\nzwei\\u202e\n');
  });

  test('is empty for an empty log', () => {
    expect(logTail('', [])).toBe('');
  });
});

describe('hideSecrets()', () => {
  const env = [
    'DB_PASSWORD=hunter22',
    'API_TOKEN=hunter22longer',
    'PIN_SECRET=abc',
    'DATABASE_URL=postgres://app:s3cr3t!@db/app',
    'TLS_PRIVATE_KEY=-----BEGIN-----\nMIIfirstline\n-----END-----',
    'PATH=/usr/bin',
    'BROKEN',
    'WINDOWS_SECRET=lineone\r\nlinetwo',
    'QUEUE=amqp://u:p@ssw0rd@h/q',
    'DATABASES=pg://u:first1@h,pg://u:second2@h',
  ];

  test.each([
    ['connecting with hunter22', 'connecting with ***'],
    ['token hunter22longer refused', 'token *** refused'],
    ['cannot reach s3cr3t! there', 'cannot reach *** there'],
    ['found MIIfirstline', 'found ***'],
    ['too short to hide: abc, /usr/bin', 'too short to hide: abc, /usr/bin'],
    ['dial https://me:pw@host/x', 'dial https://me:***@host/x'],
    ['{"password": "letmein", "user": "me"}', '{"password": "***", "user": "me"}'],
    ['Authorization: Bearer eyJhbGciOi', 'Authorization: Bearer ***'],
    ['GET /x?api_key=12345&page=2', 'GET /x?api_key=***&page=2'],
    ['passwords are fine', 'passwords are fine'],
    ['tried second2 after first1', 'tried *** after ***'],
    ['{"password":"my secret phrase","user":"me"}', '{"password":"***","user":"me"}'],
    ["secret: 'my secret phrase' refused", "secret: '***' refused"],
    [`token=${'x'.repeat(1500)} refused`, 'token=*** refused'],
    [`dial https://me:${'x'.repeat(1500)}@host/x`, 'dial https://me:***@host/x'],
    [`dial https://me:${'x'.repeat(3000)}@host/x`, 'dial https://me:***'],
    ['dial https://me:p@ss:w@host/x?by=a@b', 'dial https://me:***@host/x?by=a@b'],
    [`clone https://ghp_${'x'.repeat(36)}@host/x`, 'clone https://***@host/x'],
    ['clone https://jane.doe@host/x', 'clone https://jane.doe@host/x'],
    ['see https://host:8080/x', 'see https://host:8080/x'],
    ['pulled https://host:5000/app@sha256:1', 'pulled https://host:5000/app@sha256:1'],
    ['refused p@ssw0rd', 'refused ***'],
    ['read lineone and linetwo', 'read *** and ***'],
    [String.raw`{"password":"my \"secret\" phrase","user":"me"}`, '{"password":"***","user":"me"}'],
    [String.raw`{"msg":"{\"token\":\"abcdef\"}"}`, String.raw`{"msg":"{\"token\":\"***"}`],
    ['access_key=AKIA1 private-key: x', 'access_key=*** private-key: ***'],
    ['secret_key=one credentials=two pwd=three', 'secret_key=*** credentials=*** pwd=***'],
    ['Cookie: session=1; user=2', 'Cookie: ***'],
    ['Set-Cookie: session=1; Path=/', 'Set-Cookie: ***'],
    ['Authorization: Digest username="me", response="ab"', 'Authorization: Digest ***'],
    ['{"password"=>"my phrase", :token=>"two"}', '{"password"=>"***", :token=>"***"}'],
    ["['password' => 'my phrase', 'user' => 'me']", "['password' => '***', 'user' => 'me']"],
    ['[password] => phrase', '[password] => ***'],
    ['user[password]=one&user%5Bpassword%5D=two&page=3', 'user[password]=***&user%5Bpassword%5D=***&page=3'],
    ['token := "two words" secret->three', 'token := "***" secret->***'],
    ['if password == nil', 'if password == ***'],
    ['map[Authorization:[Bearer eyJ] Accept:[*/*]]', 'map[Authorization:[***] Accept:[*/*]]'],
    ['{"Authorization":["Bearer eyJ","Basic YTpi"],"Host":"h"}', '{"Authorization":[***],"Host":"h"}'],
    ['"Authorization"=>"Digest username=me, response=ab"', '"Authorization"=>"Digest ***'],
    ['"Cookie"=>"session=1; user=2"', '"Cookie"=>***"'],
    ["\x1b[36mpassword\x1b[0m=\x1b[35m'my phrase'\x1b[0m", "\x1b[36mpassword\x1b[0m=\x1b[35m'***'\x1b[0m"],
    ['\x1b[31mtoken\x1b[0m=two level=info', '\x1b[31mtoken\x1b[0m=*** level=info'],
    ['a token, a password or a secret is missing', 'a token, a password or a secret is missing'],
    ['unexpected token < in JSON; token->', 'unexpected token < in JSON; token->'],
  ])('%s', (line, shown) => {
    expect(hideSecrets(line, env)).toBe(shown);
  });

  test('reads no more of a line than can be read at once', () => {
    const lines = ['password ', 'a://b:@', 'cookie:', 'a://', 'x'].map((piece) => piece.repeat(500_000));
    const shown = hideSecrets(lines.join('\n'), env).split('\n');
    expect(shown.map(({ length }) => length)).toEqual([2000, 2000, 'cookie:***'.length, 2000, 2000]);
  });
});
