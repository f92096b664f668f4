import { byId } from '../parts/node.ts';

/**
 * The sign-in form. It blocks the page until a token is accepted. `signIn` resolves to the reason of a refusal; empty for
 * an accepted token.
 */
export function startSignIn(signIn: (api: string, events: string) => Promise<string>): void {
  const form = byId('signin-form', HTMLFormElement);
  const token = byId('token', HTMLInputElement);
  const events = byId('events-token', HTMLInputElement);
  const send = byId('signin-button', HTMLButtonElement);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void submit();
  });

  async function submit(): Promise<void> {
    send.disabled = true;
    const why = await signIn(token.value.trim(), events.value.trim());
    send.disabled = false;
    byId('signin-error').textContent = why;
    if (why === '') {
      token.removeAttribute('aria-invalid');
      form.reset();
      return;
    }
    token.setAttribute('aria-invalid', 'true');
    token.select();
  }
}

/** Shows or hides the form, which blocks the page. */
export function showSignIn(isShown: boolean, why = ''): void {
  byId('signin').hidden = !isShown;
  for (const id of ['top', 'main', 'skip', 'drawer', 'bulk', 'notice']) byId(id).inert = isShown;
  byId('banner').hidden = true;
  if (!isShown) return;
  // An open dialog would cover the form.
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
  document.title = 'Sign in · Upkeep';
  byId('signin-error').textContent = why;
  byId('token').focus();
}
