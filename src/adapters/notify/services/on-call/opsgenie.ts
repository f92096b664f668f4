import { choice, list, text } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { cutLine, cutText } from '../../wire/split.ts';
import { required, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';

const parameters = {
  alias: text('alerts with the same alias are one; by default each message is an alert'),
  description: text('replaces the text'),
  responders: list('`team:name`, `user:mail`, or with an id'),
  visibleto: list('teams and users that see the alert, in the form of `responders`'),
  actions: list('names of actions'),
  tags: list('tags'),
  details: list('`key:value` pairs'),
  entity: text('the subject of the alert'),
  source: text('origin of the alert'),
  priority: choice(
    'by default P2 for a failure, P5 if nothing has changed, else that of the team',
    ['P1', 'P2', 'P3', 'P4', 'P5'],
    undefined,
  ),
  note: text('added to the alert'),
  user: text('user that creates the alert'),
  title: text('the first line'),
};

/** https://docs.opsgenie.com/docs/alert-api#create-alert */
export const opsgenie = defineService({
  schemes: ['opsgenie'],
  title: 'Opsgenie',
  form: 'opsgenie://api.opsgenie.com/API_KEY',
  about: 'In Europe the host is `api.eu.opsgenie.com`.',
  example: 'opsgenie://api.opsgenie.com/eb243592-faa2-4ba2-a551q-1afdf565c889?priority=P3&tags=docker,upkeep',
  parameters,
  readAddress: (parts) => ({ server: serverOf(parts, '443'), key: required(parts.segments[0], 'the API key') }),
  secrets: ({ address }) => [address.key],
  open({ address: { server, key }, values }) {
    return {
      requests(message) {
        const { title, text: words } = writtenFor('opsgenie', message, values.title);
        const body = {
          message: cutLine(title === '' ? words : title, titleLimit),
          // The description of the URL stands beside the text, which is the news.
          description: cutText([words, values.description].filter((part) => part !== '').join('\n\n'), textLimit),
          // The service takes an alert that is sent again for the same one.
          alias: values.alias === '' ? message.id : values.alias,
          responders: orNone(values.responders.map(responder)),
          visibleTo: orNone(values.visibleto.map(responder)),
          actions: orNone(values.actions),
          tags: orNone(values.tags),
          details: values.details.length === 0 ? undefined : Object.fromEntries(values.details.map(pair)),
          entity: orNone(values.entity),
          source: orNone(values.source),
          priority: values.priority ?? { high: 'P2', low: 'P5', usual: undefined }[message.urgency ?? 'usual'],
          note: orNone(values.note),
          user: orNone(values.user),
        };
        return [jsonPost(`https://${server}/v2/alerts`, body, { authorization: `GenieKey ${key}` })];
      },
    };
  },
});

/** https://docs.opsgenie.com/docs/alert-api#create-alert */
const titleLimit = { max: 130, unit: 'characters' } as const;
const textLimit = { max: 15_000, unit: 'characters' } as const;

function responder(written: string): object {
  const [type, value] = pair(written);
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(value)) return { type, id: value };
  return type === 'user' ? { type, username: value } : { type, name: value };
}

function pair(written: string): readonly [key: string, value: string] {
  const at = written.indexOf(':');
  return at < 0 ? [written, ''] : [written.slice(0, at), written.slice(at + 1)];
}
