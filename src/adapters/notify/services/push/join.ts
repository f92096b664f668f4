import { list, text } from '../../url/parameters.ts';
import { formOf, orNone } from '../../wire/bodies.ts';
import { refusalByWords } from '../../wire/check-answer.ts';
import { cutText } from '../../wire/split.ts';
import { fieldOf, jsonOf, answerText } from '../../wire/answer-text.ts';
import { required } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { titleOf } from '../../service/texts.ts';

/** https://joaoapps.com/join/api/ */
export const join = defineService({
  schemes: ['join'],
  title: 'Join',
  form: 'join://shoutrrr:API_KEY@join/?devices=ID[,ID…]',
  about: 'Key and device ids are on https://joinjoaomgcd.appspot.com.',
  example: 'join://shoutrrr:0f1e2d3c4b5a69788796a5b4c3d2e1f0@join/?devices=group.phone',
  parameters: {
    devices: list('ids or groups', { isRequired: true }),
    title: text('of the message'),
    icon: text('address of a picture'),
  },
  readAddress: ({ password }) => ({ key: required(password, 'the API key (before the @, after a colon)') }),
  secrets: ({ address }) => [address.key],
  open: ({ address: { key }, values }) => ({
    judge: (answer) =>
      fieldOf(jsonOf(answer), 'success') === false ? refusalByWords(answer, answerText(answer)) : undefined,
    requests(message) {
      const query = formOf({
        deviceIds: values.devices.join(','),
        apikey: key,
        text: cutText(message.text, textLimit),
        title: orNone(titleOf(message, values.title)),
        icon: orNone(values.icon),
      });
      const url = new URL(`https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?${String(query)}`);
      return [{ method: 'POST', url, headers: {} }];
    },
  }),
});

/** The text is part of the address. Percent-encoding may triple it, and servers accept 8 kB. */
const textLimit = { max: 2000, unit: 'bytes' } as const;
