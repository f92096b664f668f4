import type { Container } from '../../container.ts';
import { ServiceError } from '../../../errors.ts';
import { quoted } from '../../../text/printable.ts';

/** The error for a container that cannot be reproduced. */
export function refusal({ name }: Container, why: string, remedy?: string): ServiceError {
  return new ServiceError(
    'invalid-input',
    `Cannot update ${quoted(name)}: ${why}`,
    remedy === undefined ? {} : { remedy },
  );
}
