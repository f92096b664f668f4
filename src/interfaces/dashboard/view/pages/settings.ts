import type { ShownOption } from '../../state/documents/status.ts';
import type { Gap } from '../../transport/reader.ts';
import { gapNodes, type PageContext } from '../context.ts';
import { byId, h, repaint, choiceButtons, notice, button, type Child } from '../parts/node.ts';
import type { ListedToken, SignedInBrowser, Session, SignInState, Who } from '../../transport/session.ts';
import { when, withPeriod } from '../../state/words.ts';
import { confirmRevoke } from '../dialogs.ts';

let kind: 'given' | 'all' = 'given';

/** Groups of the API, and the parts of the page that need them. */
const groups = [
  ['containers', 'The containers of this page'],
  ['metrics', 'Last and next run, and the run under way'],
  ['history', 'Past runs'],
  ['config', 'The options above'],
  ['events', 'Live updates; without it this page asks every 10s'],
  ['check', 'The button Check'],
  ['update', 'The buttons Update, Try again and Roll back'],
  ['decisions', 'The buttons Approve, Skip and Snooze'],
] as const;

/** The settings tab: effective values, their sources, and the groups available to this page. */
export function paintSettings(context: PageContext): void {
  const options = context.options();
  const chosen = options.filter(({ given }) => given);
  const choices = [
    ['given', `Set by you ${chosen.length}`],
    ['all', `All ${options.length}`],
  ] as const;
  const isOn = context.isOn('config');
  const gap = context.gapOf('options');
  byId('settings-filter').hidden = !isOn || gap !== undefined;
  choiceButtons(byId('settings-filter'), choices, kind, (picked) => {
    kind = picked;
    paintSettings(context);
  });
  const shown = kind === 'given' ? chosen : options;
  const table = byId('options', HTMLTableElement);
  table.hidden = !isOn || shown.length === 0;
  table.classList.toggle(
    'without-meaning',
    options.every(({ meaning }) => meaning === ''),
  );
  const [body] = table.tBodies;
  if (body !== undefined) repaint(body, shown, () => shown.map(optionRow));
  repaint(byId('settings-state'), [isOn, gap, shown.length], () => stateNodes(isOn, gap, shown.length));
  const served = groups.map(([name]) => context.isOn(name));
  repaint(byId('groups'), served, () => groups.map(([name, meaning]) => groupRow(name, meaning, context.isOn(name))));
}

function optionRow(option: ShownOption): HTMLElement {
  const { name, value, source, given, meaning } = option;
  return h(
    'tr',
    { class: given && 'given' },
    h('td', { class: 'name' }, name),
    h('td', { class: 'meaning' }, meaning),
    h('td', { class: 'value mono' }, value === '' ? '–' : value),
    h('td', { class: 'from' }, source === 'default' ? source : h('code', {}, source)),
  );
}

function stateNodes(isOn: boolean, gap: Gap | undefined, count: number): readonly Child[] {
  if (!isOn)
    return [
      h('h2', {}, 'The options are not shown'),
      h(
        'p',
        {},
        'The group config is not among the endpoints of this service. Add it to http-api-endpoints to see the options here.',
      ),
    ];
  if (gap !== undefined) return gapNodes('the options', gap);
  return count > 0
    ? []
    : [h('h2', {}, 'All options have their defaults'), h('p', {}, 'No option was given: all have their default.')];
}

function groupRow(name: string, meaning: string, isOn: boolean): Child {
  const state = isOn ? 'on' : 'off';
  const remedy = isOn ? '' : `Add ${name} to http-api-endpoints`;
  return h(
    'tr',
    { class: isOn && 'given' },
    h('td', { class: 'name' }, name),
    h('td', { class: 'meaning' }, meaning),
    h('td', { class: 'value' }, state),
    h('td', { class: 'from' }, remedy),
  );
}

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

/** The tokens, on the settings tab, without their values. */
export async function paintTokens(session: Session): Promise<void> {
  const listed = await session.tokens();
  const body = byId('tokens');
  const words = 'why' in listed ? withPeriod(`Cannot read the tokens: ${listed.why}`) : 'None.';
  repaint(body, listed, () =>
    'why' in listed || listed.length === 0
      ? [h('tr', {}, h('td', { class: 'meaning' }, words))]
      : listed.map((one) => tokenRow(one)),
  );

  function tokenRow({ name, kind, rights }: ListedToken): Child {
    const label = { class: 'text-button', 'aria-label': `Revoke the token of ${name}` };
    return h(
      'tr',
      { class: 'given' },
      h('td', { class: 'name' }, name === '' ? 'The token without a name' : name),
      h('td', { class: 'meaning' }, kind === 'events' ? 'For the events' : 'For the API'),
      h('td', { class: 'meaning' }, rights),
      h(
        'td',
        { class: 'from' },
        name !== '' && button(label, () => confirmRevoke(name, () => void revoke(name)), 'Revoke'),
      ),
    );
  }

  async function revoke(name: string): Promise<void> {
    const why = await session.revoke(name);
    notice(withPeriod(why === '' ? `The token of ${name} is revoked` : `Revoking the token of ${name}: ${why}`));
    await paintTokens(session);
  }
}

/** Hides what only others may see, and says who is signed in. */
export function paintWho({ name, role, isLimited, isByProxy }: Who): void {
  const isAdmin = role === 'admin' && !isLimited;
  byId('settings-all').hidden = !isAdmin;
  for (const id of ['leave-button', 'leave-button-2']) byId(id).hidden = isByProxy;
  const limits = isLimited ? ', limited to the containers that you see' : '';
  const how = isByProxy ? ' Your proxy has signed you in, and signs you out.' : '';
  const others = isAdmin ? '' : ' Settings are for admins.';
  byId('who').textContent = name === '' ? '' : `Signed in as ${name} (${role}${limits}).${others}${how}`;
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
  const link = byId('oidc-link', HTMLAnchorElement);
  // The issuer sends the browser back to this place.
  link.addEventListener('click', () => {
    link.href = `v1/oidc-sign-in?to=${encodeURIComponent(location.hash)}`;
  });
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

/** Shows or hides the form, which blocks the page. It offers what is configured. */
export function showSignIn(
  isShown: boolean,
  { why = '', hasPassword = false, issuer = '', failure = '' }: Partial<SignInState> & { readonly why?: string } = {},
): void {
  byId('signin').hidden = !isShown;
  for (const id of ['top', 'main', 'skip', 'drawer', 'bulk', 'notice']) byId(id).inert = isShown;
  byId('banner').hidden = true;
  if (!isShown) return;
  // An open dialog would cover the form.
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  document.title = 'Sign in · Upkeep';
  byId('signin-label').textContent = hasPassword ? 'Password or token' : 'Token';
  byId('signin-error').textContent = why;
  byId('oidc-error').textContent = failure === '' ? '' : withPeriod(`You are not signed in: ${failure}`);
  const link = byId('oidc-link', HTMLAnchorElement);
  link.textContent = `Sign in at ${issuer}`;
  for (const id of ['oidc-link', 'oidc-or']) byId(id).hidden = issuer === '';
  byId('signin-button').classList.toggle('primary', issuer === '');
  (issuer === '' ? byId('token') : link).focus();
}
