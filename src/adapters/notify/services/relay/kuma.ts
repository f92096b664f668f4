import { expectField } from '../../wire/check-answer.ts';
import { cutLine } from '../../wire/split.ts';
import { formOf } from '../../wire/bodies.ts';
import { required, pathOf, serverOf } from '../../service/address.ts';
import { defineService } from '../../service/service.ts';

/** https://github.com/louislam/uptime-kuma/wiki/API-Documentation#push-endpoint */
export const kuma = defineService({
  schemes: ['kuma'],
  variants: ['http', 'https'],
  title: 'Uptime Kuma',
  form: 'kuma+https://HOST[:PORT][/PATH]/api/push/TOKEN',
  about:
    'The push address of a monitor with another scheme. Its query is ignored. A successful run is `up`, a failed run `down`. Another message is `down` if it is an error, else `up`.',
  example: 'kuma+https://kuma.example.com/api/push/Gx7QkWm2Rt?status=up&msg=OK&ping=',
  parameters: {},
  otherKeys: 'ignored',
  readAddress(parts) {
    const path = [...parts.segments];
    const token = required(path.pop(), 'the push token');
    const scheme = parts.variant === 'http' ? 'http' : 'https';
    return { base: `${scheme}://${serverOf(parts)}${pathOf(path)}`, token };
  },
  secrets: ({ address }) => [address.token],
  open: ({ address: { base, token } }) => ({
    judge: expectField('ok', true),
    requests(message) {
      const isDown = message.run === undefined ? message.level === 'error' : message.run.kind === 'failure';
      const query = formOf({
        status: isDown ? 'down' : 'up',
        msg: cutLine(message.text, textLimit),
        ping: message.run?.durationMs === undefined ? undefined : String(Math.round(message.run.durationMs)),
      });
      return [{ method: 'GET', url: new URL(`${base}/${encodeURIComponent(token)}?${String(query)}`), headers: {} }];
    },
  }),
});

/** Its column holds more, but the address must stay short. */
const textLimit = { max: 250, unit: 'characters' } as const;
