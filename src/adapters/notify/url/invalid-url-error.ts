/**
 * Why a URL cannot be used: the wrong part, and the reason. It contains no value of the URL, because any may be a
 * secret.
 */
export class InvalidUrlError extends Error {
  override readonly name = 'InvalidUrlError';

  constructor(part: string, why: string) {
    super(`${part} ${why}`);
  }
}
