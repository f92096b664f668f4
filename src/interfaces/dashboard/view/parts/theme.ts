import { icon, byId, replaceContent } from './node.ts';

const key = 'upkeep-theme';
const themes = [
  { name: '', sign: 'half', label: 'Theme: as the system' },
  { name: 'light', sign: 'sun', label: 'Theme: light' },
  { name: 'dark', sign: 'moon', label: 'Theme: dark' },
] as const;

/** Called before the first paint. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = kept();
}

/** The button that switches between the three themes. */
export function startThemeButton(): void {
  const node = byId('theme-button');
  node.addEventListener('click', () => {
    const at = themes.findIndex(({ name }) => name === document.documentElement.dataset['theme']);
    const { name } = themes[(at + 1) % themes.length] ?? themes[0];
    document.documentElement.dataset['theme'] = name;
    try {
      localStorage.setItem(key, name);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    paint();
  });
  paint();

  function paint(): void {
    const { sign, label } = themes.find(({ name }) => name === document.documentElement.dataset['theme']) ?? themes[0];
    replaceContent(node, icon(sign));
    node.setAttribute('aria-label', label);
    node.title = label;
  }
}

function kept(): string {
  try {
    const name = localStorage.getItem(key);
    return themes.some((theme) => theme.name === name) ? (name ?? '') : '';
  } catch {
    return '';
  }
}
