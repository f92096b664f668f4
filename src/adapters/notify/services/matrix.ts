import { createHash } from 'node:crypto';
import type { Message } from '../../../domain/notification/message.ts';
import { defaultTitle, flag, list } from '../service/parameters.ts';
import { jsonPost, messagePieces } from '../service/requests.ts';
import { Refused, type HttpAnswer } from '../service/exchange.ts';
import { expectAccepted, refusal, fieldOf, jsonOf } from '../service/answer.ts';
import { required, serverOf } from '../service/url.ts';
import { defineService } from '../service/service.ts';
import { titleOf } from '../service/markup.ts';

/** https://spec.matrix.org/latest/client-server-api/ */
export const matrix = defineService({
  schemes: ['matrix'],
  title: 'Matrix',
  form: 'matrix://[USER]:PASSWORD_OR_TOKEN@HOST[:PORT]/?rooms=ROOM[,ROOM…]',
  about:
    'Without a user, the password is an access token. A room is `!id:server` or an alias, `%23ops:server` or `ops:server`. Without `rooms`, every joined room gets the message.',
  example: 'matrix://upkeep:correct-horse-9@matrix.example.com/?rooms=!AbCdEf:example.com,ops:example.com',
  parameters: {
    rooms: list('ids or aliases', { aliases: ['room'] }),
    disabletls: flag('plain http', false),
    title: defaultTitle,
  },
  readAddress: (parts) => ({
    server: serverOf(parts),
    user: parts.user,
    password: required(parts.password, 'the password or token'),
  }),
  secrets: ({ address }) => [address.password],
  open({ address: { server, user, password }, values }) {
    const api = `${values.disabletls ? 'http' : 'https'}://${server}/_matrix/client/v3`;
    let token = user === '' ? password : undefined;
    return {
      async deliver(message, exchange, signal) {
        const ask: Ask = async (method, path, body) => {
          const isLogin = path === '/login';
          if (!isLogin) token ??= await logIn(ask);
          const headers = isLogin ? {} : { authorization: `Bearer ${token ?? ''}` };
          const request = { ...jsonPost(`${api}${path}`, body, headers), method };
          const answer = await exchange(method === 'GET' ? bare(request) : request, signal);
          // After an expired token, the next attempt logs in again.
          if (answer.status === 401 && user !== '') token = undefined;
          return withoutToken(answer, token);
        };
        await sendToRooms(message, ask);
        return 'accepted by every room';
      },
    };

    async function logIn(ask: Ask): Promise<string> {
      const identifier = { type: 'm.id.user', user };
      const device = createHash('sha256').update(`${user}\n${server}`).digest('hex').slice(0, 10).toUpperCase();
      const answer = await ask('POST', '/login', {
        type: 'm.login.password',
        identifier,
        password,
        device_id: `UPKEEP${device}`,
      });
      // On other requests M_FORBIDDEN means a room without access.
      if (answer.status === 403) throw refusal(answer, 'auth');
      return textField(answer, 'access_token');
    }

    async function sendToRooms(message: Message, ask: Ask): Promise<void> {
      const title = titleOf(message, values.title);
      const pieces = messagePieces(title === '' ? message.text : `${title}\n\n${message.text}`, textLimit);
      const mentions = message.isFromTemplate === true ? {} : nobody;
      const rooms = values.rooms.length > 0 ? values.rooms : await joinedRooms(ask);
      const refusals: Refused[] = [];
      for (const room of rooms) {
        try {
          const id = room.startsWith('!') ? room : await join(room, ask);
          for (const [index, body] of pieces.entries()) {
            // Each attempt has the same id, so the server recognises a repeat.
            const transaction = encodeURIComponent(`${message.id}-${index}`);
            const path = `/rooms/${encodeURIComponent(id)}/send/m.room.message/${transaction}`;
            expectAccepted(await ask('PUT', path, { msgtype: 'm.text', body, ...mentions }));
          }
        } catch (error) {
          if (!(error instanceof Refused)) throw error;
          refusals.push(error);
        }
      }
      const worst = refusals.find(({ failure }) => failure === 'rate' || failure === 'network') ?? refusals[0];
      if (worst !== undefined) throw worst;
    }
  },
});

/** Words in the text notify nobody: https://spec.matrix.org/latest/client-server-api/#user-and-room-mentions */
const nobody = { 'm.mentions': {} };

type Ask = (method: 'GET' | 'POST' | 'PUT', path: string, body: unknown) => Promise<HttpAnswer>;

/** An event has at most 65 kB including its frame: https://spec.matrix.org/latest/client-server-api/#size-limits */
const textLimit = { max: 30_000, unit: 'bytes' } as const;

async function joinedRooms(ask: Ask): Promise<readonly string[]> {
  const answer = await ask('GET', '/joined_rooms', undefined);
  expectAccepted(answer);
  const rooms = fieldOf(jsonOf(answer), 'joined_rooms');
  const ids = Array.isArray(rooms) ? rooms.filter((room): room is string => typeof room === 'string') : [];
  if (ids.length === 0) throw new Refused('gone', 'the user has joined no room');
  return ids;
}

async function join(alias: string, ask: Ask): Promise<string> {
  const name = alias.startsWith('#') ? alias : `#${alias}`;
  return textField(await ask('POST', `/join/${encodeURIComponent(name)}`, {}), 'room_id');
}

function textField(answer: HttpAnswer, name: string): string {
  expectAccepted(answer);
  const value = fieldOf(jsonOf(answer), name);
  if (typeof value === 'string') return value;
  throw new Refused('rejected', `its answer has no ${name}`);
}

function bare(request: ReturnType<typeof jsonPost>): ReturnType<typeof jsonPost> {
  const { body: _, ...rest } = request;
  return rest;
}

/** The token is not in the URL, so it is removed from answers here. */
function withoutToken(answer: HttpAnswer, token: string | undefined): HttpAnswer {
  return token === undefined || token === '' ? answer : { ...answer, body: answer.body.replaceAll(token, '***') };
}
