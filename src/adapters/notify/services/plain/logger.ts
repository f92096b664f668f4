import { defineService } from '../../service/service.ts';
import { titledText } from '../../service/texts.ts';

export const logger = defineService({
  schemes: ['logger'],
  title: 'The log',
  form: 'logger://',
  about: 'Writes each message to the log of Upkeep.',
  example: 'logger://',
  parameters: {},
  otherKeys: 'ignored',
  readAddress: () => undefined,
  secrets: () => [],
  open: (_, { writeLog }) => ({
    deliver(message) {
      writeLog(titledText(message, ''), message.level);
      return Promise.resolve('written');
    },
  }),
});
