import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventsToken } from './http-scene.ts';

/** A client of the stream of events. */
export type EventReader = {
  readonly response: IncomingMessage;
  readonly text: () => string;
  readonly isOpen: () => boolean;
  readonly until: (isEnough: (text: string) => boolean) => Promise<void>;
  /** This number of events, without other frames. */
  readonly frames: (count: number) => Promise<string[]>;
  readonly end: () => void;
  readonly ended: Promise<void>;
};

export type FollowOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly paused?: boolean;
  /** Asks for the steps of runs too. */
  readonly extra?: boolean;
};

export function followEvents(
  url: string,
  { headers = {}, paused = false, extra = false }: FollowOptions = {},
): Promise<EventReader> {
  return new Promise((resolve, reject) => {
    const request = get(
      `${url}/v1/events${extra ? '?extra=true' : ''}`,
      { agent: false, headers: { authorization: `Bearer ${eventsToken}`, ...headers } },
      (response) => {
        let text = '';
        let isOpen = true;
        const ended = new Promise<void>((resolveEnd) =>
          response.on('close', () => {
            isOpen = false;
            resolveEnd();
          }),
        );
        response.on('error', () => undefined);
        if (!paused) response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        const until = async (isEnough: (text: string) => boolean): Promise<void> => {
          const deadlineMs = performance.now() + 30_000;
          while (!isEnough(text)) {
            if (performance.now() > deadlineMs) throw new Error(`never came: ${text.slice(-500)}`);
            await sleep(2);
          }
        };
        const framesOf = () => text.split('\n\n').filter((frame) => /^(?:id|event): /.test(frame));
        const reader: EventReader = {
          response,
          text: () => text,
          isOpen: () => isOpen,
          until,
          frames: async (count) => {
            await until(() => framesOf().length >= count);
            return framesOf().slice(0, count);
          },
          end: () => request.destroy(),
          ended,
        };
        resolve(reader);
      },
    );
    request.on('error', reject);
  });
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests read any field
export function dataOf(frame = ''): any {
  return JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? 'null');
}

export function idOf(frame = ''): string {
  return /^id: (.*)$/m.exec(frame)?.[1] ?? '';
}
