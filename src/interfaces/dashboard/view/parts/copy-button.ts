import { button, replaceContent } from './node.ts';
import { icon } from './icon.ts';

/** Copies a text; shows a check mark when it is done. */
export function copyButton(text: string, what: string): HTMLButtonElement {
  const node = button(
    { class: 'copy', 'aria-label': `Copy ${what}`, title: `Copy ${what}` },
    () => void copy(),
    icon('copy'),
  );
  return node;

  async function copy(): Promise<void> {
    if (!(await written(text))) return;
    node.classList.add('did');
    replaceContent(node, icon('check'));
    setTimeout(() => {
      node.classList.remove('did');
      replaceContent(node, icon('copy'));
    }, 1500);
  }
}

/** Over plain HTTP browsers offer the clipboard on localhost only: https://w3c.github.io/clipboard-apis/ */
async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.className = 'sr';
    area.value = text;
    document.body.append(area);
    area.select();
    // This older way works over plain HTTP, too.
    const isDone = document.execCommand('copy');
    area.remove();
    return isDone;
  }
}
