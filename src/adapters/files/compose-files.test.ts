import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generatedProject } from '../../../test/support/compose/generated-project.ts';
import { compareWithFiles } from '../../domain/compose/compose-edit.ts';
import { composeNote, type ComposeQuestion } from '../../domain/compose/compose-state.ts';
import { imagesOf, textOf, type ComposeSource } from '../../domain/compose/compose-project.ts';
import { openComposeFiles, parseCompose } from './compose-files.ts';
import type { Root } from './rewrite-file.ts';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'upkeep-compose-')));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

type Asked = Partial<Omit<ComposeQuestion, 'project'>> & {
  readonly files?: readonly string[];
  readonly envFiles?: readonly string[];
  readonly roots?: readonly Root[];
  readonly from?: string;
};

async function compare({ files = ['compose.yaml'], envFiles, roots = [], from = folder, ...asked }: Asked = {}) {
  const absolute = (path: string): string => (path.startsWith('/') ? path : join(folder, path));
  const project = { name: 'shop', folder: from, files: files.map(absolute), envFiles: envFiles?.map(absolute) };
  const question = { id: 'c1', project, service: 'web', reference: 'nginx:1.27', ...asked };
  return (await openComposeFiles({ roots }).compare([question])).get('c1');
}

const ofWeb = (image: string, more = ''): string => `services:\n  web:\n    image: ${image}\n${more}`;

