import { whyOf } from './error-body.ts';
import type { WireAnswer } from './exchange.ts';
import { RegistryFailure } from './failure.ts';

/** Throws for every status but 200; `missing` completes the message of a 404. */
export function requireFound(answer: WireAnswer, missing: string): void {
  const { status } = answer;
  if (status === 200) return;
  const said = whyOf(answer);
  const words = said === '' ? '' : ` (${said})`;
  if (status === 404) throw new RegistryFailure('registry-not-found', `${missing}${words}`);
  throw new RegistryFailure(
    status >= 500 ? 'registry-unreachable' : 'registry-invalid',
    `it answered with status ${status}${words}`,
  );
}
