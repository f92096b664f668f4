import type { SendFailure } from '../../../domain/notification/message.ts';

/**
 * A message was not accepted. `failure` decides about a retry, the error's message is Upkeep's text, and `said` is the
 * text of the service.
 */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly failure: SendFailure;
  /** May contain secrets. */
  readonly said: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    failure: SendFailure,
    why: string,
    details: { readonly said?: string; readonly retryAfterMs?: number | undefined } = {},
  ) {
    super(why);
    this.failure = failure;
    this.said = details.said ?? '';
    this.retryAfterMs = details.retryAfterMs;
  }
}
