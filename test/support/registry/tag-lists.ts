import { readdirSync, readFileSync } from 'node:fs';

export type TagList = { readonly image: string; readonly tags: readonly string[]; readonly choices: readonly Choice[] };

/** The best tag with its kind, `1.27.2 minor`; `-`: none. */
export type Choice = { readonly current: string; readonly policy: string; readonly best: string };

/** Every list of `test/fixtures/tags/`, in the form that its README describes. */
export function readTagLists(): readonly TagList[] {
  const folder = new URL('../../fixtures/tags/', import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith('.txt'));
  return names.flatMap((name) => listsIn(readFileSync(new URL(name, folder), 'utf8')));
}

function listsIn(text: string): readonly TagList[] {
  return text
    .split(/^(?=[^\s#])/m)
    .filter((block) => /^[^\s#]/.test(block))
    .map((block) => {
      const [first = '', ...lines] = block.split('\n').filter((line) => line.trim() !== '');
      const [image = '', tags = ''] = first.split(/: /);
      return { image, tags: tags.trim().split(' '), choices: lines.map(choiceIn) };
    });
}

function choiceIn(line: string): Choice {
  const [question = '', best = ''] = line.trim().split(': ');
  const [current = '', policy = ''] = question.split(' ');
  return { current, policy, best };
}
