import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { rolldown } from 'rolldown';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Block, readRelease, type Span, textOf } from '../../domain/notes/read-release.ts';
import { readMarkdown } from './markdown.ts';

const read = (text: string, title = '1.2.3') => readRelease(title, readMarkdown(text));
const item = '\n\n- The port is 8080 now\n';

describe('breaking changes', () => {
  test.each([
    [`### Breaking Changes${item}`],
    ['- [BREAKING] Remove the old importer\n- More'],
    ['- Breaking: Drop support for Python 3.9'],
    [`**Modified \\[breaking\\]:**${item}`],
    [`### ⚠ BREAKING CHANGES${item}`],
    ['* Breaking change: the API needs a token'],
    ['* Breaking change / compatibility fix (EasyRSS): the API needs a token'],
    [`BREAKING CHANGES:${item}`],
    ['* [CHANGE] **breaking** TSDB: the old format is not read any more'],
    ['This release contains multiple breaking changes to the remote storage.'],
    ['* [CHANGE] Rename the flag. This is a breaking change to users of it.'],
    ['- CVE-2026-1234: **Breaking Change** please read the [migration guide](https://docs.example/m)'],
    [`### The statistics page (BREAKING API CHANGE)${item}`],
    [':warning: See **Migration notes** in the docs for breaking changes.'],
    ['- **BREAKING: the label is renamed**'],
    ['!> **Breaking changes!** Read the documentation.'],
    ['- breaking: Upgrade min Compose version to 2.19'],
    ['- BREAKING CHANGE: the volume moves'],
    [`### Breaking Change${item}`],
    [`### Backward Incompatible Changes${item}`],
    [`# Potentially breaking changes (from 2.1.0.109)${item}`],
    [`### 🚨 Breaking${item}`],
    ['> [!WARNING]\n> BREAKING CHANGES\n> The variable is gone'],
    [`## 🚨 Breaking Changes\n\n* refactor!: remove the old route`],
    ['* refactor(api)!: remove the old route'],
    [`Breaking Changes:${item}`],
    ['## BREAKING CHANGES\n\nThe database moves.'],
    [`## Breaking changes\n\n### Manual action may be required\n\nRead on.`],
    [`#### Backward-incompatible changes${item}`],
    [`## 💥 Breaking Change${item}`],
    [`## 💥 Breaking Changes 💥${item}`],
    ['> [!WARNING]\n> This removes support for the old monitors. Please migrate first.'],
    ['> [!IMPORTANT]\n> Manual steps are needed before upgrading'],
    ['This version has incompatible changes.'],
  ])('are found in %j', (text) => {
    const { breaking } = read(text);
    expect(breaking.length).toBeGreaterThan(0);
    expect(breaking.every(({ text: told }) => told.length > 0 && told.length <= 200)).toBe(true);
  });

  test('are found in the title of a release only', () => {
    expect(read('- The port is 8080 now', 'v0.8.0: HTTP (breaking change)').breaking).toEqual([
      { text: 'v0.8.0: HTTP (breaking change)', rule: 'title' },
    ]);
  });

  test.each([
    ['## Incompatible changes\n\n- The port is 8080'],
    ['## Backwards compatibility breaks\n\n- The port is 8080'],
    ['### BC breaks\n\n- The port is 8080'],
    ['### Backward compatibility notes (breaking)\n\n- The port'],
    ['- [Breaking Change] the port is 8080 now'],
    ['- (breaking) the port is 8080 now'],
    ['- [breaking change]: the port is 8080 now'],
    ['- BREAKING - the port is 8080 now'],
    ['- BREAKING – the port is 8080 now'],
    ['- Breaking! The port is 8080 now'],
    ['* 1a2b3c4: feat!: drop the old port (@ann)'],
    ['* 1a2b3c4d5e feat(api)!: drop the old port'],
    ['* 1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d: fix!: drop the old port'],
    ['* remove!: the old port'],
    ['There is a breaking change in this release. Read on.'],
    ['There are two breaking changes in this version.'],
    ['v2.0 introduces breaking changes to the config file.'],
    ['2.0.0 contains breaking changes.'],
    ['This introduces a breaking change for users of the API'],
    ['<h2>Breaking Changes</h2>\n\n- The port is 8080'],
    ['<h3>⚠️ Breaking changes</h3>\n<ul><li>The port is 8080 now</li></ul>'],
    ['<details><summary>Breaking changes</summary>\n\n- The port is 8080\n\n</details>'],
    ['<details>\n<summary><b>Breaking changes</b></summary>\n\n- The port is 8080\n\n</details>'],
    ['<b>Breaking changes</b>\n\n- The port is 8080'],
    ['> **Warning**\n> This version drops support for the old monitors. You must migrate first.'],
    ['> **⚠️ Warning**\n> Breaking: the port'],
    ['## Breaking\n- The port'],
    ['## :boom: BREAKING CHANGE\n- The port'],
    ['## 2.0.0\n### ⚠ BREAKING CHANGES\n\n* **api:** the port'],
    ['#### :boom: Breaking Change\n* `core`\n  * [#1](https://x/1) drop'],
    ['- Breaking-Change: the port'],
    ['**Breaking:**\n- The port'],
    ['**BREAKING** The port is 8080 now'],
    ['__Breaking changes__\n\n- The port'],
    [':::warning\nThis release has breaking changes\n:::'],
    ['Breaking changes\r\n================\r\n\r\n* The port\r\n'],
    ['﻿## Breaking changes\n\n* The port'],
    ['1. **Breaking change**: the port'],
    ['## Changes\n### Breaking changes 🛠\n* feat: x by @a in https://github.com/a/b/pull/1'],
    ['### 🛑 Breaking changes 🛑\n- The port'],
    ['## ❗Breaking Changes❗\n- The port'],
    ['⚠️ **Breaking changes** ⚠️\n\n- The port'],
    ['**⚠️ Breaking changes:** the port is 8080'],
    ['- ‼️ BREAKING: the port'],
    ['- 🔴 Breaking: the port'],
    ['### Breaking changes in the API\nThe port is now 8080.'],
    ['### API Breaking Changes\n- a'],
    ['### Breaking configuration changes\n- a'],
    ['### Breaking config change\n- a'],
    ['### Breaks\n- a'],
    ['This is a breaking release.'],
    ['**This is a BREAKING release!** Make a backup.'],
    ['Contains breaking changes, see the migration guide.'],
  ])('are found in other words too: %j', (text) => {
    expect(read(text).breaking.length).toBeGreaterThan(0);
  });

  test.each([
    ['No new features, but this release contains several breaking changes.'],
    ['This release does not add features but has breaking changes.'],
    ['Not only bug fixes: this release includes breaking changes.'],
    ['This release fixes many bugs but contains breaking changes.'],
    ['Fixes several bugs and introduces breaking changes.'],
    ['You may need to migrate: this release has several breaking changes.'],
    ['> [!CAUTION]\n> Do not upgrade before reading this: the format of the config is incompatible.'],
  ])('are found behind a word that denies something else: %j', (text) => {
    expect(read(text).breaking.length).toBeGreaterThan(0);
  });

  test.each([
    ['- Breaking changes\n  - The port moves\n- Fixes\n  - One'],
    ['- **Breaking changes**\n  - The port moves'],
    ['* API breaking changes:\n  * The port moves'],
    ['- Core\n  - 💥 Breaking\n    - The port moves'],
    ['| Kind | Change |\n|---|---|\n| Breaking | The port moves |'],
  ])('are found under an item that is their heading: %j', (text) => {
    expect(read(text).breaking).toEqual([{ text: 'The port moves', rule: 'heading' }]);
  });

  test.each([
    ['- The port moves (breaking change)'],
    ['- The port moves (**breaking**).'],
    ['Warning: breaking change: the port moves'],
    ['### Non-backward-compatible changes\n\n- The port moves'],
    ['This release is not backwards compatible with 1.x'],
    ['# Docker image\n\n## Breaking changes\n\n- The user is 1000 now'],
    ['## Dependencies\n\n### Breaking changes\n\n- PostgreSQL 16 is needed'],
    ['<details><summary>Breaking changes (depends on your setup)</summary>\n\n- The port moves\n\n</details>'],
    ['### [Breaking changes](https://docs.example/b)\n\n## Features\n\n- One'],
    ['**[Breaking changes](https://docs.example/b)**\n\n## Features\n\n- One'],
    ['- [Breaking changes](https://docs.example/b)\n- One'],
    ['See the [list of breaking changes](https://docs.example/b).'],
    ['Please read the breaking changes before the update.'],
    ['Breaking changes ahead!'],
    ['One breaking change: the port moves'],
    ['- core: breaking change: the port moves'],
    ['- API: BREAKING: the port moves'],
    ['- ⚠️ BREAKING ⚠️ the port moves'],
    ['- BREAKING the port moves'],
    ['* 💥 the port moves'],
    ['- The port moves, which is a breaking change.'],
    ['This release breaks backwards compatibility.'],
    ['This version is incompatible with databases of 1.x.'],
    ['A breaking change was made to the API.'],
    ['### Breaking updates\n\n- The port moves'],
    ['### What is breaking?\n\n- The port moves'],
    ['<p><b>Breaking changes</b></p>\n<ul>\n<li>The port moves</li>\n</ul>'],
  ])('are found wherever their mark stands: %j', (text) => {
    expect(read(text).breaking.length).toBeGreaterThan(0);
  });

  test.each([
    ['- Breaking changes\n  - None\n- Fixes\n  - One'],
    ['- Breaking changes:\n  - None\n- Fixes\n  - One'],
    ['- **Breaking changes**\n  - None'],
    ['## Breaking changes\n\nThere are none.\n\n## Fixes\n\n- One'],
    ['## Breaking changes\n\nNo changes.\n\n## Fixes\n\n- One'],
    ['## Breaking changes\n\nNone since 1.2\n\n## Fixes\n\n- One'],
    ['This release contains zero breaking changes.'],
    ['This release has neither new features nor breaking changes.'],
    ['There are no new features, removed options or breaking changes in this release.'],
    ['- The port moves (non-breaking)'],
    ['- The port moves (not a breaking change)'],
    ['## Dependencies\n\n### Non-breaking\n\n- One'],
    ['### [No breaking changes](https://docs.example/b)\n\n- One'],
    ['- ci: check breaking changes with a tool'],
    ['- docs: breaking changes: a list of them'],
    ['- BREAKING NEWS: there is a newspaper'],
    ['The fix of a bug that is not breaking: read on'],
    ['- Fix: BREAKING in capitals is read'],
  ])('are not found where the notes say that there are none: %j', (text) => {
    expect(read(text).breaking).toEqual([]);
  });

  test.each([
    ['- ci: check for breaking changes'],
    ['- Add a linter for breaking changes of the schema'],
    ['- chore: detect breaking changes in CI'],
    ['Breaking changes: none'],
    ['**Breaking changes:** None'],
    ['BREAKING CHANGES: N/A\n\n- One'],
    ['- Breaking changes: no\n- One'],
    ['## Breaking changes\n\nThere are no breaking changes in this release.\n\n## Fixes\n- One'],
    ['## Breaking changes\n\nNone 🎉\n\n## Fixes\n- One'],
    ['## Breaking changes\n\n_None_\n\n## Fixes\n- One'],
    ['## Breaking changes\n\nNone that we know of.\n\n## Fixes\n- One'],
    ['## Breaking changes\n\n- none\n\n## Fixes\n- One'],
    ['## Breaking changes\n\nThis release does not contain any breaking changes.\n\n## Fixes\n- One'],
    ['## Breaking changes\n\nNo breaking changes this time!\n\n## Fixes\n- One'],
    ['## Breaking changes: none\n\n- One'],
    ['## ⚠ BREAKING CHANGES\n\nN/A'],
    ['This release should contain no breaking changes.'],
    ['- Improve the page about breaking changes'],
    ['- docs: list breaking changes of 1.0'],
    ['- Breaking bad is a series'],
    ['- Fix line breaking in titles'],
    ['- Word-breaking of long titles'],
    ['- Prevent breaking changes by a test'],
    ['Hello world!: a song'],
    ['- Warning!: hot'],
    ['> **Note**\n> The option is no longer slow'],
    ['- The option is no longer slow'],
    ['- Fixed an incompatibility with Node 22'],
    ['- Incompatible plugins are shown'],
    ['- feat: a tie-breaking rule for equal versions'],
    ['This is a non-breaking release.'],
    ['- record-breaking speed'],
    ['There are no known breaking changes'],
    ["This isn't a breaking change"],
    ['It has been tested, so there should not be any breaking changes.'],
    ['Backwards compatible: yes'],
    ['- Revert "feat!: drop the old port"'],
  ])('are not found in what only speaks of them: %j', (text) => {
    expect(read(text).breaking).toEqual([]);
  });

  test.each([
    ['2.0.0 (BREAKING)', true],
    ['v2: a breaking release', true],
    ['BREAKING: v2', true],
    ['v2.0.0 - Breaking Changes!', true],
    ['Ground-breaking release', false],
    ['Non-breaking cleanup', false],
  ])('are found in the title %j: %s', (title, expected) => {
    expect(read('- x', title).breaking.length > 0).toBe(expected);
  });

  test('are told with the sentences of their section, at most three', () => {
    const { breaking } = read('## Breaking changes\n\n- One\n- Two\n- Three\n- Four\n\n## Fixes\n\n- Five');
    expect(breaking).toEqual(['One', 'Two', 'Three'].map((text) => ({ text, rule: 'heading' })));
    expect(read('- BREAKING: the volume moves').breaking).toEqual([{ text: 'the volume moves', rule: 'mark' }]);
  });

  test.each([
    ['- fix breaking api change to document notes user field'],
    ['- Use non-breaking words in titles'],
    ['- Fix: handle allauth groups location breaking change'],
    ['- upgrade zod to v4 and fix breaking changes'],
    ['- fix breaking changes of URL'],
    ['- Bump github.com/docker/docker to 28.5.2+incompatible'],
    ['- Fix a bug unpredictably breaking outbound federation'],
    ['- Break down the metrics of the cache expiry'],
    ['- Add a Breaking change note to the changelog'],
    ['- This reverts the breaking changes introduced in 3.7.0'],
    ['- Support incompatible native histograms'],
    ['- Keep the old function without breaking until 3.0'],
    ['- break resource handlers on error'],
    ['This release candidate may contain bugs or breaking changes.'],
    ['- Compatibility with breaking changes coming in Home Assistant 2026.8'],
    ['## Breaking changes\n\n## Fixes\n\n- One'],
    ['## Breaking changes\n\nNone\n\n## Fixes\n\n- One'],
    ['## Breaking changes\n\n- None in this release.\n\n## Fixes\n\n- One'],
    ['There are no breaking changes in this release.'],
    ['## No breaking changes\n\n- Update as usual'],
    ['This release has no breaking changes.'],
    ['- Breakpoints for small screens'],
    ['- fix(deps): update everything'],
    ['> [!NOTE]\n> The option is no longer slow'],
    ['## New Contributors\n\n- @a made the first BREAKING CHANGE'],
    ['```\nBREAKING CHANGE: in an example\n```\n\n- One'],
    ['<!-- BREAKING CHANGES: none -->\n- One'],
  ])('are not found in %j', (text) => {
    expect(read(text).breaking).toEqual([]);
  });

  test.each([
    ['### Upgrade Notes\n\n- Copy the file'],
    ['**Important changes from last Beta**\n\n- One'],
    ['## Deprecations and Removals\n\n- One'],
    ['## Migration\n\nCopy the file before the start of it.'],
    ['See https://docs.example/release-notes/2024.4\n\n- 1a2b3c4 web: a commit'],
  ])('of weaker words ask for attention only: %j', (text) => {
    expect(read(text)).toMatchObject({ breaking: [], attention: true });
  });
});

