import type { Address } from '../../state/address.ts';
import { byId } from '../parts/node.ts';

/** Shows the page that the address names. */
export function paintTabs({ page }: Address): void {
  for (const name of ['containers', 'history', 'settings']) byId(`page-${name}`).hidden = page !== name;
  for (const tab of document.querySelectorAll<HTMLElement>('.tabs a')) {
    if (tab.dataset['page'] === page) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
}
