import { list } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { expectField } from '../../wire/check-answer.ts';
import { messagePieces } from '../../wire/split.ts';
import { requiredMatch } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';
import { writtenFor } from '../../service/markup.ts';
import { titledText } from '../../service/texts.ts';

/** https://developer.work.weixin.qq.com/document/path/91770 */
export const wecom = defineService({
  schemes: ['wecom'],
  title: 'WeCom',
  form: 'wecom://KEY',
  about: 'The key is the `key=` in the address of a group robot.',
  example: 'wecom://693a91f6-7xxx-4bc4-97a0-0ec2sifa5aaa?mentioned_list=jo,@all',
  parameters: { mentioned_list: list('names of users'), mentioned_mobile_list: list('numbers of users') },
  readAddress: ({ host }) => ({ key: requiredMatch(host, /^[\w-]+$/, 'the key') }),
  secrets: ({ address }) => [address.key],
  open: ({ address: { key }, values }) => ({
    judge: expectField('errcode', 0),
    requests: (message) =>
      messagePieces(titledText(writtenFor('wecom', message)), textLimit).map((content) =>
        jsonPost(`https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=${encodeURIComponent(key)}`, {
          msgtype: 'text',
          text: {
            content,
            mentioned_list: orNone(values.mentioned_list),
            mentioned_mobile_list: orNone(values.mentioned_mobile_list),
          },
        }),
      ),
  }),
});

const textLimit = { max: 2048, unit: 'bytes' } as const;