describe('readRelease()', () => {
  test.each([
    [''],
    ['https://blog.example/2026/11'],
    ['See [the blog](https://blog.example/2026/11).'],
    ['![picture](https://x.example/p.png)'],
    ['**Full Changelog**: https://github.com/a/b/compare/v1...v2'],
  ])('finds no content in %j', (text) => {
    expect(read(text)).toMatchObject({ isEmpty: true, breaking: [] });
  });

  test('drops thanks and ways to pull, and shortens generated lines', () => {
    const { blocks, points } = read(
      "## What's Changed\n* Faster search by @ann in https://github.com/acme/web/pull/12\n* Albums by @bob[bot] in https://github.com/acme/web/pull/13\n\n## New Contributors\n* @ann made their first contribution\n\n**Full Changelog**: https://github.com/acme/web/compare/v1...v2\n\n```\ndocker pull acme/web:2\n```\n\n<details><summary>Dependency updates</summary>\n\n* left-pad 2\n\n</details>",
    );
    expect(points).toEqual(['Faster search (#12)', 'Albums (#13)']);
    expect(blocks.map(({ kind }) => kind)).toEqual(['heading', 'list']);
  });

  test('drops a folded list of dependencies with all that is folded in it, also within another one', () => {
    const folded = (title: string, text: string) => `<details><summary>${title}</summary>\n\n${text}\n\n</details>`;
    const upstream = folded('left-pad 3', '## Breaking changes\n\n- It pads to the right');
    for (const text of [
      folded('Dependency updates', `${upstream}\n\n## Breaking changes of another`),
      folded('All changes', `* One\n\n${folded('Dependencies', `${upstream}\n\n* BREAKING: two`)}`),
    ])
      expect(read(`* Faster search\n\n${text}`)).toMatchObject({ breaking: [], isEmpty: false });
    expect(read(`* One\n\n${folded('Dependencies', upstream)}\n\n* BREAKING: the port moves`).breaking).toEqual([
      { text: 'the port moves', rule: 'mark' },
    ]);
  });

  test('begins with what breaks, then highlights, new things, security, changes and fixes', () => {
    const { points } = read(
      '## Fixed\n- f\n## Security\n- s\n## Added\n- a\n## Highlights\n- h\n## Breaking changes\n- b\n',
    );
    expect(points).toEqual(['b', 'h', 'a', 's', 'f']);
  });
});

