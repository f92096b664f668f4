import { choice, integer, text } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { expectField } from '../../wire/check-answer.ts';
import { cutText } from '../../wire/split.ts';
import { required, pathOf, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { titleOf } from '../../service/texts.ts';

/** https://github.com/Finb/bark-server/blob/master/docs/API_V2.md */
export const bark = defineService({
  schemes: ['bark'],
  title: 'Bark',
  form: 'bark://:DEVICE_KEY@HOST[:PORT][/PATH]',
  about: 'The app shows the key after the address of its server.',
  example: 'bark://:dK7fQmPzXw3rT9aYbNcVeH@bark.example.com?sound=bell&group=upkeep',
  parameters: {
    title: text('of the message'),
    scheme: choice('http or https', ['https', 'http'], 'https'),
    sound: text('name of a sound'),
    badge: integer('number on the icon of the app', { fallback: 0, min: 0, max: 999_999 }),
    icon: text('address of a picture'),
    group: text('of the messages'),
    url: text('address that a tap opens'),
    category: text('reserved by the app'),
    copy: text('text to copy'),
    level: choice(
      'by default timeSensitive for a failure, passive if nothing has changed, else active',
      ['active', 'timeSensitive', 'passive', 'critical'],
      undefined,
    ),
  },
  readAddress: (parts) => ({
    server: serverOf(parts),
    path: pathOf(parts.segments),
    key: required(parts.password === '' ? parts.user : parts.password, 'the device key (before the @)'),
  }),
  secrets: ({ address }) => [address.key],
  open: ({ address: { server, path, key }, values }) => ({
    judge: expectField('code', 200),
    requests: (message) => [
      jsonPost(`${values.scheme}://${server}${path}/push`, {
        body: cutText(message.text, textLimit),
        device_key: key,
        title: titleOf(message, values.title),
        sound: orNone(values.sound),
        badge: values.badge,
        icon: orNone(values.icon),
        group: orNone(values.group),
        url: orNone(values.url),
        category: orNone(values.category),
        copy: orNone(values.copy),
        level: values.level ?? { high: 'timeSensitive', low: 'passive', usual: undefined }[message.urgency ?? 'usual'],
      }),
    ],
  }),
});

/**
 * Apple accepts 4096 bytes including the frame:
 * https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification
 */
const textLimit = { max: 2500, unit: 'bytes' } as const;
