/** Why a URL cannot be used: the part of it that is wrong, and why. Holds no value of the URL, because any may be a secret. */
export class UrlProblem extends Error {
  override readonly name = 'UrlProblem';

  constructor(part: string, why: string) {
    super(`${part} ${why}`);
  }
}
