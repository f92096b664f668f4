import { readdirSync, readFileSync } from 'node:fs';

export type TagList = {
  readonly image: string;
  readonly tags: readonly string[];
  /** Tags of images that were built years before the others. */
  readonly oldTags: readonly string[];
  readonly choices: readonly Choice[];
};

export type Choice = {
  readonly current: string;
  readonly policy: string;
  /** The best tag with its kind, `1.27.2 minor`; `-`: none. */
  readonly best: string;
  /** The choice of a careful person, if the best one is another. */
  readonly wanted: string | undefined;
};

/** Every list of `test/fixtures/tags/`, or of a folder in it, in the form that its README describes. */
export function readTagLists(name = ''): readonly TagList[] {
  const folder = new URL(`../../fixtures/tags/${name === '' ? '' : `${name}/`}`, import.meta.url);
  const names = readdirSync(folder).filter((file) => file.endsWith('.txt'));
  return names.flatMap((file) => listsIn(readFileSync(new URL(file, folder), 'utf8')));
}

function listsIn(text: string): readonly TagList[] {
  return text
    .split(/^(?=[^\s#])/m)
    .filter((block) => /^[^\s#]/.test(block))
    .map((block) => {
      const [first = '', ...lines] = block.split('\n').filter((line) => line.trim() !== '');
      const [image = '', written = ''] = first.split(/: /);
      const marked = written.trim().split(' ');
      const tags = marked.map((tag) => tag.replace('!', ''));
      return { image, tags, oldTags: tags.filter((_, at) => marked[at]?.endsWith('!')), choices: lines.map(choiceIn) };
    });
}

function choiceIn(line: string): Choice {
  const [question = '', answer = ''] = line.trim().split(': ');
  const [current = '', policy = ''] = question.split(' ');
  const [best = '', wanted] = answer.split(' wanted ');
  return { current, policy, best, wanted };
}
