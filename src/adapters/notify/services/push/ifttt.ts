import { integer, list, text } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { required } from '../../service/address.ts';
import { defineService, type Part } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';

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
    messagevalue: integer('number of the ingredient that is the text', { fallback: 2, min: 1, max: 3 }),
    titlevalue: integer('number of the ingredient that is the title, 0 for none', { fallback: 0, min: 0, max: 3 }),
    title: text('for messages without a title'),
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