describe('the state of a container', () => {
  test.each([
    ['nginx:1.27', 'nginx:1.27'],
    ['docker.io/library/nginx:1.27', 'nginx:1.27'],
    ['"nginx:1.27" # the shop', 'nginx:1.27'],
    ['nginx', 'nginx:latest'],
    ['nginx:${TAG:-1.27}', 'nginx:1.27'],
    ['>-\n      nginx:1.27', 'nginx:1.27'],
  ])('is the same where the file says %j and it was made from %s', async (image, reference) => {
    write({ 'compose.yaml': ofWeb(image) });
    expect(await compare({ reference })).toMatchObject({ state: 'same' });
  });

  test('differs where the file has another tag, with the line that has it', async () => {
    write({ 'compose.yaml': ofWeb('nginx:1.27') });
    const state = await compare({ reference: 'nginx:1.28' });
    expect(state).toEqual({ state: 'differs', says: 'nginx:1.27', file: join(folder, 'compose.yaml'), line: 3 });
    expect(state && composeNote(state)).toBe(`${folder}/compose.yaml line 3 says "nginx:1.27"`);
  });

  test('differs where the tag is in the .env file, whose line it has', async () => {
    write({ 'compose.yaml': ofWeb('nginx:${TAG}'), '.env': 'A=1\r\nexport TAG="1.27" # now\r\n' });
    expect(await compare({ reference: 'nginx:1.28' })).toMatchObject({
      state: 'differs',
      file: join(folder, '.env'),
      line: 2,
    });
  });

  test.each([
    ['in the file', ofWeb('nginx:1.27'), 'compose.yaml', 3],
    [
      'in quotes, after a BOM, with CRLF',
      `\u{feff}${ofWeb('"nginx:1.27"')}`.replaceAll('\n', '\r\n'),
      'compose.yaml',
      3,
    ],
    ['in a default', ofWeb('nginx:${TAG:-1.27}'), 'compose.yaml', 3],
    ['in a nested default', ofWeb('${IMAGE:-nginx:${TAG:-1.27}}'), 'compose.yaml', 3],
    ['behind an alias', `x-image: &image nginx:1.27\n${ofWeb('*image')}`, 'compose.yaml', 1],
    ['behind a merge key', 'x: &x\n  image: nginx:1.27\nservices:\n  web:\n    <<: *x\n', 'compose.yaml', 2],
  ])('has the one place of the tag %s', async (_, text, file, line) => {
    write({ 'compose.yaml': text });
    expect(await compare({ next: '1.28' })).toEqual({
      state: 'would-write',
      file: join(folder, file),
      line,
      from: '1.27',
      to: '1.28',
    });
  });

  test.each([
    ['put together', ofWeb('nginx:${MAJOR:-1}.27'), 'not-literal'],
    ['escaped', ofWeb(String.raw`"nginx:1\x2e27"`), 'not-literal'],
    ['in a block', ofWeb('>-\n      nginx:1.27'), 'not-literal'],
    ['absent', ofWeb('nginx'), 'not-literal'],
    ['followed by a digest', ofWeb(`nginx:1.27@sha256:${'a'.repeat(64)}`), 'pinned'],
    ['shared by an alias', `x: &i nginx:1.27\n${ofWeb('*i', '  db:\n    image: *i\n')}`, 'shared'],
    ['shared by a variable', ofWeb('nginx:${T:-1.27}', '  db:\n    extends: web\n'), 'shared'],
  ])('is refused where the tag is %s', async (_, text, reason) => {
    write({ 'compose.yaml': text });
    const reference = text.includes('@')
      ? `nginx:1.27@sha256:${'a'.repeat(64)}`
      : text === ofWeb('nginx')
        ? 'nginx'
        : 'nginx:1.27';
    expect(await compare({ reference, next: '1.28' })).toMatchObject({ state: 'refused', reason });
  });

  test('names the other services that the same text decides', async () => {
    write({ 'compose.yaml': ofWeb('nginx:$T', '  db:\n    image: nginx:$T\n'), '.env': 'T=1.27\n' });
    const state = await compare({ next: '1.28' });
    expect(state).toMatchObject({ reason: 'shared', services: ['db'], file: join(folder, '.env'), line: 1 });
    expect(state && composeNote(state)).toContain('the same text decides other services: db');
  });

  test.each([
    ['the path of a volume', ofWeb('nginx:${T}', '    volumes:\n      - ./data/${T}:/data\n'), 'volumes of web'],
    [
      'the path of a volume through another variable',
      ofWeb('nginx:$T', '    volumes: ["$DATA:/data"]\n'),
      'volumes of web',
    ],
    ['the name of a volume', ofWeb('nginx:$T', 'volumes:\n  data:\n    name: data-$T\n'), 'volumes'],
    ['the name of the project', ofWeb('nginx:$T', 'name: shop-${T}\n'), 'name'],
    [
      'a variable of another service',
      ofWeb('nginx:$T', '  db:\n    image: b:1\n    environment: {A: "v$T"}\n'),
      'environment of db',
    ],
    ['an alias that is no image', `x: &i nginx:1.27\n${ofWeb('*i', '    labels: {is: *i}\n')}`, 'labels of web'],
    [
      'a service that is extended',
      'services:\n  web:\n    extends: {file: base.yaml, service: base}\n    image: nginx:$T\n',
      'volumes of base',
    ],
  ])('is refused where the same text decides %s', async (_, text, detail) => {
    const base = 'services:\n  base:\n    volumes: ["./$T:/data"]\n';
    write({ 'compose.yaml': text, '.env': 'T=1.27\nDATA=./data-$T\n', 'base.yaml': base });
    const state = await compare({ next: '1.28' });
    expect(state).toMatchObject({ state: 'refused', reason: 'shared', detail });
    expect(state && composeNote(state)).toContain(`the same text decides more than images there (${detail});`);
    expect(state && composeNote(state)).toContain('; write the tag 1.28 to the image alone,');
  });

  test('does not depend on texts that no service uses', async () => {
    const unused = 'x-a: &a ${T}\nx-b:\n  - $T\n';
    write({
      'compose.yaml': `${unused}${ofWeb('nginx:$T', '    x-c: $T\n    volumes: ["./data:/data", "$DATA:/b"]\n')}`,
    });
    write({ '.env': 'T=1.27\nDATA=./data\n' });
    expect(await compare({ next: '1.28' })).toMatchObject({ state: 'would-write', line: 1 });
  });

  test.each([
    ['is not there', {}, 'missing'],
    ['is no YAML', { 'compose.yaml': 'a: [' }, 'not-compose'],
    ['has a key twice', { 'compose.yaml': `${ofWeb('nginx:1.27')}services: {}\n` }, 'not-compose'],
    ['does not have the service', { 'compose.yaml': 'services:\n  db:\n    image: x\n' }, 'no-image'],
    ['builds the image', { 'compose.yaml': 'services:\n  web:\n    build: .\n' }, 'no-image'],
    ['needs a variable of the shell', { 'compose.yaml': ofWeb('nginx:${TAG:?}') }, 'variables'],
    ['has an invalid variable', { 'compose.yaml': ofWeb('nginx:${}') }, 'variables'],
    ['includes a project from elsewhere', { 'compose.yaml': `include: [oci://a.test/b]\n${ofWeb('x')}` }, 'remote'],
    ['includes itself', { 'compose.yaml': `include: [compose.yaml]\n${ofWeb('x')}` }, 'too-many-files'],
    ['extends itself', { 'compose.yaml': 'services:\n  web:\n    extends: web\n' }, 'not-compose'],
    ['is too large', { 'compose.yaml': `${ofWeb('nginx:1.27')}#${'x'.repeat(300_000)}` }, 'unreadable'],
  ])('is refused where the file %s', async (_, files, reason) => {
    write(files);
    expect(await compare()).toMatchObject({ state: 'refused', reason });
  });

  test('is refused with the reason where the file is no UTF-8', async () => {
    writeFileSync(join(folder, 'compose.yaml'), Buffer.from(`# caf\xe9\n${ofWeb('nginx:1.27')}`, 'latin1'));
    const state = await compare();
    expect(state && composeNote(state)).toContain('it cannot be read, is no UTF-8, or is larger than 256 KiB');
  });

  test('is refused where versions of compose disagree about a variable of two env files', async () => {
    write({ 'compose.yaml': ofWeb('${WHOLE}'), 'one.env': 'TAG=1.26\n', 'two.env': 'TAG=1.27\nWHOLE=nginx:$TAG\n' });
    const envFiles = ['one.env', 'two.env'];
    expect(await compare({ envFiles })).toEqual({ state: 'refused', reason: 'variables' });
    write({ 'one.env': 'TAG=1.27\n' });
    expect(await compare({ envFiles })).toMatchObject({ state: 'same' });
    write({ 'one.env': 'OTHER=1\n', 'two.env': 'TAG=1.27\nWHOLE=nginx:${TAG}\n' });
    expect(await compare({ envFiles })).toMatchObject({ state: 'same' });
  });

  test('is told for any number of projects in one check, but not for one with more than twenty files', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
    const questions = ids.map((id): ComposeQuestion => {
      write({ [`${id}/compose.yaml`]: ofWeb('nginx:1.27'), [`${id}/.env`]: 'A=1\n' });
      const project = { name: id, folder: join(folder, id), files: [join(folder, id, 'compose.yaml')] };
      return { id, project: { ...project, envFiles: undefined }, service: 'web', reference: 'nginx:1.27' };
    });
    const states = await openComposeFiles({ roots: [] }).compare(questions);
    expect([...states.values()].map(({ state }) => state)).toEqual(ids.map(() => 'same'));

    const parts = (count: number) => Array.from({ length: count }, (_, index) => `part${index}.yaml`);
    write(Object.fromEntries(parts(30).map((path, index) => [path, `services:\n  s${index}:\n    image: x\n`])));
    const including = (count: number) => `include: [${parts(count).join(', ')}]\n${ofWeb('nginx:1.27')}`;
    write({ 'compose.yaml': including(19) });
    expect(await compare()).toMatchObject({ state: 'same' });
    write({ 'compose.yaml': including(30) });
    expect(await compare()).toEqual({ state: 'refused', reason: 'too-many-files' });
  });

  test('is refused without files, as for a project from standard input', async () => {
    expect(await compare({ files: [] })).toEqual({ state: 'refused', reason: 'no-files' });
  });
});

