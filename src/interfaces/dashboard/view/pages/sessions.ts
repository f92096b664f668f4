import type { SignedInBrowser, Session } from '../../transport/session.ts';
import { when, withPeriod } from '../../state/words.ts';
import { notice, button, byId, h, repaint, type Child } from '../parts/node.ts';

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

/**
 * The sign-in form. It blocks the page until a token or the password is accepted. `signIn` resolves to the reason of a
 * refusal; empty if it was accepted.
 */
export function startSignIn(signIn: (secret: string, isKept: boolean) => Promise<string>): void {
  const form = byId('signin-form', HTMLFormElement);
  const secret = byId('token', HTMLInputElement);
  const keep = byId('keep', HTMLInputElement);
  const send = byId('signin-button', HTMLButtonElement);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit();
  });

  async function submit(): Promise<void> {
    send.disabled = true;
    const why = await signIn(secret.value.trim(), keep.checked);
    send.disabled = false;
    byId('signin-error').textContent = why;
    if (why === '') {
      secret.removeAttribute('aria-invalid');
      form.reset();
      return;
    }
    secret.setAttribute('aria-invalid', 'true');
    secret.select();
  }
}

/** Shows or hides the form, which blocks the page. */
export function showSignIn(isShown: boolean, { why = '', hasPassword = false } = {}): void {
  byId('signin').hidden = !isShown;
  for (const id of ['top', 'main', 'skip', 'drawer', 'bulk', 'notice']) byId(id).inert = isShown;
  byId('banner').hidden = true;
  if (!isShown) return;
  // An open dialog would cover the form.
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  document.title = 'Sign in · Upkeep';
  byId('signin-label').textContent = hasPassword ? 'Password or token' : 'Token';
  byId('signin-error').textContent = why;
  byId('token').focus();
}
