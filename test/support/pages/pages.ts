/** Commands of a page of the documentation: indented blocks that begin with one, and lines after `$ ` in fenced blocks. */
export function commandsOf(page: string): string[] {
  const shown = fencesOf(page)
    .filter(({ language }) => language === 'console')
    .flatMap(({ content }) => content.split('\n'))
    .flatMap((line) => /^\$ (.*)$/.exec(line)?.[1] ?? []);
  const rest = page.replaceAll(fence, '');
  const blocks = rest.match(/(?<=\n\n)(?: {4}\S.*\n)+/g) ?? [];
  const indented = blocks
    .flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map((line) => line.trim())
    .filter((line) => programs.test(line));
  return [...shown, ...indented];
}

/** Fenced blocks, with the word after the fence. */
export function fencesOf(page: string): { readonly language: string; readonly content: string }[] {
  return [...page.matchAll(fence)].map(([, language = '', content = '']) => ({ language, content }));
}

/** Targets of links and pictures inside of the project. */
export function linksOf(page: string): string[] {
  const text = page.replaceAll(fence, '').replaceAll(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

/** Anchors of the headings: https://docs.github.com/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#section-links */
export function anchorsOf(page: string): string[] {
  const headings = [...page.replaceAll(fence, '').matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .replaceAll(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const fence = /^```(\w*)\n(.*?)^```$/gms;

/** The first words of indented lines that are commands; other indented blocks are URLs, names and rows of text. */
const programs = /^(?:upkeep|npm|npx|docker|node|openssl|export|curl|[A-Z_]+=\S+ )(?: |$)/;
