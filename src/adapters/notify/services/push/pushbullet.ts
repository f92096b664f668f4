import { text } from '../../url/parameters.ts';
import { jsonPost, orNone } from '../../wire/bodies.ts';
import { expectField } from '../../wire/check-answer.ts';
import { requiredMatch } from '../../service/address.ts';
import { defineService, type Part } from '../../service/service.ts';
import { titleOf } from '../../service/texts.ts';

/** https://docs.pushbullet.com/#create-push */
export const pushbullet = defineService({
  schemes: ['pushbullet'],
  title: 'Pushbullet',
  form: 'pushbullet://TOKEN[/DEVICE][/MAIL][/#CHANNEL]',
  about: 'Create the token under "Access Tokens" in the settings. Without a target, all devices get the message.',
  example: 'pushbullet://o.Xf3kQ9LmWzRtYbNcVhJgPdSaEuTi72Q1/#upkeep',
  parameters: { title: text('of the message', { fallback: 'Upkeep' }) },
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
