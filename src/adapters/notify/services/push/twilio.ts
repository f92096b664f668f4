import { text } from '../../url/parameters.ts';
import { InvalidUrlError } from '../../url/invalid-url-error.ts';
import { formPost } from '../../wire/bodies.ts';
import { basicLogin } from '../../wire/headers.ts';
import { messagePieces } from '../../wire/split.ts';
import { requiredMatch, required } from '../../service/address.ts';
import { defineService, type Part } from '../../service/service.ts';
import { titledText, titleOf } from '../../service/texts.ts';

/** https://www.twilio.com/docs/messaging/api/message-resource */
export const twilio = defineService({
  schemes: ['twilio'],
  title: 'Twilio',
  form: 'twilio://ACCOUNT_SID:AUTH_TOKEN@FROM/TO[/TO…]',
  about: 'A number has the form `+15551234567`. FROM may be a messaging service, `MG…`.',
  example: 'twilio://AC0123456789abcdef0123456789abcdef:9f8e7d6c5b4a39281706f5e4d3c2b1a0@+15551234567/+15557654321',
  parameters: { title: text('the first line') },
  readAddress({ user, password, host, segments }) {
    const to = segments.map(plainNumber);
    if (to.length === 0) throw new InvalidUrlError('the number that gets the message', 'is missing');
    for (const number of to) requiredMatch(number, /^\+?\d{3,20}$/, 'a number that gets the message');
    return {
      account: requiredMatch(user, /^\w{1,64}$/, 'the account SID'),
      token: required(password, 'the auth token'),
      from: requiredMatch(plainNumber(host), /^(?:\+?\d{3,20}|MG\w+)$/, 'the number that sends'),
      to,
    };
  },
  secrets: ({ address }) => [address.token, address.account],
  open({ address: { account, token, from, to }, values }) {
    const url = `https://api.twilio.com/2010-04-01/Accounts/${account}/Messages.json`;
    const sender = from.startsWith('MG') ? { MessagingServiceSid: from } : { From: from };
    return {
      requests: (message) =>
        to.flatMap((number) =>
          messagePieces(titledText({ ...message, title: titleOf(message, values.title) }), textLimit).map(
            (piece): Part => {
              const form = { To: number, Body: piece, ...sender };
              return { ...formPost(url, form, { authorization: basicLogin(account, token) }), to: number };
            },
          ),
        ),
    };
  },
});

/** https://www.twilio.com/docs/errors/21617; each piece costs money, so their number is small. */
const textLimit = { max: 1600, unit: 'units', mostPieces: 3 } as const;

/** A number with spaces and punctuation: `+1 (555) 123-4567`. */
function plainNumber(written: string): string {
  return written.replaceAll(/[\s().-]/g, '');
}
