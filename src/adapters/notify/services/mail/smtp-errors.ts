import { printable } from '../../../../domain/text/printable.ts';
import { readNetworkError } from '../../../http/failure.ts';
import { Refused } from '../../wire/refused.ts';

/**
 * The failure that a reply of a mail server or a connection error means:
 * https://www.rfc-editor.org/rfc/rfc5321.html#section-4.2
 */
export function readSmtpError(error: unknown): Refused {
  if (error instanceof Refused) return error;
  const { code = '', originalCode = code, response = '', responseCode = 0, message = '' } = error as SmtpError;
  if (response !== '')
    return new Refused(classOf(code, responseCode), `status ${responseCode}`, { said: headerLine(response) });
  if (code === 'ETIMEDOUT') return new Refused('network', 'it did not answer in time');
  if (code === 'ETLS' || /STARTTLS/.test(message))
    return new Refused('rejected', 'TLS failed', { said: headerLine(message) });
  if (code === 'EAUTH') return new Refused('auth', 'the login failed', { said: headerLine(message) });
  const cause = Object.assign(new Error(message), { code: originalCode });
  return new Refused('network', readNetworkError(cause, '').message);
}

type SmtpError = {
  readonly code?: string;
  /** Node's code; the other one is the library's. */
  readonly originalCode?: string;
  readonly response?: string;
  readonly responseCode?: number;
  readonly message?: string;
};

/** 4yz is temporary, 5yz is permanent. Greylisting is a 4yz. */
function classOf(code: string, responseCode: number): Refused['failure'] {
  if (responseCode >= 400 && responseCode < 500) return 'network';
  return code === 'EAUTH' || [530, 534, 535].includes(responseCode) ? 'auth' : 'rejected';
}

/** The text on one line. */
export function headerLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim(), 500);
}