describe('readMarkdown()', () => {
  test('makes a tree of headings, paragraphs, lists, quotations, code and rules', () => {
    expect(
      readMarkdown(
        '# A *b*\n\nc `d` **e** [f](https://x.example/a)\ng\n\n1. h\n   - i\n\n> [!NOTE]\n> j\n\n---\n\n| k | l |\n|---|---|\n| m | n |\n\n    o\n',
      ),
    ).toEqual([
      {
        kind: 'heading',
        level: 1,
        spans: [
          { kind: 'text', text: 'A ' },
          { kind: 'em', spans: [{ kind: 'text', text: 'b' }] },
        ],
      },
      {
        kind: 'para',
        spans: [
          { kind: 'text', text: 'c ' },
          { kind: 'code', text: 'd' },
          { kind: 'text', text: ' ' },
          { kind: 'strong', spans: [{ kind: 'text', text: 'e' }] },
          { kind: 'text', text: ' ' },
          { kind: 'link', href: 'https://x.example/a', spans: [{ kind: 'text', text: 'f' }] },
          { kind: 'text', text: '\ng' },
        ],
      },
      { kind: 'list', isOrdered: true, items: [[para('h'), { kind: 'list', isOrdered: false, items: [[para('i')]] }]] },
      { kind: 'quote', alert: 'note', blocks: [para('j')] },
      { kind: 'rule' },
      { kind: 'list', isOrdered: false, items: [[para('m'), para('n')]] },
      { kind: 'code', text: 'o\n' },
    ]);
  });

  test.each([
    ['[a](javascript:alert(1))'],
    ['[a](data:text/html,x)'],
    ['[a](http://x.example/)'],
    ['[a](//x.example/)'],
    ['[a](https://u:p@x.example/)'],
    ['![a](https://x.example/p.png)'],
    ['<a href="https://x.example/">a</a>'],
    ['<script>a</script>'],
    ['<img src=x onerror=alert(1)>a'],
    ['a\u202e\u0007\u001b[31m'],
  ])('keeps of %j its text only', (text) => {
    const [block] = readMarkdown(text);
    expect(block?.kind).toBe('para');
    const spans = block?.kind === 'para' ? block.spans : [];
    expect(spans.every(({ kind }) => kind === 'text')).toBe(true);
    expect(textOf(spans).replace(/^\[(a)\]\(.*$|^(a)(?:\[31m)$/, '$1$2')).toBe('a');
  });

  const long = (part: string) => part.repeat(Math.ceil((2 * 64 * 1024) / part.length));
  const hostile: readonly (readonly [string, string])[] = [
    ['quotations', long('> ')],
    ['nested lists', Array.from({ length: 600 }, (_, at) => `${' '.repeat(at * 2)}- a`).join('\n')],
    ['open links', long('[a](')],
    ['open brackets', long('[')],
    ['open images', long('![a](')],
    ['backticks', Array.from({ length: 400 }, (_, at) => '`'.repeat(at)).join(' a ')],
    ['emphasis', long('a**b')],
    ['emphasis and code', `${long('a**b').slice(0, 30_000)}${long('c* `').slice(0, 30_000)}`],
    ['stars', long('*')],
    ['underscores', long('_a ')],
    ['tags', long('<a ')],
    ['comments', long('<!-- ')],
    ['folded', long('<details>')],
    [
      'folded dependencies',
      `${long('<details><summary>Dependencies</summary>').slice(0, 40_000)}${long('</details>')}`,
    ],
    ['folded parts in one another', `${long('<details>').slice(0, 30_000)}${long('</details>')}`],
    ['entities', long('&#0;&#x202e;')],
    ['backslashes', long('\\')],
    ['tables', `${'|a'.repeat(2000)}|\n${'|-'.repeat(2000)}|\n${`${'|b'.repeat(2000)}|\n`.repeat(15)}`],
    ['autolinks', long('<https://a.example/')],
    ['words about breaking', long('no breaking ')],
    ['sentences about breaking', long('this release is not. ')],
    ['emoji', long('⚠️')],
    ['spaces', long(' ')],
    ['definitions', long('[a]: /b\n')],
    ['commits', long(' by @a in https://x/pull/')],
    ['digits', long('1.1.1.1.')],
    ['summaries', long('<summary> ')],
    ['headings in HTML', long('\n<h1>a</h2>')],
    ['bold words in HTML', long('\n<b>a')],
    ['items in HTML', long('<li')],
    ['titles', long('breaking:\n\n')],
    ['headings', long('# Breaking changes\n- a\n')],
    ['alerts', long('> **Warning**\n\n')],
    ['hashes', long('abcdef0')],
    ['items with a heading', long('- Breaking\n  - a\n')],
    ['words before a mark', long('a b/c. ')],
    ['denials that go on', long('this release has not, and it ')],
  ];

  test.each(hostile)('reads hostile %s in bounded work, and has a tree of allowed nodes', (_, text) => {
    const { blocks, breaking, points } = read(text);
    expect(countOf(blocks, 0)).toBeLessThan(25_000);
    expect(breaking.length).toBeLessThanOrEqual(3);
    expect(points.every((point) => point.length <= 160)).toBe(true);
  });

  test('needs less than 300 ms of the processor for the worst of them, in a process of its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'upkeep-markdown-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const script = join(folder, 'script.ts');
    const place = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
    writeFileSync(
      script,
      `import { readMarkdown } from ${place('markdown.ts')};
       import { readRelease } from ${place('../../domain/notes/read-release.ts')};
       import { readFileSync } from 'node:fs';
       const took = ([name, text]) => [1, 2, 3].map(() => {
         const begun = process.cpuUsage();
         readRelease('1.2.3', readMarkdown(text));
         return [Math.round(process.cpuUsage(begun).user / 1000), name];
       }).sort(([one], [other]) => one - other)[0];
       const all = JSON.parse(readFileSync(process.argv[2], 'utf8')).map(took);
       console.log(JSON.stringify(all.filter(([ms]) => ms >= 300)));`,
    );
    const bundle = await rolldown({ input: script, platform: 'node' });
    await bundle.write({ file: join(folder, 'script.mjs'), format: 'esm' });
    await bundle.close();
    writeFileSync(join(folder, 'texts.json'), JSON.stringify(hostile));
    const { stdout } = await promisify(execFile)(process.execPath, [
      join(folder, 'script.mjs'),
      join(folder, 'texts.json'),
    ]);
    expect(JSON.parse(stdout)).toEqual([]);
  });

  test('never throws and never keeps more than allowed nodes, whatever it reads', () => {
    const marks = fc.constantFrom(
      '#',
      '> ',
      '- ',
      '**',
      '`',
      '[',
      '](https://a.example)',
      '\n',
      '\n\n',
      '| ',
      '1. ',
      '```\n',
      '<b>',
      'BREAKING',
      '\u202e',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(marks, fc.string({ unit: 'grapheme' })), { maxLength: 60 }), (parts) => {
        const { blocks } = read(parts.join(''));
        countOf(blocks, 0);
      }),
      { numRuns: 300 },
    );
  });
});

function para(text: string): Block {
  return { kind: 'para', spans: [{ kind: 'text', text }] };
}

/** The number of nodes; throws for a node that is not allowed. */
function countOf(blocks: readonly Block[], depth: number): number {
  expect(depth).toBeLessThan(50);
  let count = 0;
  for (const block of blocks) {
    count += 1;
    if (block.kind === 'heading' || block.kind === 'para') count += countSpans(block.spans);
    else if (block.kind === 'list') for (const one of block.items) count += countOf(one, depth + 1);
    else if (block.kind === 'quote') count += countOf(block.blocks, depth + 1);
    else if (block.kind === 'code') expect(block.text).not.toMatch(unseen);
    else expect(block).toEqual({ kind: 'rule' });
  }
  return count;
}

function countSpans(spans: readonly Span[]): number {
  let count = 0;
  for (const span of spans) {
    count += 1;
    if ('text' in span) expect(span.text).not.toMatch(unseen);
    else count += countSpans(span.spans);
    if (span.kind === 'link') expect(span.href).toMatch(/^https:\/\//);
  }
  return count;
}

/** Controls other than line breaks and tabs, and characters that reorder a text. */
const unseen = /(?![\n\t])\p{Cc}|\u202e/u;
