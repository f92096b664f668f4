import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inspectedContainer } from '../../../test/support/scene/builders.ts';
import {
  imageIn,
  isServiceName,
  judgeUnit,
  openUnitRecords,
  readUnitRecord,
  spliceImage,
  type UnitReading,
  type UnitRecord,
} from './quadlet.ts';

const image = 'docker.io/library/nginx:1.27';

/** As `systemctl show` of systemd 252 and the generator of Podman 5.4 print it. */
const command = (words: string): string =>
  `{ path=/usr/bin/podman ; argv[]=/usr/bin/podman run ${words} ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }`;

const web = inspectedContainer('web', { config: { Image: image } });

type Read = Extract<UnitReading, { readonly kind: 'unit' }>;

function reading(more: Partial<Omit<Read, 'properties'>> & { readonly properties?: object } = {}): Read {
  const { properties = {}, ...rest } = more;
  return {
    kind: 'unit',
    file: '/etc/containers/systemd/web.container',
    text: `[Container]\nImage=${image}\nContainerName=web\n`,
    dropIns: [],
    whyNotWritten: undefined,
    ...rest,
    properties: new Map(
      Object.entries({
        ...{ LoadState: 'loaded', ActiveState: 'active', SubState: 'running', NeedDaemonReload: 'no' },
        ExecStart: command(`--name web --replace --rm --cgroups=split --sdnotify=conmon -d ${image}`),
        ...properties,
      }),
    ),
  };
}

const verdictOf = (read: UnitReading, next?: string) => judgeUnit(web, 'web.service', read, next);

describe('isServiceName()', () => {
  test.each(['web.service', 'container-shop@web.service', 'a_b:c.d.service', String.raw`dev-sda\x2d1.service`])(
    'takes %s',
    (name) => expect(isServiceName(name)).toBe(true),
  );

  test.each([
    '',
    '.service',
    'web',
    'web.socket',
    'web.service.d',
    '-web.service',
    '--no-block.service',
    '../web.service',
    'a/b.service',
    'a..b.service',
    'a b.service',
    'web.service\n',
    'web.service\nsshd.service',
    'wéb.service',
    'web*.service',
    'web;reboot.service',
    '$(reboot).service',
    `${'a'.repeat(250)}.service`,
  ])('refuses %j', (name) => expect(isServiceName(name)).toBe(false));
});

