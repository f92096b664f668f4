import { byId } from '../parts/node.ts';

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
