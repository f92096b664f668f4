import { existsSync } from 'node:fs';
import { describe } from 'vitest';

/** Of Debian's packages mosquitto, mosquitto-clients, python3-aiosmtpd and dovecot-submissiond: test/lab/install.mjs. */
const needs = [
  '/usr/sbin/mosquitto',
  '/usr/bin/mosquitto_sub',
  '/usr/bin/python3',
  '/usr/lib/python3/dist-packages/aiosmtpd/smtp.py',
  '/usr/lib/dovecot/submission-login',
];

/** Without a mail server or broker, fails in CI and is skipped elsewhere with a notice. */
export const describeWithReceivers = needs.every((path) => existsSync(path)) ? describe : describeWithout();

function describeWithout() {
  const missing = needs.filter((path) => !existsSync(path)).join(', ');
  if (process.env['CI'] === 'true') throw new Error(`there is no mail server or no broker: ${missing}`);
  console.log(`NOTICE: tests with a mail server and a broker are skipped: missing ${missing}`);
  return describe.skip;
}