describe('judgeUnit()', () => {
  test('takes a unit that runs the container from its file, with both forms of --name', () => {
    const unit = { name: 'web.service', file: '/etc/containers/systemd/web.container', isAutoUpdated: false };
    expect(verdictOf(reading())).toEqual({ kind: 'unit', unit });
    const older = reading({ properties: { ExecStart: command(`--name=web --cidfile=/run/web.cid -d ${image}`) } });
    expect(verdictOf(older)).toEqual({ kind: 'unit', unit });
  });

  test('tells that Podman updates it too', () => {
    const text = `[Container]\nImage=${image}\nAutoUpdate=registry\n`;
    expect(verdictOf(reading({ text }))).toMatchObject({ unit: { isAutoUpdated: true } });
    const dropIns = ['[Container]\nAutoUpdate=local\n'];
    expect(verdictOf(reading({ dropIns }))).toMatchObject({ unit: { isAutoUpdated: true } });
  });

  test.each<[string, UnitReading, string]>([
    ['a unit that cannot be read', { kind: 'held', why: 'systemd is away' }, 'systemd is away'],
    ['a unit that is not loaded', reading({ properties: { LoadState: 'masked' } }), 'has not loaded it'],
    ['a file that systemd has not read', reading({ properties: { NeedDaemonReload: 'yes' } }), 'daemon-reload'],
    ['a unit that has failed', reading({ properties: { ActiveState: 'failed', SubState: 'failed' } }), 'not running'],
    ['a job that has ended', reading({ properties: { SubState: 'exited' } }), 'not running'],
    ['a unit without a command', reading({ properties: { ExecStart: '' } }), 'container called "web"'],
    [
      'a unit of another container, whose command has the name later',
      reading({ properties: { ExecStart: command(`--name db -d ${image} --name web`) } }),
      'container called "web"',
    ],
    [
      'a unit without a run',
      reading({ properties: { ExecStart: command(`x`).replace(' run ', ' start ') } }),
      'container called "web"',
    ],
    [
      'a command with another image',
      reading({ properties: { ExecStart: command('--name web -d docker.io/library/nginx:1.26') } }),
      'does not start the image of its file',
    ],
    ['a drop-in with an image', reading({ dropIns: ['[Container]\nImage=other:1\n'] }), 'drop-in'],
    ['two images', reading({ text: `[Container]\nImage=${image}\nImage=${image}\n` }), 'more than one Image='],
    ['no image', reading({ text: '[Container]\nRootfs=/srv\n' }), 'no Image='],
    ['an image unit', reading({ text: '[Container]\nImage=nginx.image\n' }), 'unit "nginx.image"'],
    ['a build unit', reading({ text: '[Container]\nImage=nginx.build\n' }), 'unit "nginx.build"'],
    ['a specifier', reading({ text: '[Container]\nImage=nginx:%i\n' }), 'specifier'],
    ['quotes', reading({ text: `[Container]\nImage="${image}"\n` }), 'one plain name'],
    [
      'an image on two lines',
      reading({ text: '[Container]\nImage=docker.io/\\\nlibrary/nginx:1.27\n' }),
      'one plain name',
    ],
    [
      'a container of another image than the file',
      reading({
        text: '[Container]\nImage=docker.io/library/nginx:1.28\n',
        properties: { ExecStart: command('--name web -d docker.io/library/nginx:1.28') },
      }),
      'and the container has',
    ],
    ['Pull=always', reading({ text: `[Container]\nImage=${image}\nPull=always\n` }), 'Pull='],
    ['Pull=newer in a drop-in', reading({ dropIns: ['[Container]\nPull=newer\n'] }), 'Pull='],
    [
      'a pull that an argument asks for',
      reading({ properties: { ExecStart: command(`--name web --pull=always -d ${image}`) } }),
      'Pull=',
    ],
  ])('holds %s', (_, read, words) => {
    const verdict = verdictOf(read);
    expect(verdict).toMatchObject({ kind: 'held', reason: expect.stringContaining(words) });
    expect(verdict).toMatchObject({
      reason: expect.stringMatching(/^is run by the systemd unit "web\.service", which/),
    });
  });

  test('lets Pull=missing and never be', () => {
    const text = `[Container]\nImage=${image}\nPull=missing\n`;
    expect(verdictOf(reading({ text, dropIns: ['[Container]\nPull=never\n'] })).kind).toBe('unit');
  });

  test('to another tag it needs a file that may be written, of this unit alone, with a tag', () => {
    const next = 'docker.io/library/nginx:1.28';
    expect(verdictOf(reading(), next).kind).toBe('unit');
    const kept = verdictOf(reading({ whyNotWritten: 'Upkeep may not write its file' }), next);
    expect(kept).toMatchObject({
      reason: expect.stringContaining(`may not write its file; to move to another tag, write "${next}"`),
    });
    expect(judgeUnit(web, 'web@1.service', reading(), next)).toMatchObject({ kind: 'held' });
    expect(judgeUnit(web, 'web@1.service', reading()).kind).toBe('unit');
  });
});

