import { describe, expect, test } from 'vitest';
import { versionKinds } from './versions.ts';

const many = (item: (n: number) => string) => Array.from({ length: 21 }, (_, n) => item(n)).join(',');

describe('signers', () => {
  test.each([
    ['any', { kind: 'any' }],
    ['OFF', { kind: 'off' }],
    ['team', { kind: 'keys', names: ['team'] }],
    ['team, ops, team', { kind: 'keys', names: ['team', 'ops'] }],
    ['Müller 2', { kind: 'keys', names: ['Müller 2'] }],
    ['', undefined],
    ['a,,b', undefined],
    ['keys/team', undefined],
    ['a\u0007', undefined],
    [many(String), undefined],
  ])('read %j', (text, expected) => expect(versionKinds.signers.parse(text)).toEqual(expected));

  test.each(['', 'a,,b', 'keys/team', 'a\u0007', ','])(
    '%j of a label cannot be read, and lets nothing pass',
    (text) => {
      expect(versionKinds.signersOfLabel.parse(text)).toEqual({
        kind: 'unreadable',
        text,
        fault: expect.stringMatching(/^it is /),
      });
    },
  );

  test('of a label are read like those of the option, and any is asked for', () => {
    expect(versionKinds.signersOfLabel.parse('off')).toEqual({ kind: 'off' });
    expect(versionKinds.signersOfLabel.parse('Any')).toEqual({ kind: 'any', isAsked: true });
    for (const text of ['off', 'any', 'team,ops', '']) {
      const read = versionKinds.signersOfLabel.parse(text);
      expect(read && versionKinds.signersOfLabel.print?.(read)).toBe(text);
    }
  });
});

describe('identities', () => {
  test.each([
    ['mirror.test/app=ghcr.io/team/app', [['mirror.test/app', 'ghcr.io/team/app']]],
    ['Mirror.test/app = nginx', [['mirror.test/app', 'docker.io/library/nginx']]],
    ['127.0.0.1:5000/app=localhost:5000/app', [['127.0.0.1:5000/app', 'localhost:5000/app']]],
    ['cache.test/hub/*=docker.io/*', [['cache.test/hub/', 'docker.io/']]],
    ['cache.test:5000/*=ghcr.io/team/*', [['cache.test:5000/', 'ghcr.io/team/']]],
    [
      'a.test/a=b.test/a,a.test/c=b.test/c',
      [
        ['a.test/a', 'b.test/a'],
        ['a.test/c', 'b.test/c'],
      ],
    ],
  ])('of an option read %j', (text, expected) => {
    const read = versionKinds.identities.parse(text);
    const allowed = expected.map(([repository, name]) => ({ repository, name }));
    expect(read).toMatchObject({ kind: 'identities', allowed });
    expect(read && versionKinds.identities.print?.(read)).toBe(text.replaceAll(', ', ','));
  });

  test.each([
    '',
    'ghcr.io/team/app',
    'a.test/a=',
    '=a.test/a',
    'a.test/a=b.test/a=c.test/a',
    'a.test/a:1=b.test/a',
    'a.test/a=b.test/a:1',
    `a.test/a=b.test/a@sha256:${'a'.repeat(64)}`,
    'a.test/*=b.test/a',
    'a.test/a=b.test/*',
    '*=b.test/*',
    'a.test/*=*',
    'a.test/a*=b.test/a*',
    'a.test/a=b.test/A',
    'a.test/a=b.test/a,,',
    many((n) => `a.test/${n}=b.test/${n}`),
  ])('of an option refuse %j', (text) => expect(versionKinds.identities.parse(text)).toBeUndefined());

  test('of a label are names for the image of its container', () => {
    expect(versionKinds.identitiesOfLabel.parse('ghcr.io/team/app, nginx')).toEqual({
      kind: 'identities',
      text: 'ghcr.io/team/app,nginx',
      allowed: [
        { repository: undefined, name: 'ghcr.io/team/app' },
        { repository: undefined, name: 'docker.io/library/nginx' },
      ],
    });
    for (const text of ['', 'a.test/a=b.test/a', 'ghcr.io/*', '*', 'ghcr.io/team/app:1', many((n) => `b.test/${n}`)])
      expect(versionKinds.identitiesOfLabel.parse(text)).toMatchObject({ kind: 'unreadable', text });
  });
});

describe('annotations', () => {
  test('are pairs, whose values may have any character but a comma', () => {
    for (const kind of [versionKinds.annotations, versionKinds.annotationsOfLabel]) {
      const read = kind.parse('env=prod, url = https://a.test/?x=1');
      expect(read).toMatchObject({
        kind: 'annotations',
        required: [
          ['env', 'prod'],
          ['url', 'https://a.test/?x=1'],
        ],
      });
      expect(read && kind.print?.(read)).toBe('env=prod,url = https://a.test/?x=1');
    }
    expect(versionKinds.annotationsOfLabel.parse('a=b')).toMatchObject({ isAsked: true });
    expect(versionKinds.annotations.parse('a=b')).not.toHaveProperty('isAsked');
  });

  test.each(['', 'env', 'env=', '=prod', 'env= ', 'env=prod,', 'env=a\u0007', many((n) => `a${n}=b`)])(
    '%j are refused as an option; as a label they let nothing pass',
    (text) => {
      expect(versionKinds.annotations.parse(text)).toBeUndefined();
      expect(versionKinds.annotationsOfLabel.parse(text)).toMatchObject({ kind: 'unreadable', text });
    },
  );
});
