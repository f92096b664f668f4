import { InvalidUrlError } from '../../url/invalid-url-error.ts';
import type { HttpAnswer } from '../../wire/exchange.ts';
import { refusal, type AnswerCheck } from '../../wire/check-answer.ts';
import { cutText } from '../../wire/split.ts';
import { serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';

/** https://healthchecks.io/docs/http_api/ */
export const healthchecks = defineService({
  schemes: ['healthchecks'],
  variants: ['http', 'https'],
  title: 'healthchecks.io',
  form: 'healthchecks+https://hc-ping.com/UUID',
  about:
    'The address of a check with another scheme, also on your own server: `/UUID` or `/PING_KEY/SLUG`. A run sends a ping at its start, and one with the summary at its end. Other messages go to the log of the check.',
  example: 'healthchecks+https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278',
  parameters: {},
  wantsRunStart: true,
  readAddress(parts) {
    if (parts.segments.length === 0) throw new InvalidUrlError('the path', 'is missing');
    const scheme = parts.variant === 'http' ? 'http' : 'https';
    return { base: `${scheme}://${serverOf(parts)}${parts.path.replace(/\/+$/, '')}` };
  },
  secrets: ({ parts }) => parts.segments.filter((segment) => segment.length >= 8),
  hidden: ({ parts }) => parts.segments,
  open: ({ address: { base } }) => ({
    judge: saysOk,
    requests(message) {
      const { run } = message;
      const ending = run === undefined ? '/log' : endings[run.kind];
      const query = run === undefined ? '' : `?rid=${encodeURIComponent(run.id)}`;
      const url = new URL(`${base}${ending}${query}`);
      const body = run?.kind === 'start' ? '' : cutText(message.text, bodyLimit);
      return [{ method: 'POST', url, headers: { 'content-type': 'text/plain; charset=utf-8' }, body }];
    },
  }),
});

const endings = { start: '/start', success: '', failure: '/fail' } as const;

/** The service keeps the first 100 kB. */
const bodyLimit = { max: 100_000, unit: 'bytes' } as const;

/** An answer with 200 and a text other than `OK` is an error: https://healthchecks.io/docs/http_api/#success-uuid */
const saysOk: AnswerCheck = (answer: HttpAnswer) => {
  if (answer.status !== 200) return answer.status === 409 ? refusal(answer, 'rejected') : undefined;
  const words = answer.body.trim();
  if (/^ok$/i.test(words) || words === '') return 'accepted';
  return /not found/i.test(words)
    ? refusal(answer, 'gone')
    : refusal(answer, /rate/i.test(words) ? 'rate' : 'rejected');
};
