import type { Given } from '../given/given-options.ts';
import { refusedValue, type Fault } from '../declaration/fault.ts';

/** The running service. */
export type RemoteSettings = {
  /** `http://server:8080`, possibly with a path, without a trailing slash. Undefined: none is named. */
  readonly url: string | undefined;
  readonly token: string | undefined;
};

type Notes = { readonly faults: Fault[]; readonly warnings: string[] };

/** Without a service and its folder there are no history and no events, so these commands are refused. */
export function remoteSettings({ command, values, sourceOf }: Given, { faults, warnings }: Notes): RemoteSettings {
  const { remoteUrl: url, remoteToken: token } = values;
  const isAnywhere = url !== undefined || values.stateDir !== undefined;
  if (!isAnywhere && (command === 'history' || command === 'events')) faults.push(withoutService(command));
  else if (url === undefined && token !== undefined)
    warnings.push(`${sourceOf('remoteToken')} has no effect without --url`);
  for (const [source, value] of [
    [sourceOf('engineHost'), values.engineHost[0]],
    [sourceOf('stateDir'), values.stateDir],
  ] as const)
    if (url !== undefined && value !== undefined && source.startsWith('-'))
      warnings.push(`${source} has no effect with --url`);
  if (url !== undefined && token !== undefined && isPlainRemote(url))
    warnings.push(
      `${sourceOf('remoteToken')} is sent to ${sourceOf('remoteUrl')} over plain HTTP, where the network can read it; serve the API over https (--http-api-tls-cert), or reach it through a tunnel`,
    );
  if (url?.includes('@') === true) faults.push(refusedValue(sourceOf('remoteUrl'), url, plainAddress, true));
  // https://www.rfc-editor.org/rfc/rfc6750#section-2.1 and other characters that a header can contain.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    faults.push(refusedValue(sourceOf('remoteToken'), token, 'one word of ASCII characters', true));
  return { url: url?.replace(/\/+$/, ''), token };
}

/** Not over TLS, and not on this machine. */
function isPlainRemote(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** A password in an address is not part of the message. */
const plainAddress = 'an address such as http://server:8080 without a user; --token is for secrets';

function withoutService(command: 'history' | 'events'): Fault {
  const token = command === 'events' ? 'EVENTS-TOKEN' : 'TOKEN';
  const message = [
    `Cannot show ${command} without a running service: name it with --url or UPKEEP_URL,`,
    `as in "upkeep ${command} --url http://127.0.0.1:8080 --token ${token}"`,
    `(the service serves them with --http-api-endpoints ${command});`,
    `on its machine or in its container, --state-dir with its folder is enough`,
  ].join(' ');
  return { kind: 'usage', message };
}
