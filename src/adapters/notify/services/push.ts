import { choice, defaultTitle, integer, list, text } from '../service/parameters.ts';
import { jsonPost, orNone, cutText, formOf, formPost, basicLogin, messagePieces } from '../service/requests.ts';
import { expectField, refusalByWords, fieldOf, jsonOf, answerText } from '../service/answer.ts';
import { required, pathOf, serverOf, requiredMatch, InvalidUrlError } from '../service/url.ts';
import { defineService, type Part } from '../service/service.ts';
import { titleOf, writtenFor, titledText } from '../service/markup.ts';

/** https://github.com/Finb/bark-server/blob/master/docs/API_V2.md */
export const bark = defineService({
  schemes: ['bark'],
  title: 'Bark',
  form: 'bark://:DEVICE_KEY@HOST[:PORT][/PATH]',
  about: 'The app shows the key after the address of its server.',
  example: 'bark://:dK7fQmPzXw3rT9aYbNcVeH@bark.example.com?sound=bell&group=upkeep',
  parameters: {
    title: defaultTitle,
    scheme: choice('http or https', ['https', 'http'], 'https'),
    sound: text('name of a sound'),
    badge: integer('number on the icon of the app', { fallback: 0, min: 0, max: 999_999 }),
    icon: text('address of a picture'),
    group: text('of the messages'),
    url: text('address that a tap opens'),
    category: text('reserved by the app'),
    copy: text('text to copy'),
    level: choice(
      'by default timeSensitive for a failure, passive if nothing has changed',
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
        body: cutText(message.text, barkTextLimit),
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
const barkTextLimit = { max: 2500, unit: 'bytes' } as const;

/** https://ifttt.com/maker_webhooks */
export const ifttt = defineService({
  schemes: ['ifttt'],
  title: 'IFTTT',
  form: 'ifttt://KEY/?events=EVENT[,EVENT…]',
  about: 'The key is the end of the address under "Documentation" of the Webhooks service.',
  example: 'ifttt://bX3kLm9QwErTyUiOp2AsDf/?events=upkeep_message&value1=docker',
  parameters: {
    events: list('names of the events', { isRequired: true }),
    value1: text('first ingredient'),
    value2: text('second ingredient'),
    value3: text('third ingredient'),
    messagevalue: integer('ingredient that is the text', { fallback: 2, min: 1, max: 3 }),
    titlevalue: integer('ingredient that is the title, 0 for none', { fallback: 0, min: 0, max: 3 }),
    title: defaultTitle,
  },
  readAddress: ({ host }) => ({ key: required(host, 'the key') }),
  secrets: ({ address }) => [address.key],
  open: ({ address: { key }, values }) => ({
    requests(message) {
      const { title, text: words } = writtenFor('ifttt', message, values.title);
      const given = {
        value1: values.value1,
        value2: values.value2,
        value3: values.value3,
        ...(values.titlevalue === 0 ? {} : { [`value${values.titlevalue}`]: title }),
        [`value${values.messagevalue}`]: words,
      };
      const body = { value1: orNone(given.value1), value2: orNone(given.value2), value3: orNone(given.value3) };
      return values.events.map((event): Part => {
        const path = `${encodeURIComponent(event)}/with/key/${encodeURIComponent(key)}`;
        return { ...jsonPost(`https://maker.ifttt.com/trigger/${path}`, body), to: event };
      });
    },
  }),
});

/** https://joaoapps.com/join/api/ */
export const join = defineService({
  schemes: ['join'],
  title: 'Join',
  form: 'join://shoutrrr:API_KEY@join/?devices=ID[,ID…]',
  about: 'Key and device ids are on https://joinjoaomgcd.appspot.com.',
  example: 'join://shoutrrr:0f1e2d3c4b5a69788796a5b4c3d2e1f0@join/?devices=group.phone',
  parameters: {
    devices: list('ids or groups', { isRequired: true }),
    title: defaultTitle,
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
        text: cutText(message.text, joinTextLimit),
        title: orNone(titleOf(message, values.title)),
        icon: orNone(values.icon),
      });
      const url = new URL(`https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?${String(query)}`);
      return [{ method: 'POST', url, headers: {} }];
    },
  }),
});

/** The text is part of the address. Percent-encoding may triple it, and servers accept 8 kB. */
const joinTextLimit = { max: 2000, unit: 'bytes' } as const;

/** https://docs.pushbullet.com/#create-push */
export const pushbullet = defineService({
  schemes: ['pushbullet'],
  title: 'Pushbullet',
  form: 'pushbullet://TOKEN[/DEVICE][/MAIL][/#CHANNEL]',
  about: 'Create the token under "Access Tokens" in the settings. Without a target, all devices get the message.',
  example: 'pushbullet://o.Xf3kQ9LmWzRtYbNcVhJgPdSaEuTi72Q1/#upkeep',
  parameters: { title: text('for messages without a title', { fallback: 'Upkeep' }) },
  readAddress: ({ host, segments, fragment }) => ({
    token: requiredMatch(host, /^[\w.]{34}$/, 'the token, which has 34 characters,'),
    targets: [...segments, ...(fragment === '' ? [] : [`#${fragment}`])],
  }),
  secrets: ({ address }) => [address.token],
  open: ({ address: { token, targets }, values }) => ({
    judge: expectField('active', true),
    requests(message) {
      const note = { type: 'note', title: orNone(titleOf(message, values.title)), body: message.text };
      return (targets.length === 0 ? [''] : targets).map((to): Part => {
        const body = { ...note, ...receiver(to) };
        return { ...jsonPost('https://api.pushbullet.com/v2/pushes', body, { 'access-token': token }), to };
      });
    },
  }),
});

function receiver(target: string): object {
  if (target === '') return {};
  if (target.startsWith('#')) return { channel_tag: target.slice(1) };
  return target.includes('@') ? { email: target } : { device_iden: target };
}

/** https://www.twilio.com/docs/messaging/api/message-resource */
export const twilio = defineService({
  schemes: ['twilio'],
  title: 'Twilio',
  form: 'twilio://ACCOUNT_SID:AUTH_TOKEN@FROM/TO[/TO…]',
  about: 'A number has the form `+15551234567`. FROM may be a messaging service, `MG…`.',
  example: 'twilio://AC0123456789abcdef0123456789abcdef:9f8e7d6c5b4a39281706f5e4d3c2b1a0@+15551234567/+15557654321',
  parameters: { title: defaultTitle },
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
          messagePieces(titledText({ ...message, title: titleOf(message, values.title) }), twilioTextLimit).map(
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
const twilioTextLimit = { max: 1600, unit: 'units', maxPieces: 3 } as const;

/** A number with spaces and punctuation: `+1 (555) 123-4567`. */
function plainNumber(written: string): string {
  return written.replaceAll(/[\s().-]/g, '');
}
