import type { SendFailure } from '../../../domain/notification/message.ts';

/** Why a message was not taken: the class, which decides about another try, and words for people, which may still hold secrets. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly failure: SendFailure;
  readonly retryAfterMs: number | undefined;

  constructor(failure: SendFailure, words: string, retryAfterMs?: number) {
    super(words);
    this.failure = failure;
    this.retryAfterMs = retryAfterMs;
  }
}