test('a splice of the tag changes one image, and no other byte', () => {
  let spliced = 0;
  for (let seed = 1; seed <= 300; seed += 1) {
    const { files, order, envFiles } = generatedProject(seed);
    const sources = new Map<string, ComposeSource>(
      Object.entries(files).map(([path, text]) => [`/p/${path}`, parseCompose(text)]),
    );
    const project = {
      name: 'p',
      folder: '/p',
      files: order.map((path) => `/p/${path}`),
      envFiles: envFiles.length > 0 ? envFiles.map((path) => `/p/${path}`) : undefined,
    };
    if (!sources.has('/p/.env')) sources.set('/p/.env', 'missing');
    if (!sources.has('/p/inc/.env')) sources.set('/p/inc/.env', 'missing');
    const before = imagesOf(project, sources);
    if (before.kind !== 'images') continue;
    for (const [service, image] of before.images) {
      const reference = textOf(image);
      let edited: string | undefined;
      const compared = compareWithFiles({ id: 'c', project, service, reference, next: 'v9.8.7' }, sources, (text) => {
        edited = text;
        return parseCompose(text);
      });
      if (compared.kind !== 'compared' || compared.state.state !== 'would-write') continue;
      spliced += 1;
      const { file = '', line = 0, from = '' } = compared.state;
      const source = sources.get(file);
      const old = typeof source === 'object' ? source.text : '';
      // A text that is no YAML is spliced too, but not read again.
      if (edited === undefined) continue;
      const [oldLines, newLines] = [old.split('\n'), edited.split('\n')];
      expect(newLines.length).toBe(oldLines.length);
      const changed = newLines.flatMap((each, index) => (each === oldLines[index] ? [] : [index + 1]));
      expect(changed).toEqual([line]);
      expect(edited.length - old.length).toBe('v9.8.7'.length - from.length);
      expect(newLines[line - 1]?.replace('v9.8.7', from)).toBe(oldLines[line - 1]);
      const after = imagesOf(project, new Map([...sources, [file, parseCompose(edited)]]));
      if (after.kind !== 'images') throw new Error('it is compose no more');
      const differing = [...after.images].filter(
        ([name, each]) => textOf(each) !== textOf(before.images.get(name) ?? []),
      );
      expect(differing.map(([name]) => name)).toEqual([service]);
    }
  }
  expect(spliced).toBeGreaterThan(200);
});

