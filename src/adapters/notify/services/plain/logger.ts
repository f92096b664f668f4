import { defineService } from '../../service/service.ts';

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
      writeLog(message.text, message.level);
      return Promise.resolve('written');
    },
  }),
});
