import { decisionCommands } from '../declaration/commands.ts';
import { optionTable } from '../../domain/settings/table/option.ts';
import type { OptionParts } from '../declaration/option.ts';

const commands = ['containers', 'history', 'events', 'config', ...decisionCommands] as const;

/** Options of the connection to the HTTP API of a running service. */
export const remoteOptions = optionTable({ group: 'remote', commands }, {
  remoteUrl: {
    kind: 'text',
    flag: 'url',
    placeholder: 'URL',
    accepts: { test: isBaseUrl, expected: 'an address such as http://server:8080, without query and fragment' },
    meaning:
      'URL of the HTTP API of a running service. The flags --host and --state-dir override the variable. For your own certificate authority, set NODE_EXTRA_CA_CERTS to its file',
    example: 'http://server:8080',
    isCommon: true,
  },
  remoteToken: {
    kind: 'text',
    flag: 'token',
    placeholder: 'TOKEN',
    mayNameFile: true,
    secret: true,
    meaning: 'Token of that service (for events, the events token), or a file with it',
    example: '/run/secrets/upkeep-token',
    isCommon: true,
  },
} as const satisfies OptionParts);

function isBaseUrl(text: string): boolean {
  if (!/^https?:\/\/[^/?#]+(?:\/[^?#]*)?$/i.test(text)) return false;
  return URL.canParse(text);
}
