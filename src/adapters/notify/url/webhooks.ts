/**
 * Turns a plain web address into the URL of its service. Webhooks of Discord, Slack, Teams and Google Chat are
 * recognised by their hosts; other addresses get the plain message. Other URLs stay as they are.
 */
export function toServiceUrl(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return text;
  const url = new URL(text);
  for (const read of url.protocol === 'https:' ? known : []) {
    const found = read(url);
    if (found !== undefined) return found;
  }
  return `generic+${text}`;
}

type Recognition = (url: URL) => string | undefined;

const known: readonly Recognition[] = [discord, slack, teams, googleChat];

/** https://discord.com/developers/docs/resources/webhook#execute-webhook */
function discord({ hostname, pathname, search }: URL): string | undefined {
  if (!/^(?:(?:ptb|canary)\.)?discord(?:app)?\.com$/.test(hostname)) return undefined;
  const [, id, token] = /^\/api(?:\/v\d+)?\/webhooks\/(\d+)\/([\w-]+)\/?$/.exec(pathname) ?? [];
  return id === undefined ? undefined : `discord://${token}@${id}${search}`;
}

/** https://api.slack.com/messaging/webhooks */
function slack({ hostname, pathname }: URL): string | undefined {
  const [, a, b, c] = /^\/services\/(\w+)\/(\w+)\/(\w+)\/?$/.exec(pathname) ?? [];
  return hostname !== 'hooks.slack.com' || a === undefined ? undefined : `slack://hook:${a}-${b}-${c}@webhook`;
}

function teams(url: URL): string | undefined {
  return isWorkflow(url) ? `teams://?host=${encodeURIComponent(url.href)}` : undefined;
}

/**
 * Whether the address belongs to a Power Automate workflow:
 * https://learn.microsoft.com/power-automate/triggers-introduction
 */
export function isWorkflow({ protocol, hostname, pathname }: URL): boolean {
  if (protocol !== 'https:') return false;
  if (/\.logic\.azure\.[a-z]+$/.test(hostname)) return pathname.includes('/workflows/');
  const isPlatform = hostname.endsWith('.environment.api.powerplatform.com');
  return isPlatform && /\/powerautomate\/automations\/direct\/.*workflows\//.test(pathname);
}

/** https://developers.google.com/workspace/chat/quickstart/webhooks */
function googleChat({ hostname, host, pathname, search }: URL): string | undefined {
  const isChat = hostname === 'chat.googleapis.com' && pathname.startsWith('/v1/spaces/');
  return isChat ? `googlechat://${host}${pathname}${search}` : undefined;
}