describe('what a label may name', () => {
  test('is a file below the roots, as the labels name them, and where they are seen', async () => {
    write({ 'seen/shop/compose.yaml': ofWeb('nginx:1.27') });
    const roots = [{ named: '/opt/stacks', seen: join(folder, 'seen') }];
    const files = ['/opt/stacks/shop/compose.yaml'];
    expect(await compare({ files, roots, from: '/opt/stacks/shop' })).toMatchObject({
      state: 'same',
      file: '/opt/stacks/shop/compose.yaml',
    });
    for (const path of [
      '/opt/stacksother/compose.yaml',
      '/etc/passwd',
      'relative.yaml',
      join(folder, 'seen/shop/compose.yaml'),
    ])
      expect(await compare({ files: [path === 'relative.yaml' ? `${folder}/${path}` : path], roots })).toMatchObject({
        reason: 'outside-roots',
      });
  });

  test.each(['/opt/stacks/../secret/compose.yaml', '/opt/stacks/link/compose.yaml', '/opt/stacks/file.yaml'])(
    'is not %s, which leads out of the roots',
    async (path) => {
      write({ 'seen/a': '', 'secret/compose.yaml': ofWeb('nginx:1.27') });
      symlinkSync(join(folder, 'secret'), join(folder, 'seen/link'));
      symlinkSync(join(folder, 'secret/compose.yaml'), join(folder, 'seen/file.yaml'));
      const roots = [{ named: '/opt/stacks', seen: join(folder, 'seen') }];
      expect(await compare({ files: [path], roots })).toEqual({ state: 'refused', reason: 'outside-roots' });
    },
  );

  test('is shown without what a terminal would obey', async () => {
    const path = 'a\u001b[31m\u202eb/compose.yaml';
    write({ [path]: ofWeb('nginx:1.27') });
    const state = await compare({ files: [path], reference: 'nginx:1.28' });
    expect(composeNote(state ?? expect.unreachable())).not.toMatch(/\p{Cc}|\p{Cf}/u);
  });

  test('is not an included file out of the roots either', async () => {
    write({ 'seen/compose.yaml': `include: [../secret.yaml]\n${ofWeb('nginx:1.27')}`, 'secret.yaml': ofWeb('x:1') });
    const roots = [{ named: '/opt', seen: join(folder, 'seen') }];
    expect(await compare({ files: ['/opt/compose.yaml'], roots })).toMatchObject({ reason: 'outside-roots' });
  });

  test('is no pipe, device or folder', async () => {
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    for (const path of [join(folder, 'pipe'), '/dev/zero', '/dev/null', folder, '/proc/self/mem', 'a\0b'])
      expect(await compare({ files: [path] })).toMatchObject({
        state: 'refused',
        reason: expect.stringMatching(/^(?:unreadable|outside-roots|missing)$/),
      });
  });
});

describe('hostile YAML', () => {
  const levels = Array.from(
    { length: 12 },
    (_, level) =>
      `a${level}: &a${level} [${Array(9)
        .fill(level === 0 ? 'x' : `*a${level - 1}`)
        .join(', ')}]`,
  );
  test.each([
    ['aliases of aliases', `${levels.join('\n')}\n${ofWeb('nginx:1.27')}`],
    ['deep nesting', `x: ${'['.repeat(50_000)}`],
    ['deep maps', Array.from({ length: 400 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
    ['many keys', Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join('\n')],
    ['many documents', '---\n'.repeat(50_000)],
    ['an alias to itself', `a: &a\n  b: *a\n${ofWeb('nginx:1.27')}`],
    ['a merge of itself', `services:\n  web: &a\n    <<: *a\n    image: nginx:1.27\n`],
    ['nested variables', ofWeb(`nginx:${'${A:-'.repeat(5000)}1${'}'.repeat(5000)}`)],
    [
      'keys of prototypes',
      `services:\n  __proto__:\n    image: a:1\n  web:\n    image: nginx:1.27\n    __proto__: {image: b}\n`,
    ],
  ])('of %s ends soon', async (_, text) => {
    write({ 'compose.yaml': text });
    // Without bounds it would take minutes.
    expect((await compare())?.state).toMatch(/^(?:same|refused)$/);
  });
});