describe('spliceImage()', () => {
  test('changes the tag of the only Image= of [Container], in any form of file', () => {
    const text =
      '# Image=no:1\n[Unit]\nImage=no:1\n[Container]\n ;Image=no:1\nEnvironment=A=1 \\\n# between\nImage=no:1\n\tImage = app:1 \r\nExec=app:1\n[Install]\nImage=no:1';
    expect(spliceImage(text, 'docker.io/library/app:1', 'app:2')).toEqual({
      text: text.replace('Image = app:1', 'Image = app:2'),
    });
  });

  test.each([
    ['another image', '[Container]\nImage=other:1\n', 'app:1', 'app:2'],
    ['another repository', '[Container]\nImage=app:1\n', 'app:1', 'other:2'],
    ['no tag', '[Container]\nImage=app\n', 'app:latest', 'app:2'],
    ['a digest', `[Container]\nImage=app:1@sha256:${'a'.repeat(64)}\n`, 'app:1', 'app:2'],
    ['a digest to go to', '[Container]\nImage=app:1\n', 'app:1', `app@sha256:${'a'.repeat(64)}`],
  ])('refuses %s', (_, text, from, to) => {
    expect(spliceImage(text, from, to)).toHaveProperty('fault');
  });

  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/);
  const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,9}$/);
  const noise = fc.array(
    fc.oneof(
      fc.stringMatching(/^[#;][ -~]{0,20}$/),
      fc.stringMatching(/^(?:Exec|Label|Volume|Environment)=[ -~]{0,20}$/),
      fc.constantFrom('', '[Unit]', '[Service]', '[Install]', '[X-Other]', 'Image=other:9'),
    ),
    { maxLength: 6 },
  );

  test('changes nothing but the tag, and its way back gives the same bytes again', () => {
    fc.assert(
      fc.property(word, tag, tag, noise, noise, fc.constantFrom('\n', '\r\n'), (name, from, to, above, below, end) => {
        const before = [...above, ''].join(end);
        // A text that goes on with the next line, or belongs to the section, is no noise.
        const safe = (lines: readonly string[]) => lines.every((line) => !line.trim().endsWith('\\'));
        fc.pre(safe(above) && safe(below) && !below.some((line) => line.startsWith('Image=')));
        const text = `${before}[Container]${end}Image=${name}:${from}${end}${below.join(end)}`;
        const there = spliceImage(text, `${name}:${from}`, `${name}:${to}`);
        if ('fault' in there) throw new Error(there.fault);
        expect(there.text).toBe(`${before}[Container]${end}Image=${name}:${to}${end}${below.join(end)}`);
        expect(imageIn(there.text)).toBe(`${name}:${to}`);
        expect(spliceImage(there.text, `${name}:${to}`, `${name}:${from}`)).toEqual({ text });
      }),
    );
  });

  test('of any text it is the same text with other bytes at one place, or a fault', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.constantFrom('[Container]\n', 'Image=a:1', 'Image=a:1\n', '\\\n', '\n', ' ', '"', '#'),
            fc.string(),
          ),
        ),
        (parts) => {
          const text = parts.join('');
          const spliced = spliceImage(text, 'a:1', 'a:22');
          if ('fault' in spliced) return;
          expect(spliced.text.length).toBe(text.length + 1);
          const places = Array.from({ length: text.length }, (_, index) => index);
          const at = places.find((index) => `${text.slice(0, index)}a:22${text.slice(index + 3)}` === spliced.text);
          expect(at).toBeDefined();
        },
      ),
    );
  });
});

describe('records', () => {
  const record: UnitRecord = {
    ...{ id: 'one', step: 'begun', atMs: 1, owner: 'me', container: 'web', unit: 'web.service', file: '/f.container' },
    ...{ oldId: 'a', oldImageId: 'sha256:a', newImageId: 'sha256:b', reference: image },
  };

  test('the last one of an id counts', () => {
    const other: UnitRecord = { ...record, id: 'two' };
    const edit = { before: 'x', after: 'y' };
    expect(openUnitRecords([record, other, { ...record, edit }])).toEqual([{ ...record, edit }, other]);
    expect(openUnitRecords([record, other, { ...record, step: 'over' }])).toEqual([other]);
  });

  test.each([
    [{ ...record, unit: '../sshd.service' }],
    [{ ...record, unit: 'sshd.socket' }],
    [{ ...record, step: 'done' }],
    [{ ...record, oldImageId: '' }],
    [{ ...record, edit: { before: 'x' } }],
    [{ ...record, formerReference: 7 }],
    [{ ...record, wasUnhealthy: 'yes' }],
    [[record]],
    [null],
  ])('reads no other value: %j', (value) => expect(readUnitRecord(value)).toBeUndefined());

  test('reads what was written', () => {
    const whole = { ...record, formerReference: 'a:1', wasUnhealthy: true, edit: { before: 'x', after: 'y' } };
    expect(readUnitRecord(JSON.parse(JSON.stringify(whole)))).toEqual(whole);
  });
});
