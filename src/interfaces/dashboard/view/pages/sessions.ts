import type { SignedInBrowser, Session } from '../../transport/session.ts';
import { when } from '../../state/words/moments.ts';
import { withPeriod } from '../../state/words/sentences.ts';
import { notice } from '../parts/notice.ts';
import { button, byId, type Child, h, repaint } from '../parts/node.ts';

/** The signed-in browsers, on the settings tab. Reads them again after each change. */
export async function paintSessions(session: Session, nowMs: () => number): Promise<void> {
  const listed = await session.list();
  const body = byId('sessions');
  if ('why' in listed) {
    repaint(body, listed.why, () => [
      h('tr', {}, h('td', { class: 'meaning' }, withPeriod(`Cannot read the signed-in browsers: ${listed.why}`))),
    ]);
    return;
  }
  repaint(body, listed, () => (listed.length === 0 ? [noneRow()] : listed.map(rowOf)));

  function rowOf(one: SignedInBrowser): Child {
    const { browser, address, by, sinceMs, usedMs, isThis } = one;
    const parts = [
      isThis ? 'This browser' : usedMs !== undefined && `last seen ${when(usedMs, nowMs())}`,
      by !== '' && by,
    ];
    return h(
      'tr',
      { class: 'given' },
      h('td', { class: 'name' }, browser),
      h('td', { class: 'meaning' }, parts.filter((part) => part !== false).join(', ')),
      h('td', { class: 'meaning' }, sinceMs === undefined ? '' : `signed in ${when(sinceMs, nowMs())} from ${address}`),
      h(
        'td',
        { class: 'from' },
        button({ class: 'text-button', 'aria-label': `Sign out ${browser}` }, () => void end(one), 'Sign out'),
      ),
    );
  }

  async function end({ id, browser, isThis }: SignedInBrowser): Promise<void> {
    const why = await session.end(id);
    if (why !== '') notice(withPeriod(`Signing out ${browser}: ${why}`));
    if (isThis) location.reload();
    else await paintSessions(session, nowMs);
  }
}

/** With a token in the tab, nothing is remembered. */
function noneRow(): Child {
  return h('tr', {}, h('td', { class: 'meaning' }, 'None: this tab has a token, which it forgets when it is closed.'));
}
